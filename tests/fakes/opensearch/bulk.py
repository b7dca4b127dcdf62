"""Bulk writes, item by item: one that fails stops no other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final, cast

from lethe.adapters.opensearch.flavours import Abilities
from tests.fakes.opensearch.documents import parse
from tests.fakes.opensearch.failures import Json, NotInTheContract, Refusal, allowed, no_such_index
from tests.fakes.opensearch.store import Index

_LONGEST_ID: Final = 512
_UNROUTED: Final = "versions and routing may be ignored silently there"


class Bulk:
    """The items of one bulk body for the index ``name``, which a write never makes."""

    def __init__(
        self,
        name: str,
        indexes: Mapping[str, Index],
        abilities: Abilities,
        failures: Mapping[str, deque[Refusal]],
        seconds: float,
        classic: bool,
    ) -> None:
        self._name = name
        self._indexes = indexes
        self._abilities = abilities
        self._failures = failures
        self._seconds = seconds
        self._classic = classic

    def items(self, lines: list[Json]) -> list[Json]:
        """One result an item. Raises NotInTheContract."""
        remaining = iter(lines)
        return [self._item(line, remaining) for line in remaining]

    def _item(self, line: Json, remaining: Iterator[Json]) -> Json:
        ((kind, value),) = line.items()
        action = cast(Json, value)
        allowed("an action", action, "_id", "routing", "version", "version_type")
        if kind not in ("index", "delete"):
            raise NotInTheContract(f"bulk is of index and delete, not {kind}")
        source = next(remaining) if kind == "index" else None
        named: Json = {"_index": self._name, "_id": action["_id"]}
        try:
            return {kind: named | self._write(action, source)}
        except Refusal as refusal:
            return {kind: named | {"status": refusal.status, "error": refusal.error}}

    def _write(self, action: Json, source: Json | None) -> Json:
        document_id, routing, version = str(action["_id"]), action.get("routing"), action.get("version")
        if len(document_id.encode()) > _LONGEST_ID or not document_id.replace("_", "-").replace("-", "").isalnum():
            raise NotInTheContract("ids are of letters, digits, hyphens and underscores, at most 512 bytes")
        if routing is not None and not self._abilities.routing:
            raise NotInTheContract(_UNROUTED)
        if version is not None and not self._abilities.external_versions:
            raise NotInTheContract(_UNROUTED)
        if (version is None) != (action.get("version_type") is None) or action.get("version_type", "") not in (
            "",
            "external",
        ):
            raise NotInTheContract("a version is an external one")
        if self._classic and source is not None:
            reason = "Document ID is not supported in create/index operation request"
            raise Refusal(400, "illegal_argument_exception", reason)
        if self._failures.get(document_id):
            raise self._failures[document_id].popleft()
        index = self._indexes.get(self._name)
        if index is None:
            raise no_such_index(self._name)
        document = parse(index.mapping, document_id, source) if source is not None else None
        written, existed = index.write(
            document_id, document, cast("str | None", routing), cast("int | None", version), self._seconds
        )
        if document is not None:
            name, status = ("updated", 200) if existed else ("created", 201)
        else:
            name, status = ("deleted", 200) if existed else ("not_found", 404)
        return {"_version": written, "result": name, "status": status}
