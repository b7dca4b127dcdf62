"""The functions on real tables, called as Lambda calls them: no gateway, no HTTP, no authorizer in between."""

import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from lethe.domain.json_values import JsonObject, JsonValue
from lethe.entry.events import Event, HttpResponse
from lethe_local.backends import Backend, TablesWanted, choose_binary, open_backend
from lethe_local.intrinsics import REGION
from lethe_local.template import Template, read_template

ROOT = Path(__file__).resolve().parents[2]
TENANT = "bench"
_MASTER_KEY = "bench-speed-master-key-of-no-worth-0000"
_numbers = itertools.count()

Handler: TypeAlias = "Callable[[Event, Context], HttpResponse]"


@dataclass(frozen=True)
class Context:
    """What the handlers use of Lambda's context."""

    aws_request_id: str = "bench"

    def get_remaining_time_in_millis(self) -> int:
        return 25_000


@dataclass(frozen=True)
class Tables:
    """Running tables, and the environment that each function of the template gets for them."""

    backend: Backend
    template: Template

    def environment(self, function: str) -> dict[str, str]:
        """Of the function in the folder ``function``."""
        (resource,) = [r for r in self.template.functions.values() if r.name == function]
        return {**resource.environment, **process_variables(), **self._overrides()}

    def shared_environment(self) -> dict[str, str]:
        """Of the access service, which is no function."""
        names = self.template.table_names
        return {"LETHE_ACCESS_TABLE": names["AccessTable"], **self._overrides()}

    def _overrides(self) -> dict[str, str]:
        return {
            "LETHE_DYNAMODB_ENDPOINT": self.backend.url,
            "LETHE_MASTER_KEY": _MASTER_KEY,
            "LETHE_SECRET_ARN": "",
            "LETHE_EMBEDDER": "local",
        }


def process_variables() -> dict[str, str]:
    """What the AWS libraries read: made-up credentials, so that no call can reach an account."""
    made_up = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
    return {**made_up, "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION, "POWERTOOLS_TRACE_DISABLED": "true"}


@contextmanager
def open_tables() -> Iterator[Tables]:
    """The template's tables, empty, on dynoxide when it can be had, else on moto."""
    with ExitStack() as resources:
        state = Path(resources.enter_context(tempfile.TemporaryDirectory(prefix="lethe-bench-")))
        template = read_template(ROOT / "template.yaml")
        os.environ.update(process_variables())
        binary = choose_binary("auto", ROOT, ROOT / ".lethe" / "tools", lambda line: None)
        backend = open_backend(TablesWanted(template.tables, template.table_names), state, binary, None)
        resources.callback(backend.stop)
        yield Tables(backend, template)


def event(route: str, body: JsonObject | None = None, path: Mapping[str, str] | None = None) -> Event:
    """An event of the gateway for ``route`` such as ``POST /v1/memories``, the authorizer's context in it."""
    caller: JsonObject = {
        "authenticated": True,
        "tenant": TENANT,
        "actor": "key:bench",
        "key": "bench",
        "permissions": "read write erase govern admin",
        "subjects": "*",
    }
    made: Event = {
        "routeKey": route,
        "rawPath": route.partition(" ")[2],
        "headers": {"content-type": "application/json"},
        "requestContext": {"authorizer": {"lambda": caller}, "requestId": "bench"},
        "isBase64Encoded": False,
    }
    if body is not None:
        made["body"] = json.dumps(body)
    if path:
        made["pathParameters"] = dict(path)
    return made


def call(handler: Handler, made: Event) -> JsonValue:
    """The answer's body. Raises as ``check`` does."""
    answer = handler(made, Context())
    check(made, answer)
    return json.loads(answer["body"]) if answer["body"] else None


def check(made: Event, answer: HttpResponse) -> None:
    """Raises RuntimeError on anything but a success: a benchmark of errors means nothing."""
    if not 200 <= answer["statusCode"] < 300:
        raise RuntimeError(f"{made['routeKey']} answered {answer['statusCode']}: {answer['body']}")


def new_user() -> str:
    """A user id that nobody had before in this run."""
    return f"user-{next(_numbers)}"
