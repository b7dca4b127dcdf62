"""From the request to forget somebody to a receipt that is checked offline, through HTTP and the shipped machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lethe_client.receipts import check_chain, check_receipt, read_public_key
from tests.support.api import Api, ApiStack, TenantOnStack
from tests.support.waiting import wait_until
from tests.unit.client.command_line import World


def ended(api: Api, erasure_id: str) -> dict[str, Any]:
    """The erasure, once nothing runs any more."""
    erasure: dict[str, Any] = {}

    def is_over() -> bool:
        erasure.update(api.get(f"/v1/erasures/{erasure_id}").ok())
        return erasure["state"] not in ("accepted", "running")

    wait_until(is_over)
    return erasure


def forget(api: Api, user_id: str) -> dict[str, Any]:
    answer = api.delete(f"/v1/subjects/{user_id}").ok(202)
    return ended(api, answer.get("erasure", answer)["id"])


def texts(value: object) -> Iterator[str]:
    """Every text in it, names of members too."""
    if isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


@pytest.fixture
def world(api_stack: ApiStack, tmp_path: Path) -> World:
    """The command line beside the running stack, with the public key that it printed."""
    world = World(tmp_path, {"LETHE_RECEIPT_KEY_FILE": api_stack.local.environment["LETHE_RECEIPT_KEY_FILE"]})
    assert world.run("receipt", "key") == 0
    (tmp_path / "key.pem").write_text(world.out)
    return world


def test_receipts_of_two_erasures_are_a_chain_that_anybody_can_check(api: Api, world: World) -> None:
    for user in ("ann", "bob"):
        for n in range(3):
            api.remember(f"Kanarienvogel {n} of {user} sings.", user)
        api.say("kanariensession", "Kanarienvogel, again.", user_id=user)
    erasures = [forget(api, user) for user in ("ann", "bob")]
    assert [erasure["state"] for erasure in erasures] == ["completed", "completed"]
    documents = [api.get(f"/v1/erasures/{erasure['id']}/receipt").ok() for erasure in erasures]

    for number, document in enumerate(documents):
        (world.folder / f"{number}.json").write_text(json.dumps(document))
    assert world.run("receipt", "verify", "1.json", "0.json", "--key", "key.pem") == 0, world.out + world.err
    key = read_public_key((world.folder / "key.pem").read_bytes())
    assert [check_receipt(document, key) for document in documents] == [(), ()]
    assert check_chain(documents) == ()
    for erasure, document in zip(erasures, documents, strict=True):
        receipt = document["receipt"]
        assert (receipt["id"], receipt["erasure"]) == (erasure["receipt_id"], erasure["id"])
        assert receipt["unreadable_since"] == erasure["unreadable_since"]
        assert receipt["counts"]["memories"]["deleted"] >= 3
        assert receipt["counts"]["sessions"]["deleted"] >= 2
        said = " ".join(texts(document)).lower()
        assert "kanarien" not in said
        assert {"ann", "bob", "sings"}.isdisjoint(said.split())


def test_a_receipt_says_nothing_of_its_erasure_to_other_tenants(
    api: Api, api_stack: ApiStack, tenant: TenantOnStack
) -> None:
    api.remember("Somebody was here.", "ann")
    erasure = forget(api, "ann")
    address = f"/v1/erasures/{erasure['id']}/receipt"
    assert api.get(address).status == 200
    api_stack.tenant().admin.get(address).problem(404, "not_found")
    tenant.api("read", "write").get(address).problem(403, "forbidden")
