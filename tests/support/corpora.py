"""Random memories and questions about them, the same for the same seed; of a vocabulary made for it."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Final

from lethe.domain.json_values import JsonObject
from lethe.domain.memory import MemoryFilter, MemoryKind, MemoryStatus, Origin, Source
from tests.support.search_worlds import embedded

_PEOPLE: Final = ("Ana", "Ben", "Mira", "Tobias", "小花", "志明")
_VERBS: Final = ("plays", "sold", "painted", "forgets", "carried", "is learning", "will repair", "never liked")
_THINGS: Final = tuple(
    """the cello|a red kayak|old maps|her bicycle|three lemons|the greenhouse|a letter from Oslo|his running shoes
    the piano lessons|café windows|1,200 stamps|a 12-string guitar|the neighbour's ladder""".replace("\n", "|").split(
        "|"
    )
)
_WHEN: Final = ("", " on Sunday", " in March 2024", " before the storm", " at 7:30", " with the choir", " on May 3rd")
_CHINESE: Final = ("喜欢", "买了", "忘记了", "在学", "讨厌", "修好了")
_CHINESE_THINGS: Final = ("红茶", "钢琴", "一辆旧自行车", "山里的房子", "西湖边的画", "三本书", "他的跑步鞋")
_CONTEXTS: Final = (None, "What did you do all weekend in the garden?", "你周末做了什么呢，去了哪里玩？", "Yes.")
_METADATA: Final[tuple[JsonObject, ...]] = (
    {},
    {"room": 1},
    {"room": 1.0},
    {"room": True},
    {"room": "1", "tags": ["a", 2]},
)
_DAY: Final = timedelta(days=1)


def sentence(chance: random.Random) -> str:
    """One statement, English or Chinese."""
    person = chance.choice(_PEOPLE)
    if chance.random() < 0.3:
        return f"{person}{chance.choice(_CHINESE)}{chance.choice(_CHINESE_THINGS)}。"
    return f"{person} {chance.choice(_VERBS)} {chance.choice(_THINGS).strip()}{chance.choice(_WHEN)}."


def question(chance: random.Random) -> str:
    """One question, at times about nothing that anybody said."""
    return chance.choice(
        (
            f"What does {chance.choice(_PEOPLE)} play?",
            f"Who {chance.choice(_VERBS)} {chance.choice(_THINGS).strip()}?",
            f"{chance.choice(_PEOPLE)}喜欢{chance.choice(_CHINESE_THINGS)}吗？",
            f"What happened{chance.choice(_WHEN)}?",
            "What is the capital of the moon?",
            sentence(chance),
        )
    )


def fields(chance: random.Random, text: str, now: datetime) -> dict[str, object]:
    """What may differ between memories, around ``now``."""
    valid_from = now + chance.randint(-3, 1) * _DAY
    found: dict[str, object] = {
        "kind": chance.choice(list(MemoryKind)),
        "status": chance.choices(list(MemoryStatus), (8, 1, 1, 1))[0],
        "source": Source("key_1", chance.choice(list(Origin)), chance.choice((None, "s-1", "s-2"))),
        "speaker": chance.choice((None, "Ana", "Ben", "assistant")),
        "context": chance.choice(_CONTEXTS),
        "created_at": now + timedelta(microseconds=chance.randint(-2, 2)),
        "occurred_at": now - chance.randint(0, 900) * _DAY,
        "valid_from": valid_from,
        "valid_until": chance.choice((None, None, None, valid_from + chance.randint(1, 4) * _DAY)),
        "metadata": chance.choice(_METADATA),
    }
    share = chance.random()
    if share < 0.15:
        found["embedding"] = None
    elif share < 0.25:
        found["embedding"] = embedded(text, "other/model@1")
    return found


def filters(chance: random.Random, now: datetime) -> MemoryFilter:
    """A filter: mostly the usual one, at times with any field set."""
    if chance.random() < 0.4:
        return MemoryFilter()

    return MemoryFilter(
        kinds=tuple(chance.sample(list(MemoryKind), 4)) if chance.random() < 0.2 else (),
        statuses=tuple(chance.sample(list(MemoryStatus), chance.randint(0, 4))),
        origins=tuple(chance.sample(list(Origin), 3)) if chance.random() < 0.2 else (),
        session_id="s-1" if chance.random() < 0.1 else None,
        created_after=now - timedelta(microseconds=1) if chance.random() < 0.2 else None,
        created_before=now + timedelta(microseconds=1) if chance.random() < 0.2 else None,
        valid_at=now + chance.randint(-2, 2) * _DAY if chance.random() < 0.2 else None,
        metadata=chance.choice(_METADATA) if chance.random() < 0.2 else {},
    )
