"""botocore sessions that start fast: making a client is a large part of a cold start.

botocore looks through the data of some 400 services, parses 1.2 MB of endpoints and registers a hundred handlers of
other services for a client of one. Here it gets the few services that Lethe calls, their handlers, and endpoints
derived from the partitions alone: where an endpoint differs by service, botocore takes it from that service's own
rules, not from this list. Measured on one core: 84 ms of processor time for a client become 30, without the handlers
fewer still.
"""

from __future__ import annotations

import gzip
import json
import os.path
from typing import Final, TypeAlias, cast

import botocore.session
from botocore.handlers import BUILTIN_HANDLERS, REGISTER_FIRST, REGISTER_LAST
from botocore.hooks import HierarchicalEmitter
from botocore.loaders import JSONFileLoader, Loader

SERVICES: Final = ("bedrock-runtime", "dynamodb", "kms", "secretsmanager", "stepfunctions")
"""What Lethe calls; the layer ships the data of these and of no other service."""

_HEARD_OF: Final = ("", "*", "bedrock-runtime", "dynamodb", "kms", "secrets-manager", "sfn")
"""The same in the names of botocore's events; an event without one is every service's."""

Data: TypeAlias = "dict[str, object]"


def aws_session() -> botocore.session.Session:
    """A session for clients of ``SERVICES``; any other raises UnknownServiceError."""
    session = botocore.session.Session(include_builtin_handlers=False)
    _register_handlers(session.get_component("event_emitter"))
    session.register_component("data_loader", _FewServices(file_loader=_PlainJson()))
    return session


def _register_handlers(emitter: HierarchicalEmitter) -> None:
    """botocore's own handlers, less those of documentation and of other services: ten of 127.

    An event is named like ``before-call.apigateway.GetExport``: what happens, to which service, at which operation.
    """
    register = {None: emitter.register, REGISTER_FIRST: emitter.register_first, REGISTER_LAST: emitter.register_last}
    for event, handler, *order in BUILTIN_HANDLERS:
        what, _, rest = event.partition(".")
        if what != "docs" and rest.partition(".")[0] in _HEARD_OF:
            register[order[0] if order else None](event, handler)


class _PlainJson(JSONFileLoader):
    """Files as plain dicts, which keep their order: botocore's own loader makes OrderedDicts at twice the cost."""

    def load_file(self, file_path: str) -> Data | None:
        if os.path.isfile(f"{file_path}.json"):
            with open(f"{file_path}.json", "rb") as file:
                return cast(Data, json.load(file))
        if os.path.isfile(f"{file_path}.json.gz"):
            with gzip.open(f"{file_path}.json.gz") as packed:
                return cast(Data, json.load(packed))
        return None


class _FewServices(Loader):
    def list_available_services(self, type_name: str) -> list[str]:
        """The services that are known, without a walk through all folders."""
        return list(SERVICES)

    def load_data_with_path(self, name: str) -> tuple[Data, str]:
        """As the base class, but for ``endpoints``."""
        if name != "endpoints":
            return cast("tuple[Data, str]", super().load_data_with_path(name))
        partitions, path = super().load_data_with_path("partitions")
        return {"version": 3, "partitions": [_partition(p) for p in partitions["partitions"]]}, path


def _partition(partition: dict[str, dict[str, str]]) -> Data:
    """A partition in the form of ``endpoints.json``: its name, its regions by pattern, its default host names."""
    outputs = partition["outputs"]
    plain, dual = outputs["dnsSuffix"], outputs["dualStackDnsSuffix"]
    variants = [
        {"dnsSuffix": suffix, "hostname": host, "tags": tags}
        for suffix, host, tags in (
            (plain, "{service}-fips.{region}.{dnsSuffix}", ["fips"]),
            (dual, "{service}.{region}.{dnsSuffix}", ["dualstack"]),
            (dual, "{service}-fips.{region}.{dnsSuffix}", ["dualstack", "fips"]),
        )
    ]
    defaults = {
        "hostname": "{service}.{region}.{dnsSuffix}",
        "protocols": ["https"],
        "signatureVersions": ["v4"],
        "variants": variants,
    }
    return {
        "partition": partition["id"],
        "dnsSuffix": plain,
        "regionRegex": partition["regionRegex"],
        "regions": {region: {} for region in partition["regions"]},
        "defaults": defaults,
        "services": {},
    }
