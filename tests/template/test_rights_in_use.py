"""The rights of the roles against what the code does with them: nothing missing, nothing left over."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from lethe.domain.json_values import JsonObject, JsonValue
from lethe_local.exchange import Answer
from tests.support.embedding_servers import EmbeddingServer
from tests.template.recording import Client, Taken, recorded_stack
from tests.template.stack import FUNCTIONS, items, mapping, stack
from tests.template.test_roles import rights

USER = "user_id=ann"

NOT_REACHED: dict[Taken, str] = {
    ("RecallFunction", "SubjectsTable", "DeleteItem"): "a claim given up when a search fails, as in WriteFunction",
    (
        "WriteFunction",
        "EntitiesTable",
        "BatchWriteItem",
    ): "the deletion of a fact with more versions than a transaction",
    ("WriteFunction", "SubjectsTable", "BatchWriteItem"): "the deletion of a fact that a stored answer shows",
    ("GovernFunction", "SubjectsTable", "DeleteItem"): "a claim given up when a request fails, as in WriteFunction",
    **{
        ("EraseFunction", table, action): "what the request did before it ended, had it ended sooner"
        for table, actions in {
            "AccessTable": ("Query", "UpdateItem"),
            "MemoriesTable": ("BatchGetItem", "DeleteItem", "GetItem", "PutItem"),
            "SessionsTable": ("DeleteItem", "GetItem"),
            "SubjectsTable": ("PutItem",),
        }.items()
        for action in actions
    },
}


def answered(answer: Answer, *statuses: int) -> JsonObject:
    assert answer.status in statuses, (answer.route_key, answer.status, answer.body[:400])
    return mapping(json.loads(answer.body)) if answer.body else {}


def use_sessions(client: Client) -> None:
    for content in ("I moved to Lisbon in May.", "I am allergic to peanuts.", "My sister is called Vera."):
        message = {"role": "user", "content": content, "id": f"m{len(content)}"}
        body: JsonObject = {"user_id": "ann", "messages": [message], "remember": True}
        answered(client.send("POST", "/v1/sessions/s1/messages", body), 201)
        answered(client.send("POST", "/v1/sessions/s1/messages", body), 201)
    answered(client.send("GET", f"/v1/sessions?{USER}"), 200)
    answered(client.send("GET", f"/v1/sessions/s1?{USER}"), 200)
    answered(client.send("GET", f"/v1/sessions/s1/messages?{USER}&turns=2"), 200)
    answered(client.send("GET", f"/v1/sessions/s1/messages?{USER}&order=asc&limit=1"), 200)


def end_sessions(client: Client) -> None:
    entity: JsonObject = {"user_id": "ann", "value": 7, "category": "parameter", "session_id": "s1"}
    answered(client.send("PUT", "/v1/entities/ticket", entity), 201)
    answered(client.send("POST", "/v1/sessions/s1/end", {"user_id": "ann"}), 200)
    answered(client.send("DELETE", f"/v1/sessions/s1?{USER}"), 204)


def use_memories(client: Client) -> None:
    statement: JsonObject = {"user_id": "ann", "text": "Ann plays the cello on Sundays."}
    stored = answered(client.send("POST", "/v1/memories", statement, idempotency_key="one"), 201)
    answered(client.send("POST", "/v1/memories", statement, idempotency_key="one"), 201)
    answered(client.send("POST", "/v1/memories", {"user_id": "ann", "text": ""}, idempotency_key="two"), 422)
    answered(client.send("POST", "/v1/memories", statement), 200)
    (result,) = items(stored["results"])
    memory_id = mapping(mapping(result)["memory"])["id"]
    change: JsonObject = {"user_id": "ann", "version": 1, "text": "Ann plays the cello on Mondays."}
    answered(client.send("PATCH", f"/v1/memories/{memory_id}", change), 200)
    answered(client.send("PATCH", f"/v1/memories/{memory_id}", change, idempotency_key="late"), 412)
    answered(client.send("GET", f"/v1/memories/{memory_id}?{USER}"), 200)
    answered(client.send("GET", f"/v1/memories/{memory_id}/history?{USER}"), 200)
    answered(client.send("GET", f"/v1/memories?{USER}&limit=1"), 200)
    answered(client.send("DELETE", f"/v1/memories/{memory_id}?{USER}"), 204)


def use_batches_and_search(client: Client) -> None:
    statements: list[JsonValue] = [{"text": f"Ann has lived at number {number}."} for number in range(120)]
    answered(client.send("POST", "/v1/memories/batch", {"user_id": "ann", "items": statements}), 200)
    answered(client.send("POST", "/v1/memories/batch", {"user_id": "ann", "items": statements[:60]}), 200)
    search: JsonObject = {"user_id": "ann", "query": "number", "threshold": 0, "as_of": "2030-01-01T00:00:00Z"}
    for _ in range(2):
        answered(client.send("POST", "/v1/memories/search", search, idempotency_key="three"), 200)


def use_entities(client: Client) -> None:
    for size in (38, 39):
        entity: JsonObject = {"user_id": "ann", "value": size, "category": "profile"}
        answered(client.send("PUT", "/v1/entities/shoe.size", entity), 200, 201)
    for target in ("/v1/entities/shoe.size", "/v1/entities", "/v1/entities/shoe.size/history"):
        answered(client.send("GET", f"{target}?{USER}"), 200)
    answered(client.send("DELETE", f"/v1/entities/shoe.size?{USER}"), 204)


def use_the_rest(client: Client) -> None:
    recall: JsonObject = {"user_id": "ann", "query": "Where does Ann live?", "session_id": "s1", "explain": True}
    answered(client.send("POST", "/v1/recall", recall), 200)
    answered(client.send("GET", "/v1/subjects/ann"), 200)
    for target in ("/v1/health", "/v1/openapi.json"):
        answered(client.send("GET", target), 200)


def erased(client: Client, answer: Answer) -> None:
    """Work off what was begun, and look at it and at its receipt."""
    where = next(value for name, value in answer.headers if name == "location")
    client.work_off(where.rpartition("/")[2])
    for target in (where, f"{where}/receipt", "/v1/erasures?limit=1"):
        answered(client.send("GET", target), 200)


def remember(client: Client, user: str) -> str:
    for number, content in enumerate(("I moved to Lisbon in May.", "I am allergic to peanuts.")):
        said: JsonObject = {"role": "user", "content": content, "id": f"m{number}"}
        body: JsonObject = {"user_id": user, "messages": [said], "remember": True}
        answered(client.send("POST", "/v1/sessions/s2/messages", body, idempotency_key=f"{user}{number}"), 201)
    for session_id in (None, "s2"):
        entity: JsonObject = {"user_id": user, "value": 7, "category": "parameter", "session_id": session_id}
        answered(client.send("PUT", "/v1/entities/size", entity), 201)
    statement: JsonObject = {"user_id": user, "text": "The cello is played on Sundays."}
    stored = answered(client.send("POST", "/v1/memories", statement, idempotency_key=f"kept-{user}"), 201)
    (result,) = items(stored["results"])
    return str(mapping(mapping(result)["memory"])["id"])


def use_erasure(client: Client) -> None:
    memory_id = remember(client, "bob")
    hold: JsonObject = {"user_id": "bob", "scope": {"memory_ids": [memory_id]}}
    answered(client.send("PUT", "/v1/holds/court", hold), 200, 201)
    for target in ("/v1/holds/court", "/v1/holds"):
        answered(client.send("GET", target), 200)
    answered(client.send("DELETE", f"/v1/memories/{memory_id}?user_id=bob"), 409)
    answered(client.send("DELETE", "/v1/holds/court"), 204)
    erased(client, client.send("DELETE", f"/v1/memories/{memory_id}?user_id=bob"))
    # The older one of the session is part of what the younger one is found by.
    *_, oldest = items(answered(client.send("GET", "/v1/memories?user_id=bob"), 200)["memories"])
    erased(client, client.send("DELETE", f"/v1/memories/{mapping(oldest)['id']}?user_id=bob"))
    erased(client, client.send("DELETE", "/v1/sessions/s2?user_id=bob"))
    remember(client, "carl")
    scope: JsonObject = {"user_id": "carl", "scope": {"kind": "fact"}}
    erased(client, client.send("POST", "/v1/erasures", scope))
    erased(client, client.send("DELETE", "/v1/subjects/carl"))
    erased(client, client.send("DELETE", "/v1/subjects/nobody"))
    answered(client.send("POST", "/v1/subjects/carl/admit"), 200)
    answered(client.send("GET", "/v1/audit?user_id=carl"), 200)
    client.tick()
    everything: JsonObject = {"scope": {"tenant": True}}
    erased(client, client.send("POST", "/v1/erasures", everything))
    answered(client.send("POST", "/v1/erasures", everything), 202)


def use_everything(client: Client) -> None:
    use_sessions(client)
    use_memories(client)
    use_entities(client)
    use_the_rest(client)
    end_sessions(client)
    use_batches_and_search(client)
    use_erasure(client)


@pytest.fixture(scope="module")
def taken(dynoxide: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[set[Taken]]:
    """Every DynamoDB action that every route takes."""
    with pytest.MonkeyPatch.context() as environment, EmbeddingServer() as server:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            environment.setenv(name, "testing")
        key = tmp_path_factory.mktemp("signs") / "receipt_key.pem"
        with recorded_stack(dynoxide, server.url, key) as (client, recorder):
            use_everything(client)
        yield recorder.taken


def granted(function: str) -> set[Taken]:
    return {
        (function, resource.removesuffix(".Arn"), action.removeprefix("dynamodb:"))
        for action, resource in rights(stack(), function)
        if action.startswith("dynamodb:")
    }


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_code_is_never_refused(function: str, taken: set[Taken]) -> None:
    used = {action for action in taken if action[0] == function}
    assert used
    assert used - granted(function) == set()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_right_is_left_over(function: str, taken: set[Taken]) -> None:
    assert granted(function) - taken - NOT_REACHED.keys() == set()
