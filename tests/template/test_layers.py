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


def test_every_package_is_pinned_with_hashes() -> None:
    text = (LAYER / "requirements.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    entries = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert len(entries) >= len(pins("requirements.in"))
    for entry in entries:
        assert REQUIREMENT.match(entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry
    assert not re.search(r"https?://|--(extra-)?index|--find-links", text)


def test_the_lock_follows_its_input() -> None:
    locked = pins("requirements.txt")
    wanted = pins("requirements.in")
    assert wanted
    assert {name: locked.get(name) for name in wanted} == wanted


def test_lambda_gets_what_the_package_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {normal(re.split(r"[\[<>=~! ]", entry)[0]) for entry in project["dependencies"]}
    assert pins("requirements.in").keys() == declared


@pytest.mark.parametrize("name", sorted(pins("requirements.in")))
def test_laptop_and_lambda_run_the_same_version(name: str) -> None:
    assert version(name) == pins("requirements.txt")[name]


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
