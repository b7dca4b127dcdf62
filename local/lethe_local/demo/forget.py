"""The last act: a user asks to be forgotten. What was known is gone, the proof is checked, and she may come back.

The deleting is the shipped state machine's, run by the laptop's interpreter; the check of the receipt is the client's,
which has nothing but the document and the public key.
"""

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass

from lethe_client import ErasedError, Erasure, JsonObject, JsonValue, Lethe, NotFoundError, StillErasingError
from lethe_client.receipts import PublicKey, check_receipt, read_public_key
from lethe_local.demo.content import Conversation
from lethe_local.demo.play import Played
from lethe_local.demo.screen import Screen
from lethe_local.demo.stores import Stores, texts_in
from lethe_local.demo.walls import refused

NEW_STATEMENT = "Hello again, I would like to start over without my old notes."
WAIT_SECONDS = 180.0
FILE_SECONDS = 120.0
UNIQUE_FROM = 20
"""Characters from which nobody else says the same."""


@dataclass(frozen=True, slots=True)
class Callers:
    """Who takes part: the agent, whose key reads and writes, and the desk, whose key erases and governs."""

    agent: Lethe
    desk: Lethe


def telling_texts(conversation: Conversation) -> list[str]:
    """What was said or asked in the conversation and is long enough to be searched for in the stores."""
    return sorted(conversation.texts(UNIQUE_FROM))


def forget(callers: Callers, leaving: Played, staying: Played, stores: Stores, screen: Screen) -> Erasure | None:
    """Erase everything about one user, look at what readers and writers meet, wait for the end; None without one."""
    person, texts = leaving.conversation, telling_texts(leaving.conversation)
    kept = sorted(memory.id for memory in callers.agent.memories.list(user_id=staying.conversation.user_id))
    screen.check(
        f"before: the rows of the tables hold all {len(texts)} texts of {person.name}'s conversations",
        stores.in_tables(texts) == len(texts),
    )
    started = time.perf_counter()
    begun = callers.desk.subjects.erase(person.user_id)
    screen.say(
        f"DELETE /v1/subjects/{person.user_id}: {begun.id} is {begun.state} after "
        f"{1000 * (time.perf_counter() - started):.0f} ms; the deleting goes on by itself."
    )
    _meet_nothing(callers.agent, leaving, screen)
    try:
        ended = callers.desk.erasures.wait(begun.id, WAIT_SECONDS)
    except StillErasingError as error:
        screen.check(f"the state machine comes to its end, but: {error}", False)
        return None
    _show_steps(ended, screen)
    found = sorted(memory.id for memory in callers.agent.memories.list(user_id=staying.conversation.user_id))
    screen.check(
        f"{staying.conversation.name}'s {len(kept)} memories are the same as before", bool(kept) and found == kept
    )
    return ended


def _meet_nothing(agent: Lethe, leaving: Played, screen: Screen) -> None:
    """Whatever is asked or written now is refused, while most of it still waits to be deleted."""
    person = leaving.conversation
    user_id, query = person.user_id, person.questions[0].query
    memory_id = next(result.memory.id for _, result in leaving.results if result.memory is not None)
    gone: tuple[tuple[str, Callable[[], object]], ...] = (
        ("recall finds nothing: 404", lambda: agent.recall(query, user_id=user_id)),
        ("a memory by its id: 404", lambda: agent.memories.get(memory_id, user_id=user_id)),
        ("a session by its id: 404", lambda: agent.sessions.window(person.sessions[0].id, user_id=user_id)),
        ("a confirmed fact: 404", lambda: agent.entities.get(person.facts[0].key, user_id=user_id)),
    )
    for claim, attempt in gone:
        refused(claim, NotFoundError, attempt, screen)
    refused(
        "an agent that did not hear of it writes on, and is refused: 410",
        ErasedError,
        lambda: agent.memories.add(NEW_STATEMENT, user_id=user_id),
        screen,
    )


def _show_steps(erasure: Erasure, screen: Screen) -> None:
    rows = [(step.name, str(step.found), str(step.deleted), step.state) for step in erasure.steps]
    screen.table(("step", "found", "deleted", "state"), rows)
    screen.check(
        f"the state machine of the template ran to its end: {erasure.state}"
        + (f" ({erasure.failure})" if erasure.failure else ""),
        erasure.state == "completed" and all(step.state == "done" for step in erasure.steps),
    )
    left = [sum(look.remaining.values()) for look in erasure.verified]
    screen.check(
        f"a verifier that shares no code with what deletes looked {len(left)} times, and found {sum(left)} items",
        len(left) == 2 and sum(left) == 0,
    )


def prove(desk: Lethe, erasure: Erasure, stores: Stores, conversation: Conversation, screen: Screen) -> None:
    """Fetch the receipt, check it offline, show what it promises, and hold it against what the stack really keeps."""
    document = desk.erasures.receipt(erasure.id)
    key = read_public_key(stores.public_key())
    faults = check_receipt(document, key)
    screen.check("the receipt is valid: checked offline, with the public key and nothing else", not faults)
    if faults:
        screen.fields([(fault.name, fault.where) for fault in faults])
        return
    receipt = _object(document["receipt"])
    _catch_a_forger(document, key, screen)
    said = "\n".join(texts_in(document))
    texts = telling_texts(conversation)
    screen.check(
        "the receipt itself holds no word of the conversations, and no user id",
        not any(text in said for text in (*texts, conversation.user_id, conversation.name)),
    )
    _show_promises(receipt, screen)
    screen.check(f"the rows of the tables hold none of the {len(texts)} texts", stores.in_tables(texts) == 0)
    _look_into_files(receipt, stores, texts, screen)


def _catch_a_forger(document: JsonObject, key: PublicKey, screen: Screen) -> None:
    forged = copy.deepcopy(document)
    counts = _object(_object(_object(forged["receipt"])["counts"])["memories"])
    counts["found"] = counts["deleted"] = 1
    faults = {fault.name for fault in check_receipt(forged, key)}
    screen.check("a copy with one count changed is refused", "wrong_hash" in faults)


def _show_promises(receipt: JsonObject, screen: Screen) -> None:
    promises = _object(receipt["promises"])
    without = promises["without_date"]
    screen.fields(
        (
            ("receipt", f"{receipt['id']}, number {receipt['n']} of tenant {receipt['tenant']}"),
            ("not retrievable since", str(promises["not_retrievable_since"])),
            ("content gone by", str(promises["content_gone_by"] or "no date")),
            ("last id gone by", str(promises["physically_gone_by"] or "no date")),
            ("no date for", ", ".join(map(str, without)) if isinstance(without, list) and without else "nothing"),
        )
    )
    screen.say("What may still be somewhere, and until when, as the receipt says:")
    screen.fields(
        [
            (str(each["surface"]), f"{each['carries']}, until {each['until'] or 'nobody knows when'}: {each['what']}")
            for each in _residuals(receipt)
        ]
    )


def _look_into_files(receipt: JsonObject, stores: Stores, texts: list[str], screen: Screen) -> None:
    """Search the files byte by byte. What is still there must be named by the receipt; what has a date must go."""
    named = {str(each["surface"]): each["until"] for each in _residuals(receipt) if each["carries"] == "content"}
    found = stores.in_files(texts)
    deadline = time.monotonic() + FILE_SECONDS
    while any(named.get(str(each.surface)) for each in found) and time.monotonic() < deadline:
        time.sleep(0.5)  # a file that is written anew by itself
        found = stores.in_files(texts)
    for each in found:
        until = named.get(str(each.surface)) or "no date, deleted but not overwritten"
        screen.say(f"{each.name}: {each.texts} of {len(texts)} texts, as the receipt says of {each.surface}: {until}")
    if found:
        claim = "every file that still holds some of the texts is of a kind that the receipt names"
    else:
        claim = f"no file of the stack holds any of the {len(texts)} texts, byte by byte"
    dated = [each for each in found if named.get(str(each.surface))]
    screen.check(claim, all(each.surface in named for each in found) and not dated)


def return_empty(callers: Callers, conversation: Conversation, screen: Screen) -> None:
    """The tenant admits the user again; a new memory begins, and knows nothing of the old one."""
    agent, user_id = callers.agent, conversation.user_id
    callers.desk.subjects.admit(user_id)
    screen.say(f"POST /v1/subjects/{user_id}/admit: {conversation.name} may be remembered again.")
    counts = agent.subject(user_id).counts
    screen.check(
        f"she starts empty: {', '.join(f'{number} {name}' for name, number in counts.items())}",
        bool(counts) and not any(counts.values()),
    )
    query = conversation.questions[0].query
    before = agent.recall(query, user_id=user_id, threshold=0)
    screen.check(f"asked “{query}”: {before.outcome}", before.outcome == "nothing_stored" and not before.memories)
    added = agent.memories.add(NEW_STATEMENT, user_id=user_id)
    screen.check(f"a new statement is {added.results[0].event}", added.results[0].event == "stored")
    after = agent.recall(query, user_id=user_id, threshold=0)
    listed = [memory.text for memory in agent.memories.list(user_id=user_id)]
    screen.check(
        "it is all that is listed and all that recall can find",
        listed == [NEW_STATEMENT] and [memory.text for memory in after.memories] == [NEW_STATEMENT],
    )


def _residuals(receipt: JsonObject) -> list[JsonObject]:
    surfaces = receipt["residuals"]
    return [_object(each) for each in surfaces] if isinstance(surfaces, list) else []


def _object(value: JsonValue) -> JsonObject:
    assert isinstance(value, dict)  # the receipt is valid
    return value
