"""Answers with the event that it got, or does what the query asks it to do."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lethe.domain.json_values import JsonValue
from lethe.ports import Clock
from lethe_local.functions import Event, Handler, LambdaContext

# `do=wait` waits for `opened`, and says by `entered` that it does.
entered = threading.Event()
opened = threading.Event()


@dataclass(frozen=True)
class Call:
    event: Event
    context: LambdaContext
    environment: Mapping[str, str]
    clock: Clock
    served: int


def build(environment: Mapping[str, str], clock: Clock) -> Handler:
    served = [0]

    def handler(event: Event, context: LambdaContext) -> JsonValue:
        served[0] += 1
        query = event.get("queryStringParameters")
        wish = str(query.get("do", "echo")) if isinstance(query, Mapping) else "echo"
        return _WISHES[wish](Call(event, context, environment, clock, served[0]))

    return handler


def _echo(call: Call) -> JsonValue:
    body = {
        "event": call.event,
        "environment": dict(call.environment),
        "now": call.clock.now().isoformat(),
        "served": call.served,
        "remaining": call.context.get_remaining_time_in_millis(),
        "function": call.context.function_name,
        "memory": call.context.memory_limit_in_mb,
    }
    return {
        "statusCode": 200,
        "headers": {"Content-Type": "application/json", "X-Made": True},
        "body": json.dumps(body),
    }


def _raise(call: Call) -> JsonValue:
    raise ValueError("on purpose")


def _wait(call: Call) -> JsonValue:
    entered.set()
    if not opened.wait(30):
        raise TimeoutError
    return {"statusCode": 200, "body": "late"}


_WISHES: Mapping[str, Callable[[Call], JsonValue]] = {
    "echo": _echo,
    "raise": _raise,
    "wait": _wait,
    "plain": lambda _: {"fine": True},
    "number": lambda _: 7,
    "status": lambda _: {"statusCode": "many", "body": "x"},
    "header": lambda _: {"statusCode": 200, "headers": {"x-a": "1\r\nx-b: 2"}, "body": "x"},
    "nonsense": lambda _: {"statusCode": 200, "body": "not base64!", "isBase64Encoded": True},
    "surrogate": lambda _: {"statusCode": 200, "body": "\ud800"},
    "huge": lambda _: {"statusCode": 200, "body": "x" * (7 * 1024 * 1024)},
    "binary": lambda _: {"statusCode": 200, "body": "AAH/", "isBase64Encoded": True, "cookies": ["a=1", "b=2"]},
    "empty": lambda _: {"statusCode": 204},
    "created": lambda _: {"statusCode": 201, "headers": {"location": "/items/1"}, "body": "über"},
}

lambda_handler = None  # the local stack wants it to be there, as Lambda does, and calls build
