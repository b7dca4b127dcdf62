"""0 leaks: whatever is asked and whatever ids look like, a search stays inside its tenant, subject and epoch.

Every search body that any test sends is judged by ``scope_of`` on its way, to the fake and to a node alike; here the
judgement itself is tried, and ids and query syntax are put wherever a caller may put a text.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pytest

from lethe.adapters.opensearch import questions
from lethe.adapters.opensearch.filters import accepted, inside
from lethe.adapters.opensearch.questions import ForeignEntry
from lethe.domain.identity import Space
from lethe.domain.indexing import Mark, Put
from lethe.domain.memory import MemoryFilter, Source
from lethe.domain.memory import Origin as MemoryOrigin
from lethe.domain.search import SearchQuery
from tests.fakes.opensearch.failures import Json, NotInTheContract
from tests.fakes.opensearch.scope import PARSED, SCOPE, scope_of
from tests.fakes.time_and_ids import START
from tests.support.search_bodies import RECORDED
from tests.support.search_worlds import World, embedded, query, texts

MakeWorld = Callable[[str], World]

_TENANTS: Final = ("acme", "acme2", "ACME", "other")
_EPOCHS: Final = (1, 2, 12)
_SUBJECTS: Final = ("a" * 32, "a" * 31 + "b", "b" * 32)


@dataclass(frozen=True, slots=True)
class Crowd:
    """Subjects of the same hash in several tenants and epochs, each with a secret of its own."""

    world: World
    spaces: Sequence[Space]

    def secret(self, space: Space) -> str:
        return f"The secret word is {_word(space)}."

    def foreign(self, own: Space) -> set[str]:
        return {self.secret(space) for space in self.spaces if space != own}


def _word(space: Space) -> str:
    return f"{space.tenant.encode().hex()}{space.subject[-2:]}{space.epoch}"


def _crowd(world: World) -> Crowd:
    spaces = [Space(t, s, e) for t, s, e in itertools.product(_TENANTS, _SUBJECTS, _EPOCHS)]
    crowd = Crowd(world, spaces)
    for space in spaces:
        head = world.heads.create(space.tenant, space.subject)
        world.heads.put(replace(head, epoch=space.epoch))
        others = {"source": Source("key_1", MemoryOrigin.USER, "session-1"), "metadata": {"room": 1}}
        world.add(space, world.memory(crowd.secret(space), **others))
    _tell_all(world)
    return crowd


def _tell_all(world: World) -> None:
    """As ``catch_up``, for spaces whose heads have gone on to another epoch since."""
    written = {space: world.heads.read(space.tenant, space.subject) for space, _ in world.behind}
    for (space, memory_id), _ in world.behind.items():
        memory = world.memories.get(space, memory_id)
        head = written[space]
        assert memory is not None
        assert head is not None
        world.writer.apply([Put(space, memory), Mark(space, str(head.written), world.clock.now())], 30.0)
    world.behind.clear()
    world.show()


def _opened(world: World, space: Space) -> Space:
    """The space as a request of its own epoch opens it."""
    head = world.heads.read(space.tenant, space.subject)
    assert head is not None
    return replace(space, revision=max(head.revision, 1), written=head.written)


def _ask(crowd: Crowd, own: Space, asked: SearchQuery, filters: MemoryFilter) -> list[str]:
    world = crowd.world
    found = world.index.search(_opened(world, own), asked, filters, world.clock.now(), 200)
    assert not crowd.foreign(own) & set(texts(found))
    assert found.stored <= 1
    assert found.considered <= 1
    assert not found.degraded
    return texts(found)


def _injections(text: str) -> list[tuple[SearchQuery, MemoryFilter]]:
    """``text`` in the seven places in which a caller may put one: the question, its vector's text, the user's own name,
    the session, a metadata key, a metadata value, and inside a nested metadata value.
    """
    usual = query("What is the secret word?")
    return [
        (SearchQuery(text, None), MemoryFilter()),
        (SearchQuery("What is the secret word?", embedded(text)), MemoryFilter()),
        (replace(usual, subject_name=text), MemoryFilter()),
        (usual, MemoryFilter(session_id=text)),
        (usual, MemoryFilter(metadata={text: 1})),
        (usual, MemoryFilter(metadata={"room": text})),
        (usual, MemoryFilter(metadata={"room": {text: [text, {"term": {"tenant": text}}]}})),
    ]


def _assert_no_leak(crowd: Crowd, own: Space, text: str) -> None:
    answers = [_ask(crowd, own, asked, filters) for asked, filters in _injections(text)]
    assert answers[:3] == [[crowd.secret(own)]] * 3
    assert answers[3:] == [[]] * 4


def _ids_of(space: Space) -> list[str]:
    parts = (space.tenant, space.subject, str(space.epoch))
    return [*parts, "-".join(parts[1:]), f"{parts[1]}-{parts[2]}-mark", f"tenant:{parts[0]}", _word(space)]


def test_no_id_of_another_opens_its_memory(make_world: MakeWorld) -> None:
    """Tenants x subjects x epochs x 7 places x 7 ids of another."""
    crowd = _crowd(make_world("local"))
    for number, own in enumerate(crowd.spaces):
        other = crowd.spaces[(number * 7 + 5) % len(crowd.spaces)]
        assert other != own
        for text in _ids_of(other):
            _assert_no_leak(crowd, own, text)


_SYNTAX: Final = (
    "*", "?", "tenant:*", "tenant:acme OR subject:*", "_exists_:tenant", "NOT tenant:acme", "text:/.*/", "[* TO *]",
    "{* TO *}", "/.*/", "secret~2", "secret^100", "+secret -tenant", "(a OR b) AND c", '"secret word"~10', "\\*", "&&",
    "||", "!", '{"match_all":{}}', '"}},{"match_all":{}}', '"}\n{"index":"*"}\n{"query":{"match_all":{}}}\n',
    '{"query_string":{"query":"*"}}', '{"script":"true"}', "doc['tenant'].value", "${tenant}", "{{tenant}}",
    "'; return true; //", "acme\u0000", "acme,other", "acme|other", "<acme-{now/d}>", "_all", "..", "../_search",
    "%2e%2e", "a" * 300, "\n", "\r\n\r\n", "\u2028", "\ufeff", "{}", "[]", "null", "true", "1", "1 OR 1=1",
    "epoch:[0 TO 99]",
    "routing=other", "?routing=other", "_id:*", "boost:1e9", "fields.*", "text.en:secret", "<script>",
    "SELECT * FROM m",
)  # fmt: skip


def _payloads(count: int) -> list[str]:
    """``count`` different payloads: pieces of syntax alone, joined, and around the names of the index's fields."""
    chance, made = random.Random(7), dict.fromkeys(_SYNTAX)
    fields = (*SCOPE, "memory_id", "text", "facets", "embedding", "acme", "secret")
    while len(made) < count:
        pieces = chance.choices((*_SYNTAX, *fields), k=chance.randint(2, 4))
        made[chance.choice(("", " ", ":", '"', " OR ")).join(pieces)] = None
    return list(made)


def test_a_thousand_payloads_of_query_syntax_find_nothing_foreign(make_world: MakeWorld) -> None:
    crowd = _crowd(make_world("managed"))
    payloads = _payloads(1_000)
    assert len(set(payloads)) == 1_000
    for number, payload in enumerate(payloads):
        _assert_no_leak(crowd, crowd.spaces[number % len(crowd.spaces)], payload)


@pytest.mark.opensearch
def test_query_syntax_finds_nothing_foreign_on_a_node(make_world: MakeWorld) -> None:
    crowd, before = _crowd(make_world("node")), len(RECORDED)
    payloads = _payloads(len(_SYNTAX) + 20)
    for number, payload in enumerate(payloads):
        own = crowd.spaces[(5 * number) % len(crowd.spaces)]
        _assert_no_leak(crowd, own, payload)
    assert len(RECORDED) - before >= 7 * 4 * len(payloads), "the recorder saw them all"


def test_the_bodies_pin_tenant_subject_epoch_and_entry_in_every_clause() -> None:
    space, moment = Space("acme", "a" * 32, 3), START
    strange = MemoryFilter(session_id="tenant:*", metadata={"query_string": {"script": "regexp"}}, valid_at=moment)
    memory, mark = ({"tenant": "acme", "subject": "a" * 32, "epoch": 3, "entry": kind} for kind in ("memory", "mark"))
    vector = embedded("anything").vector
    assert scope_of(questions.vector_search(space, strange, moment, vector, 5)) == memory
    assert scope_of(questions.words_search(space, strange, moment, '{"script": 1} query_string', 5)) == memory
    assert scope_of(questions.counts_search(space, strange, moment, ["script", "wildcard"])) == memory
    assert scope_of(questions.newest_search(space)) == memory
    assert scope_of(questions.mark_search(space)) == mark


@pytest.mark.parametrize("name", sorted(PARSED))
def test_the_judgement_finds_what_would_be_parsed_wherever_it_stands(name: str) -> None:
    clauses = inside(Space("acme", "a" * 32, 1))
    for body in (
        {"query": {"bool": {"filter": [*clauses, {name: {"text": "a"}}]}}},
        {"query": {"bool": {"filter": [*clauses, {"bool": {"must_not": [{"bool": {"filter": [{name: {}}]}}]}}]}}},
        {"query": {"bool": {"filter": list(clauses)}}, "aggs": {"a": {"filters": {"filters": {"0": {name: {}}}}}}},
        {"query": {"knn": {"embedding": {"filter": {"bool": {"filter": [*clauses, {name: {}}]}}}}}},
    ):
        with pytest.raises(NotInTheContract):
            scope_of(body)  # type: ignore[arg-type]  # clauses are Mappings there


@pytest.mark.parametrize("missing", SCOPE)
def test_the_judgement_misses_no_part_of_the_scope(missing: str) -> None:
    clauses: list[Json] = [{"term": dict(each["term"])} for each in inside(Space("acme", "a" * 32, 1))]  # type: ignore[arg-type]  # terms are Mappings there
    kept = [each for each in clauses if missing not in str(each)]
    twice = [*clauses, {"term": {missing: "other"}}]
    for wrong in (kept, twice):
        with pytest.raises(NotInTheContract):
            scope_of({"query": {"bool": {"filter": wrong}}})  # type: ignore[dict-item]  # as sent
        with pytest.raises(NotInTheContract):
            scope_of({"query": {"knn": {"embedding": {"filter": {"bool": {"filter": wrong}}}}}})  # type: ignore[dict-item]  # as sent


@pytest.mark.parametrize("no_space", [None, "acme", ("acme", "a" * 32, 1), {"tenant": "acme"}])
def test_there_is_no_filter_without_a_space(no_space: object) -> None:
    with pytest.raises(TypeError):
        inside(no_space)  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(TypeError):
        accepted(no_space, MemoryFilter(), START)  # type: ignore[arg-type]  # the point of the test


@pytest.mark.parametrize("wrong", [{"tenant": "other"}, {"subject": "b" * 32}, {"epoch": 2}, {"epoch": "1"}])
def test_an_answer_with_a_foreign_entry_is_trusted_in_nothing(faked: World, wrong: Json) -> None:
    """Were the cluster itself to break the filter, the scan would answer, and nothing foreign be read."""
    own = faked.subject("acme")
    faked.say(own, "Ana plays the guitar.")
    faked.catch_up()
    assert not faked.search(own, "What does Ana play?").degraded
    assert faked.on is not None
    assert faked.on.fake is not None
    for index in faked.on.fake.indexes.values():
        for shard in index.shards:
            for document in shard.visible.values():
                document.source = document.source | wrong  # what a broken filter would let through
    found = faked.search(own, "What does Ana play?")
    assert texts(found) == ["Ana plays the guitar."]
    assert found.degraded
    with pytest.raises(ForeignEntry):
        questions.hits({"hits": {"hits": [{"fields": {"tenant": ["other"], "subject": ["s"], "epoch": [1]}}]}}, own)
