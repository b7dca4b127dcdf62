"""What each kind of OpenSearch can do. Nothing on the data plane tells which one answers, so settings name it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Flavour(StrEnum):
    """Where the index lives: a managed domain (2.19 or later), a Serverless NextGen collection, a node of one's own."""

    MANAGED = "managed"
    SERVERLESS = "serverless"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Abilities:
    """What code must know of a flavour.

    Attributes:
        signing_name: Service name of the SigV4 signature; None where requests are not signed.
        external_versions: Whether a write carries the memory's version, so that an older one is refused.
        routing: Whether a subject's entries are kept together on one shard.
        engine_setting: Whether the mapping names the engine and the index its shards; NextGen refuses both.
        refreshes: Whether a refresh may be asked for.
        refresh_seconds: After how long at most a write shows in searches by itself.
        demands_alias: Whether a bulk request may demand that its index is an alias: then it never makes one.
        merges: Whether its segments can be had written anew, without their deleted entries.
        sleeps: Whether it rests while nobody searches, costs nothing then, and needs long to wake.
    """

    signing_name: str | None
    external_versions: bool
    routing: bool
    engine_setting: bool
    refreshes: bool
    refresh_seconds: int
    demands_alias: bool
    merges: bool
    sleeps: bool = False


ABILITIES: Final = {
    Flavour.MANAGED: Abilities("es", True, True, True, True, 2, True, True),
    # External versions and routing are undocumented there and might be ignored silently: neither is used. The function
    # that writes may not make an index there, so it needs no demand either.
    Flavour.SERVERLESS: Abilities("aoss", False, False, False, False, 10, False, False, sleeps=True),
    Flavour.LOCAL: Abilities(None, True, True, True, True, 2, True, True),
}
