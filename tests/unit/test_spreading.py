"""Tests in several processes: a skipped one fails a run that forbids it, and a group stays in one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.spreading import LONGEST, NODE, NODE_MODULES
from tests.support.stores import ROOT

SPREAD = ("--numprocesses=2", "--dist=loadscope", "--no-loadscope-reorder")
ALONE: tuple[str, ...] = ()


def run(folder: Path, *options: str, forbid: str) -> subprocess.CompletedProcess[str]:
    """Run the tests in ``folder`` by the plugin alone."""
    around = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    plugins = ("-p", "xdist", "-p", "tests.support.spreading", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", *plugins, "-ra", "-v"]
    return subprocess.run(
        [*command, "--rootdir", str(folder), *options, str(folder)],
        env={**around, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), "LETHE_FORBID_SKIPS": forbid},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


@pytest.mark.parametrize("options", [ALONE, SPREAD], ids=["alone", "spread"])
def test_a_skipped_test_fails_a_run_that_forbids_it(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "test_one.py").write_text("def test_passes():\n    assert True\n")
    lines = (
        "import pytest",
        "def test_passes():",
        "    assert True",
        "def test_skips():",
        "    pytest.skip('no moon')",
    )
    (tmp_path / "test_two.py").write_text("\n".join(lines) + "\n")

    forbidden, allowed = run(tmp_path, *options, forbid="1"), run(tmp_path, *options, forbid="")

    assert (forbidden.returncode, allowed.returncode) == (1, 0), forbidden.stdout + allowed.stdout
    assert "1 skipped, which LETHE_FORBID_SKIPS makes a failure" in forbidden.stdout
    for told in (forbidden, allowed):
        assert "2 passed, 1 skipped" in told.stdout
        assert "no moon" in told.stdout, "the reason is printed"


def test_a_module_stays_in_one_process_in_its_order(tmp_path: Path) -> None:
    for name in ("one", "two"):
        lines = ["import os", "PID = []"]
        for number in range(6):
            lines += [f"def test_{number}():", "    PID.append(os.getpid())"]
            lines += [f"    assert PID == [os.getpid()] * {number + 1}"]
        (tmp_path / f"test_{name}.py").write_text("\n".join(lines) + "\n")

    told = run(tmp_path, *SPREAD, forbid="1")

    assert told.returncode == 0, told.stdout
    assert "12 passed" in told.stdout


def test_every_long_group_is_a_module_that_exists() -> None:
    assert len(set(LONGEST)) == len(LONGEST) > 1
    named = {*LONGEST, *NODE_MODULES} - {NODE}
    assert sorted(name for name in named if not (ROOT / name).is_file()) == []
