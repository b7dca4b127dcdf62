"""How the tests are spread over processes (`make test`, pytest-xdist), as a plugin: what must stay together does, the
longest comes first, and a skipped test in any of them fails a run that forbids it.

A group runs in one process, in its order. All that needs a real OpenSearch node is one group: nodes are slow to start,
and their tests have real deadlines that a second node beside them would spoil. Every other module is a group, since its
tests share what it has made. Ports are free ones and folders are the tests' own, so that groups may run side by side.

The groups are read from the ids of tests, by a scheduler of our own: pytest-xdist's marks change ids, which pytest
since 9.2 does not let them do, and every test is then silently a group of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]  # xdist has no types
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # xdist has no types

NODE: Final = "node"

NODE_MODULES: Final = frozenset(
    (
        "tests/component/erasure/test_canaries.py",
        "tests/component/erasure/test_ten_thousand.py",
        "tests/component/local/test_opensearch_node.py",
        "tests/component/local/test_opensearch_stack.py",
        "tests/contract/test_search_agreement.py",
        "tests/opensearch/test_inspection_node.py",
        "tests/opensearch/test_node_faults.py",
        "tests/opensearch/test_scope.py",
    )
)
"""Modules with tests that need a node by their mark alone. Elsewhere the word `node` is among a test's parameters."""

_ON_A_NODE = re.compile(r"\[(.*-)?node(-.*)?\]$")

LONGEST: Final[Sequence[str]] = (
    NODE,
    "tests/property/test_fuzz.py",
    "tests/property/test_erasure_races.py",
    "tests/proof/test_proof.py",
    "tests/component/erasure/test_faults.py",
    "tests/property/test_erasure_histories.py",
    "tests/component/local/test_dev.py",
    "tests/component/erasure/test_leftovers.py",
    "tests/component/erasure/test_replay.py",
    "tests/component/erasure/test_holds.py",
)
"""The groups that keep a quiet core longer than some fifteen seconds, longest first. Whatever is not named here comes
after them as it is collected, so that no process is left alone with a long group at the end.
"""


class Groups(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands groups to processes, in the order of the tests."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """The name of the group that a test belongs to."""
    module = nodeid.partition("::")[0]
    return NODE if module in NODE_MODULES or _ON_A_NODE.search(nodeid) else module


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Groups:
    """Whatever `--dist` says."""
    return Groups(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a process of several, the longest groups come first; alone, tests run as they are collected.

    Raises UsageError for a test that needs a node and is not in the group of those, however it is run.
    """
    for item in items:
        if item.get_closest_marker("opensearch") and group_of(item.nodeid) != NODE:
            raise pytest.UsageError(f"{item.nodeid} needs a node: name its module in {__name__}.NODE_MODULES")
    if hasattr(config, "workerinput"):
        rank = {name: number for number, name in enumerate(LONGEST)}
        items.sort(key=lambda item: rank.get(group_of(item.nodeid), len(rank)))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """With LETHE_FORBID_SKIPS a skipped test fails the run: CI has everything that tests need.

    Of several processes the one that started the others reports, and what they skipped comes together there.
    """
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or exitstatus != 0 or not os.environ.get("LETHE_FORBID_SKIPS"):
        return
    skipped = len(reporter.stats.get("skipped", []))
    if skipped:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.write_line(f"{skipped} skipped, which LETHE_FORBID_SKIPS makes a failure", red=True)
