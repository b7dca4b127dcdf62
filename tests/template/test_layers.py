"""The layers: what goes in is pinned, the same as on the laptop, and fits Lambda's machine."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version

import pytest

from tests.template.stack import ROOT, TEMPLATE

LAYER = ROOT / "layers" / "dependencies"
REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)(\[[a-z,]+\])?==([^\s\\]+)")
LAMBDA_GLIBC = (2, 34)  # Amazon Linux 2023


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file: str) -> dict[str, str]:
    lines = (LAYER / file).read_text(encoding="utf-8").splitlines()
    return {normal(found[1]): found[3] for line in lines if (found := REQUIREMENT.match(line))}


LOCKS = {"requirements.in": "requirements.txt", "local-model.in": "local-model.txt"}


@pytest.mark.parametrize(("wanted", "lock"), LOCKS.items())
def test_every_package_is_pinned_with_hashes(wanted: str, lock: str) -> None:
    text = (LAYER / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    entries = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert len(entries) >= len(pins(wanted)) > 0
    for entry in entries:
        assert REQUIREMENT.match(entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry
    assert not re.search(r"https?://|--(extra-)?index|--find-links", text)


@pytest.mark.parametrize(("wanted", "lock"), LOCKS.items())
def test_the_lock_follows_its_input(wanted: str, lock: str) -> None:
    locked = pins(lock)
    assert {name: locked.get(name) for name in pins(wanted)} == pins(wanted)


def test_the_local_model_brings_nothing_that_is_there_already() -> None:
    assert not pins("local-model.txt").keys() & pins("requirements.txt").keys()


def test_lambda_gets_what_the_package_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {normal(re.split(r"[\[<>=~! ]", entry)[0]) for entry in project["dependencies"]}
    assert pins("requirements.in").keys() == declared


@pytest.mark.parametrize(("name", "pinned"), sorted({**pins("requirements.in"), **pins("local-model.in")}.items()))
def test_laptop_and_lambda_run_the_same_version(name: str, pinned: str) -> None:
    assert version(name) == pinned


@pytest.mark.parametrize(("folder", "machine"), [("arm64", "aarch64"), ("x86_64", "x86_64")])
def test_wheels_fit_lambdas_machine(folder: str, machine: str) -> None:
    tags = (LAYER / folder / "wheel-tags.txt").read_text(encoding="utf-8").split()
    numbered = [re.fullmatch(rf"manylinux_(\d+)_(\d+)_{machine}", tag) for tag in tags]
    assert [tag for tag, match in zip(tags, numbered, strict=True) if not match] == [f"manylinux2014_{machine}"]
    assert max((int(match[1]), int(match[2])) for match in numbered if match) == LAMBDA_GLIBC


def test_the_runtime_has_one_version_in_all_files() -> None:
    runtimes = set(re.findall(r"python3\.\d+", TEMPLATE.read_text(encoding="utf-8")))
    assert runtimes == {"python3.13"}
    for makefile in (LAYER / "Makefile", ROOT / "shared" / "Makefile"):
        assert "\nRUNTIME_VERSION := 3.13\n" in makefile.read_text(encoding="utf-8")
