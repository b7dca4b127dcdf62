"""Lets `Bearer open` in, tells who it is, and refuses `Bearer shut`."""

from collections.abc import Callable, Mapping
from typing import Any

from lethe.ports import Clock


def build(environment: Mapping[str, str], clock: Clock) -> Callable[[dict[str, Any], object], dict[str, Any]]:
    def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
        token = event["identitySource"][0].removeprefix("Bearer ")
        if token == "broken":
            return {"verdict": "yes"}
        return {"isAuthorized": token == "open", "context": {"who": token, "rank": 3, "event_type": event["type"]}}

    return handler


lambda_handler = None
