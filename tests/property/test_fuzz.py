"""Whatever is sent: a success or a problem document, never a server error, nothing of the inside, nothing lost."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.property.requests import CANARY, Draft, Generator, Known
from tests.support.api import Api, ApiStack, Reply

REQUESTS = 1_000
SEEDS = range(10)

INSIDE = re.compile(
    r"Traceback|pydantic|botocore|boto3|pynamodb|dynamo|arn:aws|lethe_local|lethe\.|site-packages|File \"|KeyError|"
    r"ValidationError|ValueError|TypeError|Exception|SubjectsTable|SessionsTable|EntitiesTable|MemoriesTable|-subjects|"
    r"tenant-\d|0x[0-9a-f]{6}",
    re.IGNORECASE,
)
ALLOWED = re.compile(r"https://lethe\.dev/problems/")


@pytest.fixture(scope="module")
def api_stack(own_stack: ApiStack) -> ApiStack:
    return own_stack


@pytest.fixture(scope="module")
def planted(api_stack: ApiStack) -> tuple[Api, Known, list[bytes]]:
    """Ann's data, and what can be read of it."""
    api = api_stack.tenant().admin
    ids = tuple(api.remember(f"A fact of Ann, number {n}")["id"] for n in range(4))
    for n in range(3):
        api.say(f"s-ann{n or ''}", "A message of Ann", remember=False)
        api.put(f"/v1/entities/e-ann{n or ''}", {"user_id": "ann", "value": [n], "category": "profile"}).ok(201)
    cursors = tuple(
        api.get(path, user_id="ann", limit=1).ok()["next_cursor"]
        for path in ("/v1/memories", "/v1/sessions", "/v1/entities")
    )
    return api, Known(ids, cursors), readable(api)


def readable(api: Api) -> list[bytes]:
    """Everything of Ann, byte for byte."""
    paths = [
        "/v1/memories",
        "/v1/sessions",
        "/v1/entities",
        "/v1/sessions/s-ann/messages",
        "/v1/entities/e-ann/history",
    ]
    replies = [api.get(path, user_id="ann") for path in paths] + [api.get("/v1/subjects/ann")]
    assert all(reply.status == 200 for reply in replies)
    return [reply.raw for reply in replies]


def judge(draft: Draft, reply: Reply) -> str | None:
    """What is wrong with an answer; None when nothing is."""
    if not (200 <= reply.status < 300 or 400 <= reply.status < 500):
        return f"status {reply.status}"
    if reply.status < 300 or draft.method == "HEAD":
        return None
    try:
        reply.check_problem()
    except (AssertionError, KeyError, ValueError) as error:
        return f"no problem document: {error!r}"
    shown = ALLOWED.sub("", reply.text)
    if CANARY in shown:
        return "the answer repeats what was sent"
    found = INSIDE.search(shown)
    return f"the answer speaks of the inside: {found[0]}" if found else None


@pytest.fixture(scope="module")
def statuses() -> Counter[int]:
    """How often each status was answered, over all seeds."""
    return Counter()


@pytest.mark.timeout(900)  # a laptop whose cores are all busy takes minutes
@pytest.mark.parametrize("seed", SEEDS)
def test_a_thousand_spoiled_requests(
    api_stack: ApiStack, planted: tuple[Api, Known, list[bytes]], statuses: Counter[int], seed: int
) -> None:
    ann, known, before = planted
    generator = Generator(seed, known)
    fuzzed = api_stack.tenant()
    callers = [(fuzzed.admin.key or "", f"u-{n}") for n in range(6)]
    callers += [(fuzzed.admin.key or "", "ann"), (fuzzed.api("read", users=["u-1"]).key or "", "u-1")]
    faults: list[str] = []
    for n in range(REQUESTS):
        draft = generator.next(*callers[n % len(callers)])
        reply = api_stack.wire.send(draft.method, draft.target, draft.payload, draft.headers)
        statuses[reply.status] += 1
        wrong = judge(draft, reply)
        if wrong is not None:
            sent = f"{draft.method} {draft.target[:200]} {str(draft.payload)[:600]}"
            faults.append(f"{n}: {wrong}: {sent} -> {reply.text[:300]}")

    assert not faults, "\n".join(faults[:20])
    assert readable(ann) == before


def test_together_they_were_ten_thousand_in_every_way(
    statuses: Counter[int], capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print(f"\n{statuses.total()} spoiled requests, by status: {dict(sorted(statuses.items()))}")

    assert statuses.total() >= 10_000
    assert min(statuses[status] for status in (200, 201, 400, 401, 403, 404, 405, 415, 422)) >= 20
