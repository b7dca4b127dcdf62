"""Checks that nothing of what was said reached the functions' log."""

import json
from collections.abc import Sequence

from lethe_local.demo.content import Conversation
from lethe_local.demo.forget import NEW_STATEMENT
from lethe_local.demo.screen import Screen

TELLING_FROM = 12
"""Characters from which a text is telling; "lol" may stand in a log by chance."""


def check_log(log: str, conversations: Sequence[Conversation], screen: Screen) -> None:
    """Look for every message, question and user id in the log, also as JSON escapes them."""
    telling = {NEW_STATEMENT, *(conversation.user_id for conversation in conversations)}
    for conversation in conversations:
        telling |= conversation.texts(TELLING_FROM)
    leaked = [text for text in telling if text in log or json.dumps(text)[1:-1] in log]
    lines = len(log.splitlines())
    screen.check(
        f"the functions logged {lines} lines, and none holds any of {len(telling)} messages, questions and user ids",
        lines > 0 and not leaked,
    )
