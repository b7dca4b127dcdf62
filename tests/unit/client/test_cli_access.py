"""`lethe tenants` and `lethe keys`: arguments, where they act, what they print, how they fail."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lethe.domain.access import parse_key
from lethe.domain.identity import subject_of
from lethe_client.cli.failures import UsageError
from lethe_client.cli.stack import environment_of_stack
from lethe_client.cli.surroundings import aws_variables
from tests.unit.client.command_line import MASTER_KEY, AccessTable, World

ACCESS = {"LETHE_ACCESS_TABLE": "access"}


def world_with_tenant(folder: Path) -> World:
    world = World(folder, dict(ACCESS))
    assert world.run("tenants", "create", "acme") == 0
    return world


def only_key(world: World) -> str:
    (key_id,) = world.tables["access"].by_id
    return key_id


def test_create_and_list_tenants_as_json(tmp_path: Path) -> None:
    world = World(tmp_path, dict(ACCESS))
    assert world.run("--json", "tenants", "create", "acme") == 0
    assert world.answer() == {
        "tenant": "acme",
        "name": "acme",
        "created_at": "2026-03-04T05:06:00.000000Z",
        "fenced_by": None,
    }
    assert world.run("tenants", "list", "--json") == 0
    assert json.loads(world.out)["tenants"][0]["fenced_by"] is None


def test_tenants_for_a_person(tmp_path: Path) -> None:
    world = World(tmp_path, dict(ACCESS))
    world.run("tenants", "list")
    assert world.out == "no tenants\n"
    world.run("tenants", "create", "acme")
    assert world.out.startswith("created tenant acme\n")
    world.run("tenants", "list")
    assert world.out == "tenant  created           state\nacme    2026-03-04 05:06  active\n"
    world.tables["access"].fence_tenant("acme", "er_1")
    world.run("tenants", "list")
    assert world.out.splitlines()[1] == "acme    2026-03-04 05:06  erased by er_1"


def test_a_key_is_created_for_its_users_and_shown_once(tmp_path: Path) -> None:
    world = world_with_tenant(tmp_path)
    status = world.run(
        "--json", "keys", "create", "--tenant", "acme", "--permissions", "read,write", "--users", "alice, 晓岚",
        "--actor", "support-bot",
    )  # fmt: skip
    assert status == 0
    answer = json.loads(world.out)
    parts = parse_key(answer["api_key"])
    assert parts is not None
    stored = world.tables["access"].by_id[parts[0]]
    assert stored.opens_with(parts[1])
    assert stored.subjects == tuple(subject_of("acme", user, MASTER_KEY) for user in ("alice", "晓岚"))
    assert (answer["id"], answer["actor"]) == (parts[0], "support-bot")
    assert answer["permissions"] == ["read", "write"]
    world.run("--json", "keys", "list", "--tenant", "acme")
    assert parts[1] not in world.out
    assert json.loads(world.out)["keys"][0]["users_covered"] == 2


def test_a_key_covers_every_user_unless_told(tmp_path: Path) -> None:
    world = world_with_tenant(tmp_path)
    assert world.run("keys", "create", "--tenant", "acme", "--permissions", "read") == 0
    assert world.out.splitlines()[0].startswith("lk_")
    assert world.tables["access"].by_id[only_key(world)].subjects == ("*",)
    assert world.run("keys", "list", "--tenant", "acme") == 0
    assert world.out.splitlines()[1].split()[3] == "all"


def test_a_revoked_key_is_listed_as_such(tmp_path: Path) -> None:
    world = world_with_tenant(tmp_path)
    world.run("keys", "create", "--tenant", "acme", "--permissions", "read")
    key_id = only_key(world)
    assert world.run("keys", "revoke", key_id) == 0
    assert world.out == f"revoked {key_id}\n"
    world.run("keys", "list", "--tenant", "acme")
    assert world.out.splitlines()[1].endswith("revoked")
    assert world.run("--json", "keys", "revoke", key_id) == 0
    assert json.loads(world.out)["revoked_at"] == "2026-03-04T05:06:00.000000Z"


def test_a_key_of_an_erased_tenant_is_listed_as_such(tmp_path: Path) -> None:
    world = world_with_tenant(tmp_path)
    world.run("keys", "create", "--tenant", "acme", "--permissions", "read")
    key_id = only_key(world)
    world.tables["access"].by_id[key_id] = replace(world.tables["access"].by_id[key_id], fenced="er_1")
    world.run("keys", "list", "--tenant", "acme")
    assert world.out.splitlines()[1].endswith("its tenant is erased by er_1")
    world.run("--json", "keys", "list", "--tenant", "acme")
    assert json.loads(world.out)["keys"][0]["fenced_by"] == "er_1"
    world.run("keys", "revoke", key_id)
    world.run("keys", "list", "--tenant", "acme")
    assert world.out.splitlines()[1].endswith("revoked")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["tenants", "create", "acme"], "taken"),
        (["tenants", "create", "Not A Name"], "name"),
        (["keys", "create", "--tenant", "nobody", "--permissions", "read"], "no such tenant"),
        (["keys", "create", "--tenant", "acme", "--permissions", "fly"], "permissions"),
        (["keys", "create", "--tenant", "acme", "--permissions", "read", "--users", "*,alice"], "users"),
        (["keys", "list", "--tenant", "nobody"], "no such tenant"),
        (["keys", "revoke", "nothing"], "no such key"),
    ],
)
def test_what_the_service_refuses_is_status_1_on_stderr(tmp_path: Path, argv: list[str], says: str) -> None:
    world = world_with_tenant(tmp_path)
    assert world.run("--json", *argv) == 1
    assert world.out == ""
    assert world.err.startswith("lethe: ")
    assert says in world.err


@pytest.mark.parametrize(
    "argv",
    [
        [], ["tenants"], ["tenants", "create"], ["keys"], ["keys", "create", "--tenant", "acme"], ["keys", "list"],
        ["keys", "create", "--permissions", "read"], ["keys", "revoke"], ["forget"],
        ["memories", "alice", "--limit", "0"],
        ["keys", "create", "--tenant", "acme", "--permissions", "read,,write"], ["search", "alice"],
        ["search", "alice", "tea", "--top-k", "many"],
    ],
)  # fmt: skip
def test_what_cannot_be_parsed_is_status_2(tmp_path: Path, argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        World(tmp_path, dict(ACCESS)).run(*argv)
    assert caught.value.code == 2
    assert "usage: lethe" in capsys.readouterr().err


def test_nothing_says_where_the_table_is(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.run("tenants", "list") == 2
    assert "make dev" in world.err


def test_the_laptop_stack_is_found_from_a_folder_below(tmp_path: Path) -> None:
    world = World(tmp_path, tables={"dev-access": AccessTable()})
    world.start_laptop()
    world.folder = tmp_path / "a" / "b"
    world.folder.mkdir(parents=True)
    assert world.run("tenants", "create", "acme") == 0
    assert list(world.tables["dev-access"].by_name) == ["acme"]


def test_the_environment_goes_before_the_laptop_stack(tmp_path: Path) -> None:
    world = World(tmp_path, dict(ACCESS))
    world.start_laptop()
    assert world.run("tenants", "create", "acme") == 0
    assert list(world.tables) == ["access"]


@pytest.mark.parametrize("content", ["", "[]", '{"url": "http://x"}', '{"url": 1, "api_key": "k"}', "\udcff"])
def test_a_broken_laptop_file_is_said_so(tmp_path: Path, content: str) -> None:
    (tmp_path / ".lethe").mkdir()
    (tmp_path / ".lethe" / "dev.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    world = World(tmp_path)
    assert world.run("tenants", "list") == 2
    assert "dev.json" in world.err


@pytest.mark.parametrize(
    ("environment", "variables"),
    [
        ({"LETHE_DYNAMODB_ENDPOINT": "x"}, {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}),
        ({"LETHE_DYNAMODB_ENDPOINT": "x", "AWS_PROFILE": "mine"}, {"AWS_PROFILE": "mine"}),
        ({"LETHE_DYNAMODB_ENDPOINT": "x", "AWS_ACCESS_KEY_ID": "dev"}, {"AWS_ACCESS_KEY_ID": "dev"}),
        ({"AWS_REGION": "eu-west-1", "HOME": "y"}, {"AWS_REGION": "eu-west-1"}),
        ({}, {}),
    ],
)
def test_credentials_are_made_up_for_a_laptop_without_any(
    environment: dict[str, str], variables: dict[str, str]
) -> None:
    assert aws_variables(environment) == variables


def test_a_stack_gives_its_table_and_its_secret() -> None:
    outputs = {"AccessTableName": "prod-access", "MasterSecretArn": "arn:secret", "ApiUrl": "https://x"}
    assert environment_of_stack("prod", lambda name: outputs if name == "prod" else {}) == {
        "LETHE_ACCESS_TABLE": "prod-access",
        "LETHE_SECRET_ARN": "arn:secret",
        "LETHE_URL": "https://x",
    }


def test_another_stack_is_not_taken_for_one_of_lethe() -> None:
    with pytest.raises(UsageError, match="MasterSecretArn"):
        environment_of_stack("prod", lambda name: {"AccessTableName": name})


@pytest.mark.parametrize(
    "name",
    ["", " ", "key:01ARZ3NDEKTSV4RRFFQ69G5FAV", "KEY:x", "\uff4bey\uff1ax", " key:x", "a\nb", "k\u200bey:x", "x" * 129],
)
def test_a_key_cannot_be_given_the_name_of_another(tmp_path: Path, name: str) -> None:
    world = world_with_tenant(tmp_path)

    status = world.run("keys", "create", "--tenant", "acme", "--permissions", "read", "--actor", name)

    assert status != 0
    assert "actor" in world.err
    assert world.tables["access"].by_id == {}


def test_a_key_without_an_actor_is_named_by_its_id(tmp_path: Path) -> None:
    world = world_with_tenant(tmp_path)

    assert world.run("keys", "create", "--tenant", "acme", "--permissions", "read") == 0
    assert world.tables["access"].by_id[only_key(world)].actor == f"key:{only_key(world)}"
