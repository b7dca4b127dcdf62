"""Where commands that go over HTTP act: nowhere else than they were told, and what they say when nobody answers."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.unit.client.command_line import World
from tests.unit.client.samples import erasure
from tests.unit.client.stub_service import Reply, StubService

OVER_HTTP = (
    ("remember", "alice", "I live in Oslo"),
    ("search", "alice", "Oslo"),
    ("recall", "alice", "Oslo"),
    ("memories", "alice"),
    ("erase", "alice"),
    ("erase", "--tenant", "--yes"),
    ("erasures", "list"),
    ("erasures", "show", "er_1"),
    ("admit", "alice"),
    ("holds", "place", "case-7", "alice"),
    ("holds", "list"),
    ("holds", "release", "case-7"),
    ("receipt", "show", "er_1"),
    ("receipt", "export"),
)
OF_NO_STACK = (
    ("cost",),
    ("receipt", "verify", "one.json", "--key", "key.pem"),
    ("receipt", "show", "one.json"),
    ("audit", "verify", "one.json"),
)


def deployed(folder: Path, url: str, **environment: str) -> World:
    outputs = {"ApiUrl": url, "AccessTableName": "prod-access", "MasterSecretArn": "arn:secret"}
    return World(folder, environment, stacks={"prod": outputs})


@pytest.mark.parametrize("command", OVER_HTTP)
@pytest.mark.parametrize("before", [True, False])
def test_a_named_stack_is_where_it_acts(tmp_path: Path, command: tuple[str, ...], before: bool) -> None:
    refusal = Reply(403, {"code": "forbidden", "detail": "no"})
    with StubService() as laptop, StubService(refusal) as stub:
        world = deployed(tmp_path, stub.url, LETHE_API_KEY="lk_prod")
        world.start_laptop(laptop.url)
        named = ("--stack", "prod")
        assert world.run(*(named + command if before else command + named)) == 1
        assert laptop.asked == []
        assert [asked.headers["Authorization"] for asked in stub.asked] == ["Bearer lk_prod"]


@pytest.mark.parametrize("command", OVER_HTTP)
def test_a_named_stack_without_a_key_is_refused(tmp_path: Path, command: tuple[str, ...]) -> None:
    with StubService() as laptop, StubService() as stub:
        world = deployed(tmp_path, stub.url)
        world.start_laptop(laptop.url)
        assert world.run("--stack", "prod", *command) == 2
        assert laptop.asked == stub.asked == []
    assert world.err.startswith("lethe: set LETHE_API_KEY to a key of the stack")


def test_two_addresses_are_refused(tmp_path: Path) -> None:
    with StubService(Reply(200, erasure())) as stub:
        world = deployed(tmp_path, stub.url, LETHE_API_KEY="lk_prod", LETHE_URL="http://127.0.0.1:1")
        assert world.run("--stack", "prod", "erase", "alice") == 2
        assert world.err == "lethe: --stack and LETHE_URL name two services: leave one of them out\n"
        assert stub.asked == []
        world.environment["LETHE_URL"] = stub.url + "/"
        assert world.run("--stack", "prod", "erasures", "show", "er_1") == 0


def test_a_stack_without_an_address_is_refused(tmp_path: Path) -> None:
    world = deployed(tmp_path, "", LETHE_API_KEY="lk_prod")
    world.start_laptop()
    assert world.run("--stack", "prod", "memories", "alice") == 2
    assert world.err == "lethe: the stack has no output ApiUrl\n"


@pytest.mark.parametrize("command", OF_NO_STACK)
def test_a_command_that_would_not_look_at_the_stack_refuses_it(tmp_path: Path, command: tuple[str, ...]) -> None:
    world = deployed(tmp_path, "https://x", LETHE_API_KEY="lk_prod")
    (tmp_path / "one.json").write_text("{}")
    assert world.run("--stack", "prod", *command) == 2
    assert "--stack" in world.err
    assert world.out == ""


def test_settings_of_the_shell_are_not_those_of_a_named_stack(tmp_path: Path) -> None:
    left_over = {"LETHE_LEDGER_TABLE": "mine", "LETHE_DYNAMODB_ENDPOINT": "http://127.0.0.1:1", "LETHE_MASTER_KEY": "k"}
    world = deployed(tmp_path, "https://x", **left_over, LETHE_ACCESS_TABLE="mine")
    assert world.run("--stack", "prod", "tenants", "create", "acme") == 0
    assert list(world.tables) == ["prod-access"]
    assert world.run("--stack", "prod", "audit", "list", "--tenant", "acme") == 2
    assert "ledger" in world.err


@pytest.mark.parametrize("where", ["laptop", "environment", "stack"])
def test_nobody_answers(tmp_path: Path, where: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
        world = deployed(tmp_path, f"http://{place}", LETHE_API_KEY="lk_x")
        named = ("--stack", "prod") if where == "stack" else ()
        if where == "laptop":
            world.environment.clear()
            world.start_laptop(f"http://{place}")
        elif where == "environment":
            world.environment["LETHE_URL"] = f"http://user:secret@{place}"
        assert world.run(*named, "erasures", "show", "er_1") == 1
    said = {"laptop": "make dev", "environment": "LETHE_URL", "stack": "ApiUrl"}[where]
    assert world.err.startswith(f"lethe: no answer from http://{place} (NewConnectionError); ")
    assert said in world.err
    assert "secret" not in world.err
