"""What the adapters of remote embedding models share: patience, batches, and the check of what comes back.

Failures of one call are values here, not exceptions. A vendor's exception may quote the text that was sent, so
none may stand behind (``__context__``) the exception that leaves an adapter: every ``raise`` below happens outside
an ``except`` block.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from lethe.domain.embedding import EmbeddingModel
from lethe.domain.immutable import immutable
from lethe.errors import LetheError, Throttled, Unavailable

logger = logging.getLogger(__name__)

Purpose = Literal["memory", "query"]
Vectors = NDArray[np.float32]
Answer = TypeVar("Answer")
Result = TypeVar("Result")

_STAND_IN: Final = "."
"""Sent for a blank text: the vendors refuse blank strings, and the port owes a vector for every text."""


class ModelMisconfigured(Unavailable):
    """The model cannot answer until somebody changes a setting: its name, address, key, rights or dimensions."""

    title, retryable = "The embedding model is not set up correctly", False


@immutable
class Failure:
    """Why one call failed: the error for the caller if nothing better follows, and whether another try can help.

    ``retry_after`` is the wait in seconds that the server asked for, None when it named none.
    """

    error: LetheError
    passing: bool
    retry_after: float | None = None


def throttled(model: EmbeddingModel, retry_after: float | None = None) -> Failure:
    """The server wants fewer requests."""
    return Failure(Throttled(f"{model.label}: the model is asked too often"), True, retry_after)


def passing(model: EmbeddingModel, what: str, retry_after: float | None = None) -> Failure:
    """Something that may be over at the next try."""
    return Failure(Unavailable(f"{model.label}: {what}"), True, retry_after)


def refused(model: EmbeddingModel, what: str) -> Failure:
    """A request that would be refused again as it stands."""
    return Failure(Unavailable(f"{model.label}: {what}"), False)


def misconfigured(model: EmbeddingModel, what: str) -> Failure:
    """A request that cannot succeed with these settings."""
    return Failure(ModelMisconfigured(f"{model.label}: {what}"), False)


@immutable
class Patience:
    """How often and how long a model is asked. All times are in seconds.

    A query must leave recall time to answer from the words alone, a bulk write may use most of a Lambda's 29 s.
    The pauses between attempts are "full jitter": uniform between 0 and a doubling cap
    (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
    """

    attempts: int = 3
    query_seconds: float = 12.0
    memory_seconds: float = 20.0
    first_pause: float = 0.1
    longest_pause: float = 2.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random

    def deadline(self, purpose: Purpose) -> Deadline:
        """The end of a piece of work that starts now."""
        seconds = self.query_seconds if purpose == "query" else self.memory_seconds
        return Deadline(self.clock() + seconds, self.clock)

    def pause(self, attempt: int, retry_after: float | None) -> float:
        """Seconds to wait after the failed attempt number ``attempt`` (from 0), never less than the server asks."""
        jittered = self.jitter() * min(self.longest_pause, self.first_pause * 2.0**attempt)
        return max(jittered, retry_after or 0.0)


@immutable
class Deadline:
    """A moment of a monotonic clock."""

    moment: float
    clock: Callable[[], float]

    def remaining(self) -> float:
        """Seconds left, negative when it is over."""
        return self.moment - self.clock()


def persist(
    attempt: Callable[[], Answer | Failure],
    model: EmbeddingModel,
    patience: Patience,
    deadline: Deadline,
    shortest: float,
) -> Answer:
    """Call ``attempt`` until it answers, fails for good, or the attempts or the time run out.

    Args:
        attempt: One call; answers or says why not.
        model: Named in log lines and errors.
        patience: Attempts, pauses, sleeper.
        deadline: No attempt begins unless it can end before.
        shortest: Seconds that one attempt must have.

    Raises:
        Throttled, Unavailable, ModelMisconfigured: The error of the last failure.
    """
    failure = passing(model, "there was no time left to ask")
    for number in range(patience.attempts):
        if deadline.remaining() < shortest:
            break
        answer = attempt()
        if not isinstance(answer, Failure):
            return answer
        failure = answer
        logger.warning("%s (attempt %d of %d)", failure.error.detail, number + 1, patience.attempts)
        if not failure.passing or number + 1 == patience.attempts:
            break
        pause = patience.pause(number, failure.retry_after)
        if deadline.remaining() - pause < shortest:
            break
        patience.sleep(pause)
    raise failure.error


def sendable(text: str, characters: int) -> str:
    """``text`` as every server takes it: not blank, valid Unicode, at most ``characters`` code points."""
    if not text.strip():
        return _STAND_IN
    return text[:characters].encode("utf-8", "replace").decode("utf-8")


def batches(texts: Sequence[str], count: int, characters: int) -> Iterator[list[str]]:
    """Cut ``texts`` in order into lists of at most ``count`` texts and ``characters`` in all (or one text)."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == count or size + len(text) > characters):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def each(work: Sequence[list[str]], call: Callable[[list[str]], Result], workers: int) -> list[Result]:
    """``call`` on every batch, at most ``workers`` at once, results in order; the first error stops the rest.

    The threads end with the call: nothing is left behind for a frozen Lambda to wake up to.
    """
    if len(work) < 2:
        return [call(batch) for batch in work]
    with ThreadPoolExecutor(min(workers, len(work)), "embed") as pool:
        futures = [pool.submit(call, batch) for batch in work]
        done, waiting = wait(futures, return_when=FIRST_EXCEPTION)
        for future in waiting:
            future.cancel()
    failed = next((error for future in done if (error := future.exception()) is not None), None)
    if failed is not None:
        raise failed
    return [future.result() for future in futures]


def unit_vectors(rows: Sequence[Sequence[float] | NDArray[np.float32]], count: int, model: EmbeddingModel) -> Vectors:
    """The answered rows as unit vectors, shape (count, dimensions).

    Raises:
        ModelMisconfigured: The vectors have another length than the settings say.
        Unavailable: Their number is wrong, or one is not finite or all zero.
    """
    if len(rows) != count:
        raise Unavailable(f"{model.label}: the model answered {len(rows)} vectors for {count} texts")
    for row in rows:
        if len(row) != model.dimensions:
            raise ModelMisconfigured(
                f"{model.label}: the model answers vectors of {len(row)} numbers, the settings say "
                f"{model.dimensions}; correct 'dimensions' in the embedder setting"
            )
    matrix = np.asarray(rows, np.float64).reshape(count, model.dimensions)
    if not np.isfinite(matrix).all():
        raise Unavailable(f"{model.label}: the model answered numbers that are not finite")
    # Scaled by the largest number first, so that squares of huge or tiny numbers stay in range.
    peaks = np.abs(matrix).max(axis=1, keepdims=True, initial=0.0)
    if not (peaks > 0).all():
        raise Unavailable(f"{model.label}: the model answered a vector of zeros")
    matrix /= peaks
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix.astype(np.float32)


def stack(parts: Sequence[Vectors], model: EmbeddingModel) -> Vectors:
    """The vectors of all batches below each other; shape (0, dimensions) without any."""
    return np.vstack(parts) if parts else np.empty((0, model.dimensions), np.float32)
