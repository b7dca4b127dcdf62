"""The blocks of README that use a running stack, as they stand there, one after the other, in one folder."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE, dev_facts, wait_until

ROOT = Path(__file__).resolve().parents[3]
STARTED_BY_HAND = ("make ", "lethe index ")
"""A block with one of these is about the stack itself, or about a search index, which has tests of its own."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """What README takes for granted in the project's folder: `.venv`, and in `.lethe` the file of a running stack."""
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parent.parent, target_is_directory=True)
    state = tmp_path / ".lethe"
    state.mkdir()
    command = [sys.executable, "-m", "lethe_local.dev", "--root", str(ROOT), "--state-dir", str(state)]
    around = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "LETHE_"))}
    variables = {**around, "PORT": "0", "LETHE_LOCAL_TABLES": "moto", "PYTHONUNBUFFERED": "1"}
    with (tmp_path / "dev.log").open("w") as log:
        process = subprocess.Popen(command, env=variables, cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: dev_facts(state).get("pid") == process.pid or process.poll() is not None)
        assert process.poll() is None, (tmp_path / "dev.log").read_text()
        yield tmp_path
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _blocks() -> list[tuple[str, str]]:
    """The language and the text of each block that uses a stack."""
    found = re.findall(r"^```(sh|python)\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    return [(language, text) for language, text in found if not any(start in text for start in STARTED_BY_HAND)]


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl, with which README talks to the stack")
def test_the_blocks_of_readme_run_as_they_stand(folder: Path) -> None:
    blocks = _blocks()
    assert [language for language, _ in blocks] == ["sh", "python", "sh", "sh", "python"]
    defined, shown = "", ""
    for place, (language, text) in enumerate(blocks):
        if language == "python":
            command = [str(folder / ".venv" / "bin" / "python"), "-c", text]
        else:
            # In a terminal what one block defines is there for the next.
            command = ["sh", "-eu", "-c", defined + text]
            defined = defined or text.partition("\n# ")[0] + "\n"
        around = {name: value for name, value in os.environ.items() if not name.startswith("LETHE_")}
        done = subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, check=False, timeout=120)
        said = done.stdout + done.stderr
        assert done.returncode == 0, f"block {place}: {said}"
        assert not re.search(r'"status": ?[45]\d\d', said), f"block {place}: {said}"
        shown += done.stdout
    for expected in ("allergic to chicken", "the chain of dev is whole from 1 to", "case-7", "completed ()"):
        assert expected in shown
