"""The parts of Lambda's events and answers that Lethe reads and writes, as types.

HTTP API, payload format 2.0: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
"""

from __future__ import annotations

from typing import NotRequired, Protocol, TypedDict

from lethe.domain.json_values import JsonObject


class RequestContext(TypedDict, total=False):
    """Of one request."""

    authorizer: JsonObject
    requestId: str


class Event(TypedDict, total=False):
    """A request as the gateway hands it over."""

    routeKey: str
    rawPath: str
    rawQueryString: str
    headers: dict[str, str]
    queryStringParameters: dict[str, str]
    pathParameters: dict[str, str]
    requestContext: RequestContext
    body: str
    isBase64Encoded: bool


class HttpResponse(TypedDict):
    """An answer as the gateway takes it."""

    statusCode: int
    headers: dict[str, str]
    body: str
    isBase64Encoded: bool
    cookies: NotRequired[list[str]]


class LambdaContext(Protocol):
    """What Lethe uses of Lambda's context object."""

    @property
    def aws_request_id(self) -> str:
        """The id of this invocation."""
        ...

    def get_remaining_time_in_millis(self) -> int:
        """How long the function may still run."""
        ...
