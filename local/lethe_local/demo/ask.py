"""Asks in a new session, and checks the context that comes back against the evidence in the data files."""

import time
from dataclasses import dataclass

from lethe_client import Lethe, Memory, RecallResult
from lethe_local.demo.content import Question
from lethe_local.demo.play import Played
from lethe_local.demo.screen import Screen


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, the answer of recall, and how long it took in milliseconds."""

    question: Question
    answer: RecallResult
    milliseconds: float


def ask_all(client: Lethe, played: Played, session_id: str, screen: Screen) -> list[Asked]:
    """Ask each question of the conversation in a session that nothing was said in before."""
    asked: list[Asked] = []
    user_id = played.conversation.user_id
    for question in played.conversation.questions:
        started = time.perf_counter()
        answer = client.recall(question.query, user_id=user_id, session_id=session_id, threshold=question.threshold)
        asked.append(Asked(question, answer, (time.perf_counter() - started) * 1000))
        _show(asked[-1], played, screen)
        # The agent keeps the conversation going; a question must not become a memory.
        client.sessions.append(session_id, [{"role": "user", "content": question.query}], user_id=user_id)
    return asked


def _show(asked: Asked, played: Played, screen: Screen) -> None:
    question, answer = asked.question, asked.answer
    screen.console.print()
    screen.say(f"“{question.query}”", "bold")
    screen.say(f"hard because: {question.hard}", "dim")
    for memory in answer.memories[:1]:
        screen.say(f"best of {len(answer.memories)}: {_described(memory)}")
    if question.expects == "nothing_relevant":
        screen.check(
            f"outcome {answer.outcome}: no memory is passed off as an answer", answer.outcome == question.expects
        )
        return
    ranks = [evidence_rank(answer, played.message_ids[line_id]) for line_id in question.evidence]
    found = [rank for rank in ranks if rank is not None]
    for rank in found:
        if rank > 1:
            screen.say(f"evidence, number {rank}: {_described(answer.memories[rank - 1])}")
    missing = len(ranks) - len(found)
    if missing:
        screen.check(f"“{question.query}”: {missing} of {len(ranks)} pieces of evidence missing", False)
        return
    words = "the evidence is" if len(ranks) == 1 else f"all {len(ranks)} pieces of evidence are"
    screen.check(f"{words} in the context, dated ({asked.milliseconds:.0f} ms)", True)


def evidence_rank(answer: RecallResult, message_id: str) -> int | None:
    """Place (from 1) of the memory made from that message, if it stands in the context with its date."""
    for rank, memory in enumerate(answer.memories, 1):
        if message_id in memory.source.message_ids and _stands_in(memory, answer.context):
            return rank
    return None


def _stands_in(memory: Memory, context: str) -> bool:
    """Whether a line of the context has both the memory's text and its date (UTC).

    Texts are quoted in the context, so quotation marks are compared without their backslashes.
    """
    if memory.occurred_at is None:
        return False
    date = f"{memory.occurred_at:%Y-%m-%d}"
    return any(date in line and memory.text in line.replace('\\"', '"') for line in context.splitlines())


def _described(memory: Memory) -> str:
    said = memory.occurred_at or memory.created_at
    score = "" if memory.score is None else f"{memory.score:.2f}  "
    date = f"{said:%Y-%m-%d}" if said else "-"
    return f"{score}{date}  {memory.text}"
