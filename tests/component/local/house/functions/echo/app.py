"""Answers with the event that it got, or does what the query asks it to do."""

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

from lethe.ports import Clock

Handler = Callable[[dict[str, Any], Any], Any]
gate = threading.Event()  # holds back `do=wait` until a test opens it


def build(environment: Mapping[str, str], clock: Clock) -> Handler:
    served = {"requests": 0}

    def handler(event: dict[str, Any], context: Any) -> Any:
        served["requests"] += 1
        wish = event.get("queryStringParameters", {}).get("do", "echo")
        return _WISHES[wish](event, context, environment, clock, served["requests"])

    return handler


def _echo(event: Any, context: Any, environment: Any, clock: Clock, served: int) -> Any:
    body = {
        "event": event,
        "environment": dict(environment),
        "now": clock.now().isoformat(),
        "served": served,
        "remaining": context.get_remaining_time_in_millis(),
        "function": context.function_name,
    }
    return {
        "statusCode": 200,
        "headers": {"Content-Type": "application/json", "X-Made": True},
        "body": json.dumps(body),
    }


def _raise(*_: Any) -> Any:
    raise ValueError("on purpose")


def _wait(*_: Any) -> Any:
    gate.wait(30)
    return {"statusCode": 200, "body": "late"}


_WISHES: dict[str, Callable[..., Any]] = {
    "echo": _echo,
    "raise": _raise,
    "wait": _wait,
    "plain": lambda *_: {"fine": True},
    "status": lambda *_: {"statusCode": "many", "body": "x"},
    "header": lambda *_: {"statusCode": 200, "headers": {"x-a": "1\r\nx-b: 2"}, "body": "x"},
    "nonsense": lambda *_: {"statusCode": 200, "body": "not base64!", "isBase64Encoded": True},
    "huge": lambda *_: {"statusCode": 200, "body": "x" * (7 * 1024 * 1024)},
    "binary": lambda *_: {"statusCode": 200, "body": "AAH/", "isBase64Encoded": True, "cookies": ["a=1", "b=2"]},
    "empty": lambda *_: {"statusCode": 204},
}

lambda_handler = None
