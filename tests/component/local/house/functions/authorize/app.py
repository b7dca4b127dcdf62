"""Lets `Bearer open` in and says who it is; `Bearer shut` is refused, `Bearer broken` gets no verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lethe.domain.json_values import JsonValue
from lethe.ports import Clock
from lethe_local.functions import Event, Handler, LambdaContext


def build(environment: Mapping[str, str], clock: Clock) -> Handler:
    def handler(event: Event, context: LambdaContext) -> JsonValue:
        sources = event["identitySource"]
        assert isinstance(sources, Sequence)
        token = str(sources[0]).removeprefix("Bearer ")
        if token == "broken":
            return {"verdict": "yes"}
        return {"isAuthorized": token == "open", "context": {"who": token, "rank": 3, "saw": event}}

    return handler


lambda_handler = None  # the local stack wants it to be there, as Lambda does, and calls build
