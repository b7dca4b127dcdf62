"""The one place where DynamoDB's failures become Lethe's, and where conflicts are tried again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar, cast

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

from lethe.errors import LetheError, Throttled, Unavailable

Result = TypeVar("Result")

Item: TypeAlias = "dict[str, dict[str, Any]]"
"""An item as DynamoDB writes it: attribute name to a type letter and its value."""

ATTEMPTS = 40
"""How often a write that met another one is tried before the caller hears of it: some four seconds in all, through
which eight writers that each want the same item get (``tests/contract/test_storage_races.py``).
"""

_FIRST_WAIT, _LONGEST_WAIT = 0.01, 0.2

_THROTTLED = frozenset(
    (
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "ThrottlingError",  # the last two are reasons of a cancelled transaction
        "ProvisionedThroughputExceeded",
    )
)
_CONFLICTS = frozenset(("TransactionConflict", "TransactionConflictException", "TransactionInProgressException"))
_CONDITION = frozenset(("ConditionalCheckFailed", "ConditionalCheckFailedException"))
# A refused request of ours is a defect; everything else that is no answer means that the store cannot be used now.
_OUR_FAULT = frozenset(("ValidationException", "ValidationError", "SerializationException"))


class WriteConflict(Exception):
    """Another write was at one of the items at the same moment; trying again helps."""


class ConditionFailed(Exception):
    """Conditions did not hold. ``found`` has one entry an operation: None where the condition held, else the item
    that stands there ({} when there is none, or when the operation did not ask for it).
    """

    def __init__(self, found: list[Item | None]) -> None:
        super().__init__("a condition did not hold")
        self.found = found


@contextmanager
def translated() -> Iterator[None]:
    """Raises Throttled, Unavailable, WriteConflict or ConditionFailed in place of botocore's exceptions.

    No text of the vendor is passed on, since it may quote what was sent; its error code stands in the note.
    """
    try:
        yield
    except ClientError as error:
        raise _of_answer(error) from error
    except (BotoCoreError, HTTPClientError) as error:
        raise _noted(Unavailable("the store does not answer"), type(error).__name__) from error


def _of_answer(error: ClientError) -> Exception:
    response = cast("dict[str, Any]", error.response)
    code = str(response.get("Error", {}).get("Code", ""))
    reasons = cast("list[dict[str, Any]]", response.get("CancellationReasons", []))
    codes = {code, *(str(reason.get("Code")) for reason in reasons)}
    if codes & _CONDITION:
        found = [reason.get("Item", {}) if reason.get("Code") in _CONDITION else None for reason in reasons]
        return ConditionFailed(found or [response.get("Item", {})])
    if codes & _CONFLICTS:
        return WriteConflict()
    return _noted(_refusal(codes), ", ".join(sorted(codes - {"None", ""})))


def _refusal(codes: set[str]) -> LetheError:
    if codes & _THROTTLED:
        return Throttled("the store takes no more requests now")
    return LetheError() if codes & _OUR_FAULT else Unavailable("the store cannot be used")


def _noted(error: LetheError, code: str) -> LetheError:
    error.add_note(f"DynamoDB: {code}")
    return error


def wait(attempt: int, longest: float = _LONGEST_WAIT) -> None:
    """Sleep before another attempt: full jitter, at most ``longest`` seconds (AWS Architecture Blog, "Exponential
    Backoff And Jitter", 2015). ``attempt`` counts from 0.
    """
    time.sleep(random.uniform(0, min(longest, _FIRST_WAIT * 2**attempt)))


def with_retries(write: Callable[[], Result]) -> Result:
    """``write()``, tried again while it meets other writes. Raises Throttled when they do not end."""
    for attempt in range(ATTEMPTS):
        try:
            return write()
        except WriteConflict:
            wait(attempt)
    raise Throttled("too many writes at once to the same place")
