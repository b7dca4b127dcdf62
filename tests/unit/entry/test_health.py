"""What health says: degraded while the store of heads or the search index is away."""

from __future__ import annotations

import json

import pytest

from lethe.adapters.scan_index import ScanIndex
from lethe.domain.head import SubjectHead
from lethe.domain.identity import Caller
from lethe.entry.api.recall import HealthOut
from lethe.entry.call import Call
from lethe.entry.operations.recall import ServiceReads
from lethe.errors import Throttled, Unavailable
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.heads import FakeSubjectHeads
from tests.fakes.memories import FakeMemories

NOBODY = Caller("", "", frozenset(), (), "")


class Index(ScanIndex):
    """Over nothing; away when it is told so."""

    away = False

    def __init__(self) -> None:
        super().__init__(FakeMemories(FakeSubjectHeads()), 0, 0.0)

    def answers(self) -> bool:
        return not self.away


class Heads(FakeSubjectHeads):
    """Fail when they are told to."""

    failure: Exception | None = None

    def read(self, tenant: str, subject: str) -> SubjectHead | None:
        if self.failure is not None:
            raise self.failure
        return super().read(tenant, subject)


def status(heads: Heads, index: Index) -> str:
    answer = ServiceReads(heads, index, FakeEmbedder()).health(Call(NOBODY, {}, None, None))
    assert answer.status == 200
    assert isinstance(answer.body, HealthOut)
    return str(json.loads(answer.body.model_dump_json())["status"])


def test_health_is_ok_when_both_answer() -> None:
    assert status(Heads(), Index()) == "ok"


def test_an_index_that_is_away_degrades() -> None:
    index = Index()
    index.away = True
    assert status(Heads(), index) == "degraded"
    index.away = False
    assert status(Heads(), index) == "ok"


@pytest.mark.parametrize("failure", [Unavailable(), Throttled()])
def test_heads_that_are_away_degrade(failure: Exception) -> None:
    heads = Heads()
    heads.failure = failure
    assert status(heads, Index()) == "degraded"
