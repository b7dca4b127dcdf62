"""Events and answers of an HTTP API with Lambda proxy integration, payload format 2.0.

Sources: the developer guide's page on Lambda proxy integrations for HTTP APIs, and captures of the live service where
the guide is silent: the path arrives percent-decoded, and only a few content types arrive as text.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import parse_qsl

from lethe.domain.json_values import JsonValue
from lethe_local.exchange import Answer, Request
from lethe_local.intrinsics import ACCOUNT, REGION
from lethe_local.routing import Match, percent_decoded

API_ID = "local"
STAGE = "$default"
_TEXT_TYPES = frozenset({"application/json", "application/xml", "application/javascript"})


class MalformedAnswer(Exception):
    """A function answered something that API Gateway cannot turn into an HTTP answer."""


def function_event(
    request: Request, match: Match, moment: datetime, authorized: Mapping[str, JsonValue] | None
) -> dict[str, JsonValue]:
    """The event that the integration gets; ``authorized`` is the authorizer's context, None without authorizer.

    Raises ValueError when path or query are not percent-encoded UTF-8.
    """
    event = _common(request, match, moment)
    if authorized is not None:
        context = event["requestContext"]
        assert isinstance(context, dict)  # made below
        context["authorizer"] = {"lambda": authorized}
    body, encoded = _body(request)
    if request.body:
        event["body"] = body
    event["isBase64Encoded"] = encoded
    return event


def authorizer_event(request: Request, match: Match, moment: datetime, identity: Sequence[str]) -> dict[str, JsonValue]:
    """The event that a Lambda authorizer gets; ``identity`` holds the values of its identity sources."""
    where = f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{API_ID}/{STAGE}/{request.method}{_decoded_path(request)}"
    return {"type": "REQUEST", "routeArn": where, "identitySource": identity} | _common(request, match, moment)


def _common(request: Request, match: Match, moment: datetime) -> dict[str, JsonValue]:
    event: dict[str, JsonValue] = {
        "version": "2.0",
        "routeKey": match.route.key,
        "rawPath": _decoded_path(request),
        "rawQueryString": request.query,
    }
    cookies = [value.strip() for name, text in request.headers if name == "cookie" for value in text.split(";")]
    if cookies:
        event["cookies"] = [cookie for cookie in cookies if cookie]
    event["headers"] = _headers(request)
    if request.query:
        event["queryStringParameters"] = query_parameters(request.query)
    event["requestContext"] = _context(request, match, moment)
    if match.parameters:
        event["pathParameters"] = match.parameters
    return event


def _headers(request: Request) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in request.headers:
        if name != "cookie":
            joined[name] = f"{joined[name]},{value}" if name in joined else value
    host, _, port = (request.header("host") or "").rpartition(":")
    joined["x-forwarded-for"] = request.source_ip
    joined["x-forwarded-port"] = port if host else "80"
    joined["x-forwarded-proto"] = "http"
    return joined


def _context(request: Request, match: Match, moment: datetime) -> dict[str, JsonValue]:
    domain = (request.header("host") or "").split(":")[0]
    return {
        "accountId": ACCOUNT,
        "apiId": API_ID,
        "domainName": domain,
        "domainPrefix": domain.split(".")[0],
        "http": {
            "method": request.method,
            "path": _decoded_path(request),
            "protocol": request.protocol,
            "sourceIp": request.source_ip,
            "userAgent": request.header("user-agent") or "",
        },
        "requestId": request.id,
        "routeKey": match.route.key,
        "stage": STAGE,
        "time": moment.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "timeEpoch": int(moment.timestamp() * 1000),
    }


def _decoded_path(request: Request) -> str:
    return percent_decoded(request.path)


def query_parameters(query: str) -> dict[str, str]:
    """The parameters of a query string, decoded; the values of a repeated one are joined by commas.

    Raises ValueError when they are not percent-encoded UTF-8.
    """
    joined: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True, errors="strict"):
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _body(request: Request) -> tuple[str, bool]:
    """The body as events carry it, and whether it is in base64: text types are text, all others are binary."""
    declared = (request.header("content-type") or "").split(";")[0].strip().lower()
    if declared.startswith("text/") or declared in _TEXT_TYPES:
        try:
            return request.body.decode("utf-8"), False
        except UnicodeDecodeError:
            # No string can carry these bytes; the function gets them as they came, and refuses them.
            pass
    return base64.b64encode(request.body).decode("ascii"), bool(request.body)


def to_answer(answer: JsonValue, route_key: str) -> Answer:
    """The HTTP answer that a function's answer means. Raises MalformedAnswer."""
    if not isinstance(answer, Mapping) or "statusCode" not in answer:
        return Answer(200, (("content-type", "application/json"),), _dumped(answer), route_key)
    status = answer["statusCode"]
    if isinstance(status, str) and status.isdecimal():
        status = int(status)
    if not isinstance(status, int) or isinstance(status, bool) or not 200 <= status <= 599:
        raise MalformedAnswer("statusCode is not a final HTTP status")
    headers = _answer_headers(answer)
    if all(name != "content-type" for name, _ in headers) and status != 204:
        headers.append(("content-type", "text/plain;charset=UTF-8"))
    return Answer(status, tuple(headers), _answer_body(answer), route_key)


def _dumped(answer: JsonValue) -> bytes:
    try:
        return json.dumps(answer, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise MalformedAnswer("the answer is not JSON") from error


def _answer_headers(answer: Mapping[str, JsonValue]) -> list[tuple[str, str]]:
    given, cookies = answer.get("headers") or {}, answer.get("cookies") or []
    if not isinstance(given, Mapping) or isinstance(cookies, str) or not isinstance(cookies, Sequence):
        raise MalformedAnswer("headers or cookies have the wrong type")
    headers = []
    for name, value in [*given.items(), *(("set-cookie", cookie) for cookie in cookies)]:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if isinstance(value, (Mapping, list)) or not text.isprintable() or not text.isascii():
            raise MalformedAnswer("a header's value is not one line of text")
        headers.append((name.lower(), text))
    return headers


def _answer_body(answer: Mapping[str, JsonValue]) -> bytes:
    body = answer.get("body")
    if body is None:
        return b""
    if not isinstance(body, str):
        return _dumped(body)
    try:
        return base64.b64decode(body, validate=True) if answer.get("isBase64Encoded") else body.encode("utf-8")
    except (binascii.Error, UnicodeEncodeError) as error:
        raise MalformedAnswer("the body is neither text nor base64") from error
