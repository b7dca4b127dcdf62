"""Subjects with something in every store, each word of which can be found again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from lethe.domain.entity import Entity
from lethe.domain.idempotency import Claim, StoredAnswer, about_session
from lethe.domain.identity import Space
from lethe.domain.memory import Embedding, Memory, MemoryKind, Origin, Source
from lethe.domain.session import Session
from tests.support.erasing import Erasing
from tests.support.makers import entity, memory, said, unit_vector

WEEK = 7 * 24 * 3_600


@dataclass(frozen=True)
class Filled:
    """What was put into a space."""

    space: Space
    memories: tuple[Memory, ...]
    derived: Memory
    session: Session
    entities: tuple[Entity, ...]


def fill(house: Erasing, space: Space, word: str, memories: int = 4) -> Filled:
    """Memories of two sessions and of none, one of them changed, one made of another, one with a neighbour's context;
    a session with messages, values in and out of it, and an answer that shows some of it.
    """
    now = house.clock.now()
    appended = house.sessions.append(space, f"s-{word}", [said(f"{word} in message {n}") for n in range(3)], now, WEEK)
    message_ids = tuple(message.id for message, _ in appended.messages)
    stated = [_stated(house, word, n, f"s-{word}" if n == 0 else None, message_ids[:1]) for n in range(memories)]
    made_of = replace(
        _stated(house, f"{word} derived", memories, None, ()), derived_from=(stated[0].id,), kind=MemoryKind.SUMMARY
    )
    beside = replace(
        _stated(house, f"{word} beside", memories + 1, None, message_ids[2:]),
        context=f"{word} in message 0",
        context_from=message_ids[:1],
    )
    house.memories.add(space, [*stated, made_of, beside], appended.session if memories < 40 else None)
    changed = replace(stated[-1], text=f"{word} changed", content_hash=f"{word}-changed", updated_at=now)
    newest = house.memories.update(space, stated[-1], replace(changed, version=2))
    values = (
        house.entities.put(space, entity(f"{word}-own"), None),
        house.entities.put(space, replace(entity(f"{word}-own"), value=f"{word} anew"), None),
        house.entities.put(space, entity(f"{word}-there", session_id=f"s-{word}"), None),
    )
    _answer(house, space, word, {stated[0].id, about_session(f"s-{word}")})
    house.clock.move(timedelta(seconds=1))  # what is asked for next comes after all this
    return Filled(space, (*stated[:-1], newest, beside), made_of, appended.session, values)


def _stated(house: Erasing, word: str, number: int, session_id: str | None, message_ids: Sequence[str]) -> Memory:
    return replace(
        memory(f"{word} states {number}", house.clock.now() + timedelta(microseconds=number)),
        id=house.ids.new("mem_"),
        kind=list(MemoryKind)[number % 3],
        source=Source("tester", Origin.USER, session_id, tuple(message_ids)),
        embedding=Embedding(house.embedder.model.label, unit_vector(number, house.embedder.model.dimensions)),
    )


def _answer(house: Erasing, space: Space, word: str, about: set[str]) -> None:
    now = house.clock.now()
    digest = house.ids.new("digest-")
    claim = house.answers.claim(space.tenant, digest, "request", now, now + timedelta(seconds=30))
    assert claim is Claim.STARTED
    answer = StoredAnswer(201, f'{{"text": "{word} answered"}}', frozenset(about))
    house.answers.store(space, space.tenant, digest, answer, now)
