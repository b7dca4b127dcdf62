"""Notes what it was told; fails as `fail` says."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lethe.domain.json_values import JsonValue
from lethe.ports import Clock
from lethe_local.functions import Event, Handler, LambdaContext

told: list[Event] = []
fail: list[Callable[[Event], JsonValue]] = []


def build(environment: Mapping[str, str], clock: Clock) -> Handler:
    def handler(event: Event, context: LambdaContext) -> JsonValue:
        told.append(event)
        return fail[0](event) if fail else {"batchItemFailures": []}

    return handler


def lambda_handler(event: Event, context: LambdaContext) -> JsonValue:
    raise NotImplementedError
