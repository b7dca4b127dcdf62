"""Words that stand nowhere else, put into every input, and the search for them in everything that a stack leaves."""

from __future__ import annotations

import base64
import gc
import json
import random
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

from tests.support.api import Api, ApiStack

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions.client import SFNClient

_BASE64 = re.compile(rb"eJ[A-Za-z0-9+/]{20,}")
"""How base64 begins of what zlib packs."""
_LETTERS = "bcdfghjklmnpqrstvwxz"

CONTENT, AUTHOR, MESSAGE, NOTED = "content", "author", "message", "noted"
TEXT, CONTEXT, SPEAKER, NAME, VALUE = "text", "context", "speaker", "name", "value"
KEY, FACT, USER, SESSION = "key", "fact", "user", "session"
QUERY, ASKED, ONCE, REASON, BATCH, CHANGED, TOLD = "query", "asked", "once", "reason", "batch", "changed", "told"
KEPT = (CONTENT, AUTHOR, NOTED, TEXT, CONTEXT, SPEAKER, NAME, VALUE, KEY, FACT, SESSION, BATCH, CHANGED, TOLD)
"""What the tables hold as it was sent, while it is there."""


class Canaries:
    """One word for each input. All begin alike, and are kept backwards, so that a search of this process does not
    find them here.
    """

    def __init__(self) -> None:
        chance = random.SystemRandom()
        self._backwards = "".join(chance.choices(_LETTERS, k=12))

    @property
    def mark(self) -> str:
        """What every word begins with."""
        return self._backwards[::-1]

    def __getitem__(self, name: str) -> str:
        return self.mark + name

    def of(self, names: Iterable[str], text: str) -> set[str]:
        """Those of ``names`` whose words are in ``text``."""
        found = set()
        for name in names:
            if self[name] in text:
                found.add(name)
        return found


def tell_everything(api: Api, words: Canaries) -> dict[str, str]:
    """Every input of a user, session and memory, each with its word; the ids of memories by what made them."""
    user, session = words[USER], words[SESSION]
    message = {
        "role": "user",
        "content": f"I keep a {words[CONTENT]} in Bergen",
        "name": words[AUTHOR],
        "id": words[MESSAGE],
        "metadata": {words[NAME]: words[NOTED]},
    }
    once = {"idempotency_key": words[ONCE]}
    said = {"user_id": user, "messages": [message]}
    api.post(f"/v1/sessions/{session}/messages", said).ok(201)
    memory = {
        "user_id": user,
        "text": f"My {words[TEXT]} is called Ada",
        "context": f"about the {words[CONTEXT]}",
        "speaker": words[SPEAKER],
        "metadata": {words[NAME]: words[VALUE]},
    }
    made = api.post("/v1/memories", {**memory, "session_id": session}, **once).ok(201)
    again = api.post("/v1/memories", {**memory, "session_id": session}, **once)
    assert again.headers["idempotency-replayed"] == "true"
    first = made["results"][0]["memory"]
    told = api.remember(f"The {words[TOLD]} sings at night", user)
    changed = {"user_id": user, "version": told["version"], "text": f"The {words[CHANGED]} sings at noon"}
    api.patch(f"/v1/memories/{told['id']}", changed).ok()
    items = [{"text": f"A {words[BATCH]} number {number}"} for number in range(3)]
    api.post("/v1/memories/batch", {"user_id": user, "items": items}).ok()
    fact = {"user_id": user, "value": {words[KEY]: words[FACT]}, "category": "profile"}
    api.put(f"/v1/entities/{words[KEY]}", fact).ok(201)
    api.put(f"/v1/entities/{words[KEY]}", {**fact, "session_id": session}).ok(201)
    ask_everything(api, words)
    return {"in session": first["id"], "beside": told["id"]}


def ask_everything(api: Api, words: Canaries) -> None:
    """Every question, so that whatever remembers answers or questions does."""
    user, session = words[USER], words[SESSION]
    query = f"Where is the {words[QUERY]} of {words[TEXT]}?"
    api.post("/v1/memories/search", {"user_id": user, "query": query, "threshold": 0, "explain": True}).ok()
    asked = {"user_id": user, "query": f"What of the {words[ASKED]}?", "session_id": session, "threshold": 0}
    api.post("/v1/recall", asked | {"explain": True}).ok()
    api.get("/v1/memories", user_id=user, session_id=session).ok()
    api.get("/v1/entities", user_id=user, path=f"$.{words[KEY]}", equals=json.dumps(words[FACT])).ok()
    api.get(f"/v1/sessions/{session}/messages", user_id=user).ok()
    api.get(f"/v1/subjects/{user}").ok()
    api.get("/v1/sessions", user_id=user, cursor=words[QUERY]).problem(400, "invalid_cursor")
    api.post("/v1/memories", {"user_id": user, "text": words[TEXT], "kind": words[VALUE]}).problem(422, "invalid")


def stored(stack: ApiStack) -> str:
    """Every item of every table, as text."""
    return "\n".join(json.dumps(item, default=_readable) for item in stack.everything_stored())


def answers(stack: ApiStack) -> str:
    """The stored answers of requests with a key, as text."""
    items = (item for item in stack.everything_stored() if "body" in item and "parts" in item)
    return "\n".join(json.dumps(item, default=_readable) for item in items).replace("\\", "")


def _readable(value: object) -> str:
    """Bytes unpacked, as those of stored answers are, and as they are, so that a word in them is seen."""
    return str(value) if not isinstance(value, bytes) else (value + b"".join(_unpacked(value))).decode("latin-1")


def _unpacked(content: bytes) -> Iterator[bytes]:
    """What unfolds from every place where something packed by zlib may begin, bare or in base64 as a file has it."""
    packed = [content[found.start() :] for found in re.finditer(rb"\x78\x9c", content)]
    packed += [base64.b64decode(found[0][: len(found[0]) // 4 * 4]) for found in _BASE64.finditer(content)]
    for each in packed:
        with suppress(zlib.error):
            yield zlib.decompressobj().decompress(each, 1_000_000)


def executions(stack: ApiStack) -> str:
    """Inputs, outputs and histories of all executions of the state machine."""
    environment = stack.local.environment
    client: SFNClient = boto3.client(
        "stepfunctions",
        endpoint_url=environment["LETHE_STEP_FUNCTIONS_ENDPOINT"],
        region_name="us-east-1",
        aws_access_key_id="-",
        aws_secret_access_key="-",
    )
    machine = environment["LETHE_STATE_MACHINE_ARN"]
    found: list[Any] = []
    for each in client.list_executions(stateMachineArn=machine)["executions"]:
        found.append(client.describe_execution(executionArn=each["executionArn"]))
        found.append(client.get_execution_history(executionArn=each["executionArn"])["events"])
    client.close()
    return json.dumps(found, default=str)


def in_memory(mark: str) -> list[str]:
    """Objects of this process that hold a text with ``mark``, by their type and what else they hold."""
    gc.collect()
    raw = mark.encode()
    found: list[str] = []
    for holder in gc.get_objects():
        for held in gc.get_referents(holder):
            if (type(held) is str and mark in held) or (type(held) in (bytes, bytearray) and raw in held):
                found.append(_described(holder))
                break
    return found


def _described(holder: object) -> str:
    names = sorted(map(str, holder))[:6] if isinstance(holder, Mapping) else ()
    return f"{type(holder).__module__}.{type(holder).__qualname__} {' '.join(names)}"[:160]


def files_with(mark: str, folder: Path) -> dict[str, int]:
    """How often ``mark`` stands in each file below ``folder``, in UTF-8 or UTF-16, for those in which it does."""
    found: dict[str, int] = {}
    for path in _files(folder):
        content = path.read_bytes()
        content += b"".join(_unpacked(content))
        count = content.count(mark.encode()) + content.count(mark.encode("utf-16-le"))
        if count:
            found[str(path.relative_to(folder))] = count
    return found


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def compact(database: Path) -> None:
    """Rewrite dynoxide's file without its free pages, and empty its log; nobody else may have it open."""
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def none_of(mark: str, texts: Iterable[str]) -> list[str]:
    """Lines with ``mark``."""
    return [line[:300] for text in texts for line in text.splitlines() if mark in line]
