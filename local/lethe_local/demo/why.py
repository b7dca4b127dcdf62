"""Shows what was stored, what was not, and why; and answers "why do you know this" for one memory."""

from lethe_client import Lethe, Memory
from lethe_local.demo.play import Played
from lethe_local.demo.screen import Screen

SAMPLES = 4


def show_what_became(played: Played, screen: Screen) -> None:
    """The count of each outcome, and a sample of each, from the answers to the messages."""
    conversation = played.conversation
    counts = ", ".join(f"{count} {event} ({reason})" for (event, reason), count in played.counts().most_common())
    screen.say(f"{conversation.name}: {conversation.turn_count} turns: {counts}")
    evidence = {line_id for question in conversation.questions for line_id in question.evidence}
    rows: list[tuple[str, str, str, str]] = []
    for event, reason in played.counts():
        lines = [line for line, result in played.results if (result.event, result.reason) == (event, reason)]
        # What the questions will ask for first, else whatever comes first.
        lines.sort(key=lambda line: line.id not in evidence)
        rows.extend((event, reason, f"{line.created_at:%Y-%m-%d}", line.content) for line in lines[:SAMPLES])
    screen.table(("event", "reason", "on", "what was said"), rows)


def check_stored(client: Lethe, played: Played, screen: Screen) -> None:
    """Read all memories back, and check that they are those that were acknowledged and rest on the user alone."""
    conversation = played.conversation
    memories = list(client.memories.list(user_id=conversation.user_id, page_size=200))
    acknowledged = {result.memory.id for _, result in played.results if result.event == "stored" and result.memory}
    screen.check(
        f"all {len(acknowledged)} acknowledged memories of {conversation.name} are listed, and nothing else",
        {memory.id for memory in memories} == acknowledged,
    )
    guesses = {played.message_ids[line] for line in conversation.assistant_guesses}
    screen.check(
        f"none of the assistant's {len(guesses)} guesses about {conversation.name} became a memory",
        not any(guesses.intersection(memory.source.message_ids) for memory in memories),
    )
    screen.check(
        f"no question of {conversation.name} became a memory",
        not any(memory.text.rstrip().endswith(("?", "\uff1f")) for memory in memories),
    )


def show_why(client: Lethe, played: Played, line_id: str, screen: Screen) -> None:
    """Trace one memory back to the message that it came from, read from its session."""
    conversation = played.conversation
    memory = next(
        (result.memory for line, result in played.results if line.id == line_id and result.memory is not None), None
    )
    if memory is None:
        screen.check(f"the message {line_id} was remembered", False)
        return
    read = client.memories.get(memory.id, user_id=conversation.user_id)
    source = _source_text(client, read, conversation.user_id)
    screen.fields(
        (
            ("Why do you know this?", read.text),
            ("said by", f"{read.speaker}, {read.occurred_at:%Y-%m-%d %H:%M} UTC"),
            ("session", read.source.session_id or ""),
            ("message", ", ".join(read.source.message_ids)),
            ("its words", source or "(gone)"),
            ("kept as", f"{read.kind}, {read.status}, confidence {read.confidence:.2f}, version {read.version}"),
            ("written by", f"{read.source.actor} (origin: {read.source.origin})"),
        )
    )
    said = next(line.content for line in conversation.lines if line.id == line_id)
    screen.check("the memory leads back to the very words that were said", source == said)


def _source_text(client: Lethe, memory: Memory, user_id: str) -> str | None:
    if memory.source.session_id is None:
        return None
    messages = client.sessions.messages(memory.source.session_id, user_id=user_id)
    return next((message.content for message in messages if message.id in memory.source.message_ids), None)
