"""A change whose precondition does not hold, or cannot be judged, is not made."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.api import Api, Reply

USER = {"user_id": "ann"}


def delete(api: Api, path: str, seen: str) -> Reply:
    return api.send("DELETE", path, query=USER, headers={"if-match": seen})


def put(api: Api) -> dict[str, Any]:
    body = {"user_id": "ann", "value": "Oslo", "category": "profile"}
    return api.put("/v1/entities/city", body).json


def test_a_memory_is_deleted_only_at_the_version_that_was_seen(api: Api) -> None:
    path = f"/v1/memories/{api.remember('I ski')['id']}"
    api.patch(path, {"user_id": "ann", "version": 1, "pinned": True}).ok()

    assert delete(api, path, '"1"').problem(412, "version_conflict")["current_version"] == 2
    assert api.get(path, **USER).ok()["version"] == 2
    delete(api, path, '"2"').ok(204)
    api.get(path, **USER).problem(404, "not_found")
    delete(api, path, '"2"').ok(204)
    delete(api, path, "*").problem(400, "invalid_header")


def test_an_entity_is_deleted_only_at_the_version_that_was_seen(api: Api) -> None:
    put(api)
    put(api)

    assert delete(api, "/v1/entities/city", '"1"').problem(412, "version_conflict")["current_version"] == 2
    assert api.get("/v1/entities/city", **USER).ok()["version"] == 2
    delete(api, "/v1/entities/city", '"2"').ok(204)
    api.get("/v1/entities/city", **USER).problem(404, "not_found")
    delete(api, "/v1/entities/city", '"2"').ok(204)


@pytest.mark.parametrize("name", ["if-none-match", "if-unmodified-since", "if-modified-since"])
def test_another_precondition_is_refused(api: Api, name: str) -> None:
    put(api)
    body = {"user_id": "ann", "value": "Rome", "category": "profile"}

    api.send("PUT", "/v1/entities/city", body, headers={name: "*"}).problem(400, "invalid_header")
    api.send("DELETE", "/v1/entities/city", query=USER, headers={name: "*"}).problem(400, "invalid_header")
    assert api.get("/v1/entities/city", **USER).ok()["value"] == "Oslo"
    api.send("GET", "/v1/entities/city", query=USER, headers={name: "*"}).ok()


def test_what_has_no_versions_cannot_be_conditional(api: Api) -> None:
    api.say("s", "I ski")

    delete(api, "/v1/sessions/s", '"1"').problem(400, "invalid_header")
    api.get("/v1/sessions/s", **USER).ok()
