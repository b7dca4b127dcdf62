"""Which tiers a recall reads, and why (requirement R1)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from lethe.domain.immutable import immutable
from lethe.domain.small_talk import is_small_talk


class Tier(StrEnum):
    """A kind of memory that recall can read."""

    SESSION = "session"
    ENTITIES = "entities"
    MEMORIES = "memories"


@immutable
class Route:
    """The tiers to read, and the reason code of each tier, read or not."""

    tiers: tuple[Tier, ...]
    reasons: dict[str, str]

    def reads(self, tier: Tier) -> bool:
        """Whether ``tier`` is read."""
        return tier in self.tiers


def route(query: str, requested: Sequence[Tier] | None, session_id: str | None, threshold: float) -> Route:
    """The caller's choice where it made one; else every tier that this request can use.

    Small talk asks memories nothing, unless a ``threshold`` of 0 asks for the best whatever they are worth.
    """
    reasons: dict[str, str] = {}
    for tier in Tier:
        if requested is not None:
            reasons[tier] = "requested" if tier in requested else "not_requested"
        else:
            reasons[tier] = _own_reason(tier, query, session_id, threshold)
    if session_id is None and reasons[Tier.SESSION] == "requested":
        reasons[Tier.SESSION] = "no_session_named"
    read = ("requested", "session_named", "confirmed_facts", "asks_for_content", "asks_for_the_best")
    return Route(tuple(tier for tier in Tier if reasons[tier] in read), reasons)


def _own_reason(tier: Tier, query: str, session_id: str | None, threshold: float) -> str:
    if tier is Tier.SESSION:
        return "session_named" if session_id is not None else "no_session_named"
    if tier is Tier.ENTITIES:
        return "confirmed_facts"
    if not is_small_talk(query):
        return "asks_for_content"
    return "small_talk" if threshold > 0 else "asks_for_the_best"
