"""What an erasure could leave behind: planted by bare calls, so that the test shares nothing with what deletes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lethe.adapters.dynamodb.models import table_of
from lethe.domain.identity import Space
from tests.support.erasing import Erasing

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

Texts = dict[str, str]

MEM = "mem_01J00000000000000000000000"


@dataclass(frozen=True, slots=True)
class Leftover:
    """An item that should have gone: its kind, its store, its key, and what else it holds. ``repaired`` is whether the
    deleting steps would find it.
    """

    kind: str
    store: str
    pk: str
    sk: str
    others: Mapping[str, str]
    repaired: bool

    def plant(self, client: DynamoDBClient, house: Erasing) -> None:
        """Put it where it lies."""
        item: dict[str, Any] = {"pk": {"S": self.pk}, "sk": {"S": self.sk}}
        client.put_item(TableName=table(house, self.store), Item=item | {k: {"S": v} for k, v in self.others.items()})

    def remove(self, client: DynamoDBClient, house: Erasing) -> None:
        """What an operator does in the end."""
        client.delete_item(TableName=table(house, self.store), Key={"pk": {"S": self.pk}, "sk": {"S": self.sk}})


def table(house: Erasing, store: str) -> str:
    """The name of the table that a store is in."""
    models = house.database.models
    rows = {"memories": models.memory, "sessions": models.session, "entities": models.entity, "answers": models.head}
    return table_of(rows[store])


def _words(chance: random.Random) -> Texts:
    return {"text": f"left {chance.randrange(10**6)}"}


# Sort keys of every form that there is, with what the verifier reads beside them.
ORDINARY: Mapping[str, tuple[str, Callable[[str], str], Texts]] = {
    "a memory": ("memories", lambda n: f"MEM#{MEM}", {"kind": "fact", "created_at": "2026-01-01T00:00:00Z"}),
    "an old version": ("memories", lambda n: f"OLD#{MEM}#v{n}", {"kind": "fact", "session_id": "s"}),
    "a hash": ("memories", lambda n: f"HASH#{n}", {"memory_id": MEM}),
    "a note of a change": ("memories", lambda n: f"CHANGED#{n}#{MEM}", {"memory_id": MEM}),
    "a session": ("sessions", lambda n: f"SESSION#s{n}", {"created_at": "2026-01-01T00:00:00Z"}),
    "a message": ("sessions", lambda n: f"S#s{n}#MSG#{n}", {}),
    "a client's id": ("sessions", lambda n: f"S#s{n}#CLIENT#{n}", {}),
    "a summary": ("sessions", lambda n: f"S#s{n}#SUMMARY#{n}", {}),
    "a value": ("entities", lambda n: f"CURRENT#subject#k{n}", {}),
    "an old value": ("entities", lambda n: f"OLD#subject#k{n}#v{n}", {}),
    "a session's value": ("entities", lambda n: f"CURRENT#session:s{n}#k{n}", {}),
    "a session's old value": ("entities", lambda n: f"OLD#session:s{n}#k{n}#v{n}", {}),
}
MISSPELT = ("MEMORY#x", "mem", "OLD", "SX#s#MSG#1", "SESSION", "S#s", "CURRENT", "HEAD", "S", "CURRENT##")
STRANGE = ("", "#0", "#x", "#01", "#1#2", "#-1", "#1 ", "##1")


def leftover(chance: random.Random, space: Space) -> Leftover:
    """One of any kind, in one of the epochs up to that of ``space``, or where no epoch is."""
    n = f"{chance.randrange(10**10):010d}"
    epoch = chance.randint(1, space.epoch)
    beside = f"{space.tenant}#{space.subject}"
    shape = chance.randrange(5)
    if shape == 0:
        store = chance.choice(("memories", "sessions", "entities"))
        misspelt = chance.choice(MISSPELT)
        return Leftover("a misspelt key", store, f"{beside}#{epoch}", misspelt, _words(chance), True)
    if shape == 1:
        kind = chance.choice(sorted(ORDINARY))
        store, sort_key, others = ORDINARY[kind]
        partition = beside + chance.choice(STRANGE)
        return Leftover("a strange partition", store, partition, sort_key(n), others | _words(chance), False)
    if shape == 2:
        if chance.random() < 0.5:
            key = f"IDEMPOTENCY#{epoch}#{n}#0000000000"
            return Leftover("an answer", "answers", beside, key, _words(chance), True)
        key = chance.choice(("IDEMPOTENCY#x#1#0", "IDEMPOTENCY", "HEAD#1", "ANSWER#1", "IDEMPOTENCY#01#1#0000000000"))
        return Leftover("a strange answer", "answers", beside, key, _words(chance), False)
    kind = chance.choice(sorted(ORDINARY))
    store, sort_key, others = ORDINARY[kind]
    ahead = chance.random() < 0.1
    place = space.epoch + chance.randint(1, 9) if ahead else epoch
    return Leftover(
        f"{kind} of an epoch to come" if ahead else kind,
        store,
        f"{beside}#{place}",
        sort_key(n),
        others | _words(chance),
        not ahead,
    )
