"""The whole of an erasure on the laptop: a request, the shipped state machine, the real tasks, a receipt.

What the tasks do is tested elsewhere; here they meet the machine that runs them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from cryptography.hazmat.primitives import serialization

from lethe.domain.erasure import StepName
from lethe_client.receipts import check_receipt, read_public_key
from lethe_local.stack import LocalStack, StackOptions
from tests.support.api import ROOT, Api, ApiStack, TenantOnStack
from tests.support.embedding_servers import EmbeddingServer

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions.client import SFNClient

CANARY = "peregrine"


@contextmanager
def _run(state: Path, **settings: str) -> Iterator[ApiStack]:
    with EmbeddingServer() as embeddings:
        settings |= {"LETHE_EMBEDDER": "openai:words?dimensions=48", "LETHE_EMBEDDER_URL": embeddings.url + "/v1"}
        options = StackOptions(ROOT, state, settings=settings, say=print, most_pause=0)
        with LocalStack.start(options) as local:
            stack = ApiStack(local, embeddings)
            try:
                yield stack
            finally:
                stack.wire.close()


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("erasing")


@pytest.fixture(scope="module")
def stack(state: Path) -> Iterator[ApiStack]:
    with _run(state) as stack:
        yield stack


@pytest.fixture
def tenant(stack: ApiStack) -> TenantOnStack:
    return stack.tenant()


@pytest.fixture
def api(tenant: TenantOnStack) -> Api:
    return tenant.api("read", "write", "erase", "govern")


def _fill(api: Api, user_id: str = "ann") -> str:
    """Something in every store; the id of one memory."""
    api.say("s1", f"I keep a {CANARY} at home.", user_id=user_id)
    api.put("/v1/entities/bird", {"user_id": user_id, "value": CANARY, "category": "profile"}).ok(201)
    return str(api.remember(f"The {CANARY} is called Ada.", user_id=user_id)["id"])


def _finished(stack: ApiStack, api: Api, where: str) -> dict[str, Any]:
    assert stack.local.wait_until_erased()
    return api.get(where).ok()


def _signed_by_this_stack(state: Path, document: dict[str, Any]) -> bool:
    private = serialization.load_pem_private_key((state / "receipt_key.pem").read_bytes(), password=None)
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return check_receipt(document, read_public_key(public)) == ()


def _histories(stack: ApiStack) -> str:
    """The history of every execution, as text."""
    environment = stack.local.environment
    client: SFNClient = boto3.client(
        "stepfunctions",
        endpoint_url=environment["LETHE_STEP_FUNCTIONS_ENDPOINT"],
        region_name="us-east-1",
        aws_access_key_id="-",
        aws_secret_access_key="-",
    )
    listed = client.list_executions(stateMachineArn=environment["LETHE_STATE_MACHINE_ARN"])["executions"]
    text = "".join(
        json.dumps(client.get_execution_history(executionArn=each["executionArn"])["events"], default=str)
        for each in listed
    )
    client.close()
    return text


def test_a_subject_is_erased_and_a_receipt_is_signed(stack: ApiStack, api: Api, state: Path) -> None:
    memory_id = _fill(api)
    begun = api.delete("/v1/subjects/ann")
    begun.ok(202)
    where = begun.headers["location"]
    assert api.get("/v1/memories", user_id="ann").status == 404
    api.get(f"/v1/memories/{memory_id}", user_id="ann").problem(404, "not_found")
    api.post("/v1/memories", {"user_id": "ann", "text": "Again."}).problem(410, "erased")
    ended = _finished(stack, api, where)
    assert (ended["state"], ended["failure"]) == ("completed", None)
    assert [step["name"] for step in ended["steps"]] == [name.value for name in StepName]
    assert {step["state"] for step in ended["steps"]} == {"done"}
    assert len(ended["verified"]) == 2
    api.get("/v1/subjects/ann").problem(404, "not_found")
    receipt = api.get(f"{where}/receipt").ok()
    assert _signed_by_this_stack(state, receipt)
    assert CANARY not in json.dumps(list(stack.everything_stored()), default=str)
    history = _histories(stack)
    assert ended["id"] in history
    assert not [word for word in (CANARY, '"ann"', memory_id) if word in history]


def test_many_erasures_at_once_each_take_their_own_course(stack: ApiStack, api: Api) -> None:
    leaving = [f"user-{number}" for number in range(8)]
    for user_id in (*leaving, "who-stays"):
        api.remember(f"The {CANARY} of {user_id}", user_id=user_id)

    with ThreadPoolExecutor(len(leaving)) as threads:
        asked = list(threads.map(lambda user_id: api.delete(f"/v1/subjects/{user_id}"), leaving))

    ended = [_finished(stack, api, each.headers["location"]) for each in asked]
    assert {each["state"] for each in ended} == {"completed"}
    receipts = [api.get(f"{each.headers['location']}/receipt").ok()["receipt"] for each in asked]
    assert [each["erasure"] for each in receipts] == [each["id"] for each in ended]
    version_and_guard_against_duplicates = {"found": 2, "deleted": 2, "remaining": 0, "held": 0}
    assert all(each["counts"]["memories"] == version_and_guard_against_duplicates for each in receipts)
    assert len({each["subject"] for each in receipts}) == len(leaving)
    assert len(api.get("/v1/memories", user_id="who-stays").ok()["memories"]) == 1


def test_an_erased_subject_that_is_admitted_starts_empty(stack: ApiStack, api: Api) -> None:
    _fill(api)
    _finished(stack, api, api.delete("/v1/subjects/ann").headers["location"])
    api.post("/v1/subjects/ann/admit").ok()
    assert api.get("/v1/memories", user_id="ann").ok()["memories"] == []
    api.remember("A new start.")
    assert len(api.get("/v1/memories", user_id="ann").ok()["memories"]) == 1


def test_a_deleted_memory_leaves_a_receipt_too(stack: ApiStack, api: Api) -> None:
    memory_id = _fill(api)
    gone = api.delete(f"/v1/memories/{memory_id}", user_id="ann")
    gone.ok(204)
    ended = _finished(stack, api, gone.headers["location"])
    assert ended["state"] == "completed"
    assert api.get(f"{gone.headers['location']}/receipt").ok()["receipt"]["erasure"] == ended["id"]
    assert api.get("/v1/memories", user_id="ann").ok()["memories"] != []


def test_what_a_hold_kept_goes_at_the_tick_after_its_release(stack: ApiStack, api: Api) -> None:
    memory_id = _fill(api)
    hold = {"user_id": "ann", "scope": {"memory_ids": [memory_id]}}
    assert api.put("/v1/holds/court", hold).status in (200, 201)
    where = api.delete("/v1/subjects/ann").headers["location"]
    assert _finished(stack, api, where)["state"] == "completed_with_holds"
    assert memory_id in json.dumps(list(stack.everything_stored()), default=str)
    stack.local.tick()
    assert _finished(stack, api, where)["state"] == "completed_with_holds", "nothing was released"
    api.delete("/v1/holds/court").ok(204)
    stack.local.tick()
    ended = _finished(stack, api, where)
    assert (ended["state"], len(ended["receipts"])) == ("completed", 2)


def test_a_whole_tenant_is_erased(stack: ApiStack, tenant: TenantOnStack) -> None:
    api = tenant.api("read", "write", "erase", "govern")
    for user_id in ("ann", "bob"):
        _fill(api, user_id)
    begun = api.post("/v1/erasures", {"scope": {"tenant": True}})
    begun.ok(202)
    api.get("/v1/memories", user_id="ann").problem(404, "not_found")
    assert _finished(stack, api, begun.headers["location"])["state"] == "completed"


def test_an_erasure_that_a_stop_interrupts_goes_on_at_the_next_start(tmp_path: Path) -> None:
    with _run(tmp_path) as stack:
        tenant = stack.tenant()
        key = tenant.key("read", "write", "erase", "govern")[1]
        api = Api(stack.wire, key)
        for number in range(10):
            api.remember(f"The {CANARY} was seen {number} times.")
        where = api.delete("/v1/subjects/ann").headers["location"]
    with _run(tmp_path) as stack:
        api = Api(stack.wire, key)
        ended = _finished(stack, api, where)
        assert (ended["state"], ended["failure"]) == ("completed", None)
        assert CANARY not in json.dumps(list(stack.everything_stored()), default=str)


def test_an_erasure_whose_machine_was_never_started_is_started_by_the_tick(tmp_path: Path) -> None:
    with _run(tmp_path, LETHE_STEP_FUNCTIONS_ENDPOINT="http://127.0.0.1:9") as stack:
        key = stack.tenant().key("read", "write", "erase", "govern")[1]
        api = Api(stack.wire, key)
        _fill(api)
        where = api.delete("/v1/subjects/ann").headers["location"]
        api.get("/v1/memories", user_id="ann").problem(404, "not_found")
    with _run(tmp_path) as stack:
        api = Api(stack.wire, key)
        stack.local.tick()
        assert _finished(stack, api, where)["state"] == "accepted", "it may still be on its way"
        stack.local.clock.advance(timedelta(minutes=3))
        stack.local.tick()
        assert _finished(stack, api, where)["state"] == "completed"
