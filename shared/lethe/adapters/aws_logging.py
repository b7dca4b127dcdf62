"""Keep content out of the AWS SDK's own log lines."""

from __future__ import annotations

import logging


def quiet_botocore() -> None:
    """Hold botocore's logger at the level that it has now, and at INFO at least.

    At DEBUG botocore logs whole request parameters and answers (``botocore.endpoint``, ``botocore.parsers``), that
    is memory text and vectors. Called by every adapter before it makes a client, so that a service run with
    ``LOG_LEVEL=DEBUG`` still logs no content, nor one whose level is lowered while it runs.
    """
    botocore = logging.getLogger("botocore")
    botocore.setLevel(max(logging.INFO, botocore.getEffectiveLevel()))
