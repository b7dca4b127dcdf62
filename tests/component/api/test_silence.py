"""Memory text, queries, user ids and keys never reach a log, at any level, whatever happens to the request."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.api import Api, ApiStack, TenantOnStack

TEXT, QUERY, USER, NAME, VALUE = "zqx-text", "zqx-query", "zqx-user", "zqx-speaker", "zqx-value"
CANARIES = (TEXT, QUERY, USER, NAME, VALUE)


@contextmanager
def listening(capfd: pytest.CaptureFixture[str]) -> Iterator[list[str]]:
    """What is logged at DEBUG or written to the process's outputs in the block; the list is filled at its end.

    Loggers that the product holds at a level of its own stay there: that is what is tested.
    """
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s %(args)s"))
    own = [name for name in logging.root.manager.loggerDict if name.startswith("lethe")]
    lowered = [logging.getLogger(), *map(logging.getLogger, own)]
    levels = [logger.level for logger in lowered]
    for logger in lowered:
        logger.setLevel(logging.DEBUG)
    logging.getLogger().addHandler(handler)
    capfd.readouterr()
    heard: list[str] = []
    try:
        yield heard
    finally:
        logging.getLogger().removeHandler(handler)
        for logger, level in zip(lowered, levels, strict=True):
            logger.setLevel(level)
        out = capfd.readouterr()
        heard += [stream.getvalue(), out.out, out.err]


def walk(api: Api) -> None:
    """Every route, well and badly used."""
    memory = api.remember(TEXT, USER, speaker=NAME, metadata={"v": VALUE}, context=f"{VALUE} before")
    path = f"/v1/memories/{memory['id']}"
    api.post("/v1/memories", {"user_id": USER, "text": TEXT, "kind": VALUE}).problem(422, "invalid")
    api.post("/v1/memories", f'{{"user_id": "{USER}", "text": "{TEXT}'.encode()).problem(400, "invalid_json")
    api.post("/v1/memories/batch", {"user_id": USER, "items": [{"text": f"{TEXT} 2"}, {"text": [VALUE]}]}).ok()
    api.patch(path, {"user_id": USER, "version": 1, "text": f"{TEXT} 3"}).ok()
    api.patch(path, {"user_id": USER, "version": 1, "text": f"{TEXT} 4"}).problem(412, "version_conflict")
    api.post("/v1/memories", {"user_id": USER, "text": f"{TEXT} 5"}, idempotency_key=VALUE).ok(201)
    api.post("/v1/memories", {"user_id": USER, "text": f"{TEXT} 5"}, idempotency_key=VALUE).ok(201)
    api.post("/v1/memories", {"user_id": USER, "text": f"{TEXT} 6"}, idempotency_key=VALUE)
    for question in ({"query": QUERY}, {"query": QUERY, "threshold": 0, "explain": True}):
        api.post("/v1/memories/search", {"user_id": USER, **question}).ok()
        api.post("/v1/recall", {"user_id": USER, "session_id": "s", **question}).ok()
    message = {"role": "user", "content": f"{TEXT} is mine", "name": NAME, "id": VALUE}
    api.post("/v1/sessions/s/messages", {"user_id": USER, "messages": [message]}).ok(201)
    api.get("/v1/sessions/s/messages", user_id=USER).ok()
    api.get("/v1/sessions", user_id=USER, cursor=VALUE).problem(400, "invalid_cursor")
    fact = {"user_id": USER, "value": VALUE, "category": "profile"}
    api.put("/v1/entities/k", fact).ok(201)
    api.get("/v1/entities", user_id=USER, path="$", equals=f'"{VALUE}"').ok()
    api.get("/v1/entities/k/history", user_id=USER).ok()
    api.get(f"/v1/subjects/{USER}").ok()
    api.get(f"/v1/{VALUE}").problem(404, "not_found")
    for gone in (path, "/v1/entities/k", "/v1/sessions/s"):
        api.delete(gone, user_id=USER).ok(204)


def test_nothing_that_was_sent_is_logged(
    api: Api, api_stack: ApiStack, tenant: TenantOnStack, capfd: pytest.CaptureFixture[str]
) -> None:
    key_id, key = tenant.key("admin", users=[USER])
    with listening(capfd) as heard:
        walk(Api(api_stack.wire, key))
        with api_stack.embeddings.away():  # its refusals quote what was sent
            api.post("/v1/memories", {"user_id": USER, "text": f"{TEXT} 7"}).problem(503, "unavailable")
            api.post("/v1/memories/search", {"user_id": USER, "query": QUERY}).ok()
        Api(api_stack.wire, key[:-3] + "zzz").get("/v1/memories").problem(401, "unauthenticated")
        api_stack.access.revoke_key(key_id)
        Api(api_stack.wire, key).get("/v1/memories").problem(401, "unauthenticated")

    said = "\n".join(heard)
    assert "POST /v1/recall" in said, "the functions' own log lines were heard"
    secret = key.rpartition(key_id + "_")[2]
    for canary in (*CANARIES, key, secret, secret[:-3] + "zzz"):
        found = [line[:200] for line in said.splitlines() if canary in line]
        assert not found, found[:5]
