"""The proof of docs/erasure.md, by machine: Spin explores the model to the end and finds no fault; with a part of the
design taken out it finds one, and at the step where it must be.
"""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.stores import ROOT

MODEL = Path(__file__).with_name("erasure.pml")
_STEP = re.compile(r"@step ([\w.]+:[\w.]+)")
_NEVER_REACHED = re.compile(r'\S+:\d+, state \d+, "(.*)"')
_DEEPEST = 200_000

SCENARIOS = {
    "an answer that is kept": (),
    "two first writers": ("WRITERS=2",),
    "two erasures": ("ERASURES=2",),
    "a hold": ("HOLDS",),
    "deleting steps at fault": ("FAULTS",),
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """What is taken out, the property that breaks then, and steps of the counterexample in their order, by the last
    parts of their names; the last one is where it breaks.
    """

    without: tuple[str, ...]
    breaks: str
    steps: tuple[str, ...]


MUTANTS = (
    Mutant(("NO_DRAIN",), "P2", ("fence", "_sweep", "stretch", "add_all", "write")),
    Mutant(("SHORT_DRAIN",), "P2", ("_plan", "fence", "drain_seconds", "_sweep", "stretch", "_mark", "write")),
    Mutant(("LASTING_THREAD",), "P2", ("fence", "drain_seconds", "_sweep", "stretch", "add_all", "write")),
    Mutant(("NO_EPOCH_IN_KEY",), "P1", ("fence", "admit", "for_reading", "add_all", "search")),
    Mutant(("NO_EPOCH_IN_KEY",), "P3", ("fence", "admit", "for_writing", "memories")),
    Mutant(("NO_SECOND_SWEEP",), "P4", ("fence", "add_all", "drain_seconds", "stretch")),
    Mutant(("NO_SECOND_SWEEP", "NO_VERIFY"), "P2", ("fence", "add_all", "drain_seconds", "write")),
    Mutant(("NO_VERIFY", "FAULTS"), "P2", ("fence", "add_all", "drain_seconds", "write")),
    Mutant(("FENCE_AFTER_DELETE",), "P1", ("begin", "for_reading")),
    Mutant(("FENCE_AGAIN",), "P3", ("fence", "admit", "for_writing", "fence", "memories")),
    Mutant(("SPACE_OPENED_AGAIN",), "P1", ("recall", "fence", "admit", "store", "answer")),
    Mutant(("SPACE_OPENED_AGAIN",), "P2", ("recall", "fence", "admit", "store", "drain_seconds", "write")),
    Mutant(("MARK_UNCHECKED",), "P2", ("fence", "drain_seconds", "_sweep", "stretch", "_mark", "write")),
    Mutant(("HOLDS", "HOLDS_BEFORE_FENCE"), "P5", ("begin", "place", "fence", "memories")),
)


@dataclass(frozen=True, slots=True)
class Explored:
    """What Spin found: its report, how many states, what no run reached, and the steps of the counterexample."""

    report: str
    errors: int
    states: int
    unreached: tuple[str, ...]
    steps: tuple[str, ...] = ()
    violated: str | None = None


@pytest.fixture(scope="module")
def spin() -> str:
    """Spin's name; skips where it or a C compiler is missing."""
    missing = [tool for tool in ("spin", "cc") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"the model cannot be explored without {' and '.join(missing)} (Debian: spin, gcc, libc6-dev)")
    return "spin"


def explore(spin: str, folder: Path, defined: Sequence[str], *, shortest: bool) -> Explored:
    """Explore the model with ``defined``; breadth first where the shortest counterexample is wanted."""
    options = [f"-D{name}" for name in defined]
    shutil.copy(MODEL, folder)
    _run(folder, spin, *options, "-a", MODEL.name)
    _run(folder, "cc", "-O1", "-w", "-DSAFETY", *(["-DBFS"] if shortest else []), "-o", "pan", "pan.c")
    report = _run(folder, "./pan", f"-m{_DEEPEST}")
    errors, states = re.search(r"errors: (\d+)", report), re.search(r"(\d+) states, stored", report)
    assert errors is not None, report
    assert states is not None, report
    unreached = tuple(_NEVER_REACHED.findall(report))
    if not (folder / f"{MODEL.name}.trail").exists():
        return Explored(report, int(errors[1]), int(states[1]), unreached)
    trail = _run(folder, spin, *options, "-t", MODEL.name)
    violated = re.search(r"@violated (P\d)", trail)
    steps = tuple(_STEP.findall(trail))
    return Explored(report, int(errors[1]), int(states[1]), unreached, steps, violated[1] if violated else None)


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module", params=tuple(SCENARIOS.values()), ids=tuple(SCENARIOS))
def whole(request: pytest.FixtureRequest, spin: str, tmp_path_factory: pytest.TempPathFactory) -> Explored:
    """One scenario, explored to the end."""
    return explore(spin, tmp_path_factory.mktemp("model"), request.param, shortest=False)


def test_no_interleaving_breaks_a_property(whole: Explored) -> None:
    print(f"{whole.states} states")
    assert whole.errors == 0, f"{whole.violated}: {whole.steps}"
    assert "Full statespace search" in whole.report
    assert "max search depth too small" not in whole.report
    assert "Search not completed" not in whole.report
    assert whole.states > 10_000, "the model has lost its interleavings"


def test_every_step_of_the_model_is_reached(whole: Explored) -> None:
    """A proof about steps that nothing ever takes would prove nothing."""
    assert whole.unreached, "the report tells nothing of what was not reached"
    assert [what for what in whole.unreached if what.startswith("printf('@step")] == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{'-'.join(mutant.without)}-{mutant.breaks}")
def test_what_is_taken_out_is_missed(spin: str, tmp_path: Path, mutant: Mutant) -> None:
    found = explore(spin, tmp_path, (*mutant.without, f"ONLY={mutant.breaks}"), shortest=True)

    named = [step.rpartition(":")[2].rpartition(".")[2] for step in found.steps]
    print(f"{mutant.breaks} without {mutant.without}: {' > '.join(named)}")
    assert (found.errors, found.violated) == (1, mutant.breaks)
    assert named[-1] == mutant.steps[-1]
    rest = iter(named)
    assert [step for step in mutant.steps if step not in rest] == [], named


def test_every_step_names_a_function_that_exists() -> None:
    text = MODEL.read_text()
    printed = re.findall(r"STEP\((\".*?\")\)", text)
    named = set(_STEP.findall(text))

    assert len(named) > 20
    assert [step for step in printed if not re.fullmatch(r'"@step [\w.]+:[\w.]+\\n"', step)] == []
    assert sorted(step for step in named if not _exists(step)) == []


def _exists(step: str) -> bool:
    module, _, path = step.partition(":")
    found: object = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    return callable(found)


def test_what_can_be_taken_out_is_tried_and_described() -> None:
    text, words = MODEL.read_text(), (ROOT / "docs" / "erasure.md").read_text()
    scenario = {"WRITERS", "ERASURES", "HOLDS", "FAULTS", "KEEPS", "ONLY"}
    switches = set(re.findall(r"(?:ifdef|ifndef|defined\()\s*([A-Z_]+)", text)) - scenario

    tried = {name for mutant in MUTANTS for name in mutant.without} - scenario
    assert switches == tried
    assert sorted(name for name in switches if f"`{name}`" not in words) == []
