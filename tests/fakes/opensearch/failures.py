"""The two ways in which the strict OpenSearch says no."""

from __future__ import annotations

from lethe.domain.json_values import JsonValue

Json = dict[str, JsonValue]


class NotInTheContract(AssertionError):
    """A request that Lethe has no business to send: a form that the fake does not speak, or one that a flavour may
    ignore silently. It is no answer of a cluster, so no code may catch it.
    """


class Refusal(Exception):
    """What a cluster answers with a status of its own."""

    def __init__(self, status: int, kind: str, reason: str, cause: Json | None = None) -> None:
        super().__init__(kind)
        self.status = status
        self.kind = kind
        self.reason = reason
        self.cause = cause

    @property
    def error(self) -> Json:
        """The error alone, as items of a bulk and of a multi-search carry it."""
        error: Json = {"type": self.kind, "reason": self.reason}
        return error | {"caused_by": self.cause} if self.cause is not None else error

    @property
    def body(self) -> Json:
        """The body of an answer."""
        root: Json = {"type": self.kind, "reason": self.reason}
        return {"error": {"root_cause": [root], **self.error}, "status": self.status}


def no_such_index(name: str) -> Refusal:
    """404 for an index or alias."""
    return Refusal(404, "index_not_found_exception", f"no such index [{name}]")


def no_query(reason: str, kind: str = "illegal_argument_exception") -> Refusal:
    """What a shard says to a query that it cannot make."""
    whole = f"failed to create query: {reason}"
    cause: Json = {"type": "query_shard_exception", "reason": whole, "caused_by": {"type": kind, "reason": reason}}
    return Refusal(400, "search_phase_execution_exception", "all shards failed", cause)


def allowed(what: str, given: Json, *names: str) -> None:
    """Raises NotInTheContract when ``given`` has other keys than ``names``."""
    others = sorted(set(given) - set(names))
    if others:
        raise NotInTheContract(f"{what} has {others}, which Lethe does not send")
