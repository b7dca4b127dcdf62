"""The template's schedules: each function at once, and then as often as its rule says, in real time."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping, Sequence

from lethe_local.functions import FunctionFailed, FunctionLate, LocalFunction
from lethe_local.workflows import ScheduleResource

_STOP_SECONDS = 10.0
_log = logging.getLogger("lethe_local.schedules")


class Schedules:
    """Running schedules, from ``start`` to ``stop``."""

    def __init__(self, schedules: Sequence[ScheduleResource], functions: Mapping[str, LocalFunction]) -> None:
        """``functions`` by logical id."""
        self._functions = functions
        self._schedules = tuple(schedules)
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=(schedule,), name=schedule.logical_id, daemon=True)
            for schedule in self._schedules
        ]

    def start(self) -> None:
        """Begin; the first round comes at once."""
        for thread in self._threads:
            thread.start()

    def tick(self) -> None:
        """A round now, besides those of the clock. Raises FunctionFailed or FunctionLate."""
        for schedule in self._schedules:
            self._invoke(schedule)

    def stop(self) -> None:
        """Begin no further round; one that runs is waited for a while. Again is no error."""
        self._stopping.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_STOP_SECONDS)

    def _repeat(self, schedule: ScheduleResource) -> None:
        while not self._stopping.is_set():
            try:
                self._invoke(schedule)
            except (FunctionFailed, FunctionLate):
                _log.error("%s: a round failed", schedule.logical_id)
            self._stopping.wait(schedule.seconds)

    def _invoke(self, schedule: ScheduleResource) -> None:
        function = self._functions[schedule.function]
        function.invoke(json.loads(schedule.event), function.resource.timeout_seconds)
