"""Sends a conversation turn by turn, as an agent would, and keeps what the service said of each."""

import time
from collections import Counter
from dataclasses import dataclass, field

from lethe_client import AppendResult, Lethe, MemoryResult, MessageInput
from lethe_local.demo.content import Conversation, Line, PastSession
from lethe_local.demo.screen import Bar, Screen


@dataclass(slots=True)
class Played:
    """What became of a conversation.

    Attributes:
        message_ids: the service's id of each message, by the id of its line in the data file.
        results: what became of each candidate, with the line that it came from, in order.
        notices: what the agent may tell the user, by the line that it was told after.
        seconds: how long the sending took.
    """

    conversation: Conversation
    message_ids: dict[str, str] = field(default_factory=dict)
    results: list[tuple[Line, MemoryResult]] = field(default_factory=list)
    notices: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def counts(self) -> Counter[tuple[str, str]]:
        """How many candidates ended in which event for which reason."""
        return Counter((result.event, result.reason) for _, result in self.results)

    def stored(self) -> int:
        """How many were stored."""
        return sum(result.event == "stored" for _, result in self.results)


def play(client: Lethe, conversation: Conversation, screen: Screen) -> Played:
    """Send every turn of every session with the time at which it was said."""
    played = Played(conversation)
    started = time.perf_counter()
    with screen.bar(conversation.turn_count) as bar:
        for session in conversation.sessions:
            _play_session(client, session, played, screen, bar)
    played.seconds = time.perf_counter() - started
    return played


def _play_session(client: Lethe, session: PastSession, played: Played, screen: Screen, bar: Bar) -> None:
    before, started = played.stored(), time.perf_counter()
    for turn in session.turns:
        messages = [_message(line, played.conversation.name) for line in turn]
        answer = client.sessions.append(session.id, messages, user_id=played.conversation.user_id)
        _keep(turn, answer, played)
        bar.advance(f"{session.lines[0].created_at:%Y-%m-%d}")
    seconds, remembered = time.perf_counter() - started, played.stored() - before
    screen.say(
        f"{session.lines[0].created_at:%Y-%m-%d}  {len(session.turns):>2} turns  "
        f"{remembered:>2} remembered  {seconds:4.1f} s  {session.title}"
    )


def _message(line: Line, name: str) -> MessageInput:
    message: MessageInput = {
        "role": line.role,
        "content": line.content,
        "created_at": line.created_at.isoformat(),
        "id": line.id,
    }
    if line.role == "user":
        message["name"] = name
    return message


def _keep(turn: tuple[Line, ...], answer: AppendResult, played: Played) -> None:
    for line, receipt in zip(turn, answer.messages, strict=True):
        played.message_ids[line.id] = receipt.id
    said = [line for line in turn if line.role == "user"]
    played.results.extend((said[0], result) for result in answer.results)
    played.notices[said[0].id] = answer.notice
