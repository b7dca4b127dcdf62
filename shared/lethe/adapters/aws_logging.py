"""Keep content out of the AWS SDK's own log lines."""

from __future__ import annotations

import logging


def quiet_botocore() -> None:
    """Raise botocore's logger to INFO at least.

    At DEBUG botocore logs whole request parameters and answers (``botocore.endpoint``, ``botocore.parsers``), that
    is memory text and vectors. Called by every adapter before it makes a client, so that a service run with
    ``LOG_LEVEL=DEBUG`` still logs no content.
    """
    botocore = logging.getLogger("botocore")
    if botocore.getEffectiveLevel() < logging.INFO:
        botocore.setLevel(logging.INFO)
