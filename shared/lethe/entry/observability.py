"""One log line and the metrics of each request; never content, ids of users, or paths that could hold either."""

from __future__ import annotations

from typing import Protocol

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit


class Observer(Protocol):
    """Told of every answer and every fault."""

    def served(self, route: str, request_id: str, status: int, seconds: float) -> None:
        """An answer went out."""
        ...

    def failed(self, route: str, request_id: str, error: BaseException) -> None:
        """Something of ours, or that we rest on, failed."""
        ...


class PowertoolsIndexObserver:
    """The same log and metrics, for batches."""

    def __init__(self) -> None:
        self._logger = Logger(service="lethe-index")
        self._metrics = EphemeralMetrics(namespace="Lethe", service="lethe-index")

    def indexed(self, applied: int, again: int, dead: int, lag_seconds: float) -> None:
        """A batch was worked on; ``lag_seconds`` is the age of its oldest record."""
        self._logger.info("indexed", applied=applied, again=again, dead=dead, lag_seconds=round(lag_seconds, 3))
        self._metrics.add_metric("IndexApplied", MetricUnit.Count, applied)
        self._metrics.add_metric("IndexAgain", MetricUnit.Count, again)
        self._metrics.add_metric("IndexDead", MetricUnit.Count, dead)
        self._metrics.add_metric("IndexLag", MetricUnit.Seconds, lag_seconds)
        self._metrics.flush_metrics()

    def away(self, error: BaseException) -> None:
        """The index or the table did not answer; the batch comes again."""
        self._logger.warning("away", error=type(error).__name__)
        self._metrics.add_metric("IndexAway", MetricUnit.Count, 1)
        self._metrics.flush_metrics()


class PowertoolsEraseObserver:
    """The same log and metrics, for the tasks of an erasure."""

    def __init__(self) -> None:
        self._logger = Logger(service="lethe-erase")
        self._metrics = EphemeralMetrics(namespace="Lethe", service="lethe-erase")

    def worked(self, task: str, done: bool, seconds: float) -> None:
        """A stretch of a task ended."""
        milliseconds = round(seconds * 1000, 2)
        self._logger.info("worked", task=task, done=done, milliseconds=milliseconds)
        self._metrics.add_dimension("task", task)
        self._metrics.add_metric("EraseLatency", MetricUnit.Milliseconds, milliseconds)
        self._metrics.flush_metrics()

    def failed(self, task: str, error: BaseException) -> None:
        """It raised: the kind alone, since a text could hold content."""
        self._logger.error("failed", task=task, error=type(error).__name__)
        self._metrics.add_dimension("task", task)
        self._metrics.add_metric("EraseErrors", MetricUnit.Count, 1)
        self._metrics.flush_metrics()


class IndexObserver(Protocol):
    """Told of every batch of the index's stream."""

    def indexed(self, applied: int, again: int, dead: int, lag_seconds: float) -> None:
        """A batch was worked on; ``lag_seconds`` is the age of its oldest record."""
        ...

    def away(self, error: BaseException) -> None:
        """The index, the table or the queue did not answer; the batch comes again."""
        ...


class PowertoolsObserver:
    """Structured logs and embedded metrics for CloudWatch. Dimensions are few: one per route, none per tenant."""

    def __init__(self, function: str) -> None:
        self._logger = Logger(service=f"lethe-{function}")
        # Ephemeral: several containers may share a process on a laptop, and Metrics keeps its state in the class.
        self._metrics = EphemeralMetrics(namespace="Lethe", service=f"lethe-{function}")

    def served(self, route: str, request_id: str, status: int, seconds: float) -> None:
        """An answer went out."""
        milliseconds = round(seconds * 1000, 2)
        self._logger.info("served", route=route, request_id=request_id, status=status, milliseconds=milliseconds)
        self._metrics.add_dimension("route", route)
        self._metrics.add_metric("Latency", MetricUnit.Milliseconds, milliseconds)
        self._metrics.add_metric("Errors" if status >= 500 else "Answers", MetricUnit.Count, 1)
        self._metrics.flush_metrics()

    def failed(self, route: str, request_id: str, error: BaseException) -> None:
        """Names the kind of the fault and where it was raised; its text could hold content and is left out."""
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        place = f"{where.tb_frame.f_code.co_qualname}:{where.tb_lineno}" if where is not None else "unknown"
        self._logger.error("failed", route=route, request_id=request_id, error=type(error).__name__, place=place)
