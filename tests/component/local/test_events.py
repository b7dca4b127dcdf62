"""The events that functions get, against events written by hand after AWS's documentation and captures."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
import urllib3

from lethe_local.stack import LocalStack

KEY = {"Authorization": "Bearer open"}


def _echo(answer: urllib3.BaseHTTPResponse) -> dict[str, Any]:
    assert answer.status == 200, answer.data
    body: dict[str, Any] = answer.json()
    return body


def test_an_event_is_the_one_that_api_gateway_makes(house: LocalStack, http: urllib3.PoolManager) -> None:
    house_port = house.url.rsplit(":", 1)[1]
    headers = {**KEY, "Content-Type": "application/json", "User-Agent": "hand", "X-Two": "a"}
    fields = urllib3.HTTPHeaderDict({**headers, "Cookie": "c1=1; c2=2"})
    fields.add("X-Two", "b")

    event = _echo(
        http.request(
            "POST", f"{house.url}/items/a%2Fb%20c/parts?q=1&r=%E4%BD%A0+x&q=2&e=", headers=fields, body='{"k": "ü"}'
        )
    )["event"]

    context = event["requestContext"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{15}=", context.pop("requestId"))
    assert re.fullmatch(r"\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000", context.pop("time"))
    assert context.pop("timeEpoch") > 1_700_000_000_000
    authorizer = context.pop("authorizer")
    assert (authorizer["lambda"]["who"], authorizer["lambda"]["rank"]) == ("open", 3)
    assert event == {
        "version": "2.0",
        "routeKey": "POST /items/{item_id}/parts",
        "rawPath": "/items/a/b c/parts",
        "rawQueryString": "q=1&r=%E4%BD%A0+x&q=2&e=",
        "cookies": ["c1=1", "c2=2"],
        "headers": {
            "accept-encoding": "identity",
            "authorization": "Bearer open",
            "content-length": "11",
            "content-type": "application/json",
            "host": f"127.0.0.1:{house_port}",
            "user-agent": "hand",
            "x-two": "a,b",
            "x-forwarded-for": "127.0.0.1",
            "x-forwarded-port": house_port,
            "x-forwarded-proto": "http",
        },
        "queryStringParameters": {"q": "1,2", "r": "你 x", "e": ""},
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "domainName": "127.0.0.1",
            "domainPrefix": "127",
            "http": {
                "method": "POST",
                "path": "/items/a/b c/parts",
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": "hand",
            },
            "routeKey": "POST /items/{item_id}/parts",
            "stage": "$default",
        },
        "pathParameters": {"item_id": "a/b c"},
        "body": '{"k": "ü"}',
        "isBase64Encoded": False,
    }


def test_a_bare_request_leaves_out_what_it_has_not(house: LocalStack, http: urllib3.PoolManager) -> None:
    event = _echo(http.request("GET", f"{house.url}/open"))["event"]
    absent = {"body", "cookies", "pathParameters", "queryStringParameters", "stageVariables"}
    assert absent.isdisjoint(event)
    assert "authorizer" not in event["requestContext"]
    assert (event["rawQueryString"], event["isBase64Encoded"]) == ("", False)


def test_the_authorizer_sees_the_request_without_its_body(house: LocalStack, http: urllib3.PoolManager) -> None:
    answer = http.request("POST", f"{house.url}/items/7/parts?q=1", headers=KEY, body="secret")
    seen = _echo(answer)["event"]["requestContext"]["authorizer"]["lambda"]["saw"]
    assert (seen["type"], seen["identitySource"], seen["pathParameters"]) == (
        "REQUEST",
        ["Bearer open"],
        {"item_id": "7"},
    )
    assert seen["routeArn"] == "arn:aws:execute-api:us-east-1:000000000000:local/$default/POST/items/7/parts"
    assert seen["version"] == "2.0"
    assert "body" not in seen
    assert "isBase64Encoded" not in seen


@pytest.mark.parametrize(
    ("content_type", "is_text"),
    [
        ("application/json", True),
        ("application/json; charset=utf-8", True),
        ("text/csv", True),
        ("application/xml", True),
        ("application/octet-stream", False),
        ("application/problem+json", False),
        ("application/x-www-form-urlencoded", False),
        (None, False),
    ],
)
def test_only_text_types_arrive_as_text(
    house: LocalStack, http: urllib3.PoolManager, content_type: str | None, is_text: bool
) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    event = _echo(http.request("POST", f"{house.url}/open", headers=headers, body=b'{"a": 1}'))["event"]
    assert event["isBase64Encoded"] is not is_text
    body = event["body"].encode() if is_text else base64.b64decode(event["body"])
    assert body == b'{"a": 1}'


def test_bytes_that_are_no_text_arrive_whole(house: LocalStack, http: urllib3.PoolManager) -> None:
    headers = {"Content-Type": "application/json"}
    event = _echo(http.request("POST", f"{house.url}/open", headers=headers, body=b"\xff\x00\xfe"))["event"]
    assert event["isBase64Encoded"] is True
    assert base64.b64decode(event["body"]) == b"\xff\x00\xfe"


def test_chunked_bodies_arrive_joined(house: LocalStack, http: urllib3.PoolManager) -> None:
    headers = {"Content-Type": "text/plain", "Transfer-Encoding": "chunked"}
    answer = http.request(
        "POST", f"{house.url}/open", headers=headers, body=iter([b"one", b"two", b"three"]), chunked=True
    )
    assert _echo(answer)["event"]["body"] == "onetwothree"


def test_the_function_has_a_context_an_environment_and_the_stacks_clock(
    house: LocalStack, http: urllib3.PoolManager
) -> None:
    echoed = _echo(http.request("GET", f"{house.url}/open"))
    assert (echoed["function"], echoed["memory"]) == ("EchoFunction", "256")
    assert 0 < echoed["remaining"] <= 2000
    environment = echoed["environment"]
    assert (environment["NOTES_TABLE"], environment["GREETING"]) == ("lethe-notes", "hello from lethe")
    assert environment["LETHE_MASTER_KEY"] == house.environment["LETHE_MASTER_KEY"]
    assert environment["LETHE_DYNAMODB_ENDPOINT"].startswith("http://127.0.0.1:")
    assert environment["AWS_ACCESS_KEY_ID"] == "local"
