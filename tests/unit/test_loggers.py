"""What tests start may log after the test that started it: never into the output of a test."""

from __future__ import annotations

import logging
import sys

import pytest

from lethe.entry.observability import PowertoolsEraseObserver, PowertoolsIndexObserver, PowertoolsObserver


def test_the_functions_loggers_do_not_hold_the_output_of_a_test(capfd: pytest.CaptureFixture[str]) -> None:
    PowertoolsEraseObserver()
    PowertoolsIndexObserver()
    for function in ("write", "recall", "govern"):
        PowertoolsObserver(function)
    for name in ("erase", "index", "write", "recall", "govern"):
        handlers = logging.getLogger(f"lethe-{name}").handlers
        streams = [handler.stream for handler in handlers if isinstance(handler, logging.StreamHandler)]
        assert streams, name
        assert sys.stdout not in streams, name
