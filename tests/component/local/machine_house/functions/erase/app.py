"""Notes the tasks that it was given, and answers each as `answers` says: by default that it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lethe.domain.json_values import JsonValue
from lethe.ports import Clock
from lethe_local.functions import Event, Handler, LambdaContext

told: list[Event] = []
answers: dict[str, list[Callable[[Event], JsonValue]]] = {}
"""What becomes of a task at its first, second, … time; afterwards it is done at once."""


def build(environment: Mapping[str, str], clock: Clock) -> Handler:
    def handler(event: Event, context: LambdaContext) -> JsonValue:
        told.append(event)
        planned = answers.get(str(event["task"]))
        return planned.pop(0)(event) if planned else {**event, "done": True}

    return handler


def lambda_handler(event: Event, context: LambdaContext) -> JsonValue:
    raise NotImplementedError
