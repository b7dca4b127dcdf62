"""A DynamoDB client that counts its calls, notes when the last deletion ended, and can be as far away as AWS is."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

Call: TypeAlias = "Callable[..., dict[str, object]]"


class CountingClient:
    """Wraps a client. ``delay`` is in seconds, and is slept before each call in the thread that makes it, so that calls
    which go out at once wait together, as they do for a network.
    """

    def __init__(self, client: "DynamoDBClient") -> None:
        self._client = client
        self._lock = threading.Lock()
        self._wrapped: dict[str, Call] = {}
        self.delay = 0.0
        self.calls: Counter[str] = Counter()
        self.last_deletion = 0.0
        self.met_limits = 0

    def as_client(self) -> "DynamoDBClient":
        """Itself, as what it stands in for."""
        return cast("DynamoDBClient", self)

    def reset(self, delay: float) -> None:
        """Count anew, under this delay."""
        self.delay = delay
        self.calls = Counter()
        self.last_deletion = 0.0

    def __getattr__(self, operation: str) -> Call:
        if operation not in self._wrapped:
            self._wrapped[operation] = self._wrap(operation, cast("Call", getattr(self._client, operation)))
        return self._wrapped[operation]

    def _wrap(self, operation: str, real: Call) -> Call:
        def call(**request: object) -> dict[str, object]:
            if self.delay:
                time.sleep(self.delay)
            answer = real(**request)
            with self._lock:
                self.calls[operation] += 1
                if operation == "batch_write_item":
                    self.last_deletion = time.perf_counter()
                    self.met_limits += bool(answer.get("UnprocessedItems"))
            return answer

        return call
