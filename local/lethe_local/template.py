"""Reads template.yaml: what CloudFormation would make of it, reduced to what runs on a laptop.

The SAM translator expands the template as it does on AWS; this module then looks at the plain resources that come
out: Lambda functions, the HTTP API's routes and authorizers, DynamoDB tables, event source mappings, state machines,
schedules.
"""

from __future__ import annotations

import copy
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import boto3

# The translator ships no types.
from samtranslator.model.exceptions import InvalidDocumentException  # type: ignore[import-untyped]  # see above
from samtranslator.parser.parser import Parser  # type: ignore[import-untyped]  # see above
from samtranslator.translator.translator import Translator  # type: ignore[import-untyped]  # see above
from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-untyped]  # see above

from lethe.domain.json_values import JsonObject, JsonValue
from lethe_local.event_sources import EventSource, read_event_source, stream_arn
from lethe_local.intrinsics import ACCOUNT, REGION, STACK, Resolver, TemplateError, function_arn
from lethe_local.workflows import (
    ScheduleResource,
    StateMachineResource,
    read_schedule,
    read_state_machine,
)

_BUCKET = "the-folder-beside-the-template"
_TABLE_PARTS = (
    "KeySchema",
    "AttributeDefinitions",
    "GlobalSecondaryIndexes",
    "LocalSecondaryIndexes",
    "StreamSpecification",
    "TimeToLiveSpecification",
)
_INVOKED = re.compile(r"/functions/arn:aws:lambda:[^:]*:[^:]*:function:([^/]+)/invocations$")
_HTTP_METHODS = frozenset({"get", "put", "post", "delete", "patch", "head", "options"})


@dataclass(frozen=True, slots=True)
class FunctionResource:
    """One Lambda function: its folder beside the template, handler, limits and environment, all values resolved."""

    logical_id: str
    folder: Path
    handler: str
    timeout_seconds: int
    memory_mb: int
    environment: Mapping[str, str]

    @property
    def name(self) -> str:
        """The name of its folder, such as ``recall``."""
        return self.folder.name


@dataclass(frozen=True, slots=True)
class AuthorizerResource:
    """A Lambda authorizer of payload 2.0 with simple answers; identity sources as API Gateway writes them."""

    name: str
    function: str
    identity_sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Route:
    """One route: method (``ANY`` for all), path template (``$default`` for the rest), function, authorizer."""

    method: str
    path: str
    function: str
    authorizer: str | None

    @property
    def key(self) -> str:
        """The route key as events carry it, such as ``GET /v1/health`` or ``$default``."""
        return self.path if self.path == "$default" else f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Template:
    """What the local stack makes real. Functions and tables by logical id; ``table_names`` are their real names."""

    functions: Mapping[str, FunctionResource]
    routes: tuple[Route, ...]
    authorizers: Mapping[str, AuthorizerResource]
    tables: Mapping[str, JsonObject]
    table_names: Mapping[str, str]
    parameters: Mapping[str, str]
    event_sources: tuple[EventSource, ...] = ()
    state_machines: tuple[StateMachineResource, ...] = ()
    schedules: tuple[ScheduleResource, ...] = ()


def read_template(path: Path, parameters: Mapping[str, str] | None = None) -> Template:
    """Read and expand the template at ``path`` with ``parameters`` over its defaults.

    Raises TemplateError for anything that is wrong or that the local stack does not know, and OSError.
    """
    expanded = expand(path, parameters or {})
    kinds = {name: str(item["Type"]) for name, item in _resources(expanded)}
    names: dict[str, str] = {}
    resolver = Resolver(
        expanded,
        parameters or {},
        references=lambda logical_id: _physical_id(logical_id, kinds, names),
        attributes=lambda logical_id, attribute: _attribute(logical_id, attribute, kinds, names),
    )
    tables = _of_kind(expanded, "AWS::DynamoDB::Table", resolver)
    for logical_id, properties in tables.items():
        given = resolver.resolve(properties.get("TableName"))
        names[logical_id] = given if isinstance(given, str) else _table_name(logical_id)
    lambdas = _of_kind(expanded, "AWS::Lambda::Function", resolver)
    api = _api_body(expanded, resolver)
    authorizers = _authorizers(api)
    return Template(
        functions={name: _function(path.parent, name, properties, resolver) for name, properties in lambdas.items()},
        routes=tuple(_routes(api, authorizers)),
        authorizers=authorizers,
        tables={name: _table(properties, resolver) for name, properties in tables.items()},
        table_names=names,
        parameters=resolver.parameters,
        event_sources=tuple(_event_sources(expanded, resolver, lambdas)),
        state_machines=tuple(_state_machines(path.parent, expanded, resolver)),
        schedules=tuple(_schedules(expanded, resolver, lambdas)),
    )


def expand(path: Path, parameters: Mapping[str, str]) -> JsonObject:
    """The template as plain CloudFormation, by the SAM translator. Raises TemplateError with its own words."""
    source = copy.deepcopy(yaml_parse(path.read_text(encoding="utf-8")))
    if not isinstance(source, dict) or "Resources" not in source:
        raise TemplateError(f"{path.name} is no template")
    _name_folders(source)
    # It warns that nobody collects the figures it keeps about itself.
    logging.getLogger("samtranslator.metrics").setLevel(logging.ERROR)
    session = boto3.session.Session(region_name=REGION)
    translator = Translator({}, Parser(), boto_session=session)
    declared = source.get("Parameters", {})
    values = {name: str(item["Default"]) for name, item in declared.items() if "Default" in item} | dict(parameters)
    try:
        expanded: JsonObject = translator.translate(source, parameter_values=values)
    except InvalidDocumentException as error:
        causes = "; ".join(str(cause.message) for cause in error.causes)
        raise TemplateError(f"{path.name}: {causes}") from error
    return expanded


def _name_folders(holder: JsonValue) -> None:
    """Turn local folders into S3 addresses: the translator takes no folders, `sam package` does this before."""
    if not isinstance(holder, dict):
        return
    for name, value in holder.items():
        if name in ("CodeUri", "ContentUri", "DefinitionUri") and isinstance(value, str) and "://" not in value:
            holder[name] = f"s3://{_BUCKET}/{value.removeprefix('./')}"
        else:
            _name_folders(value)


def _resources(expanded: JsonObject) -> list[tuple[str, JsonObject]]:
    resources = _object(expanded.get("Resources", {}), "Resources")
    return [(logical_id, _object(resource, logical_id)) for logical_id, resource in resources.items()]


def _of_kind(expanded: JsonObject, kind: str, resolver: Resolver) -> dict[str, JsonObject]:
    """The properties of all resources of one type whose condition holds, by logical id."""
    found: dict[str, JsonObject] = {}
    for logical_id, resource in _resources(expanded):
        condition = resource.get("Condition")
        if resource.get("Type") == kind and (condition is None or resolver.condition(str(condition))):
            found[logical_id] = _object(resource.get("Properties", {}), logical_id)
    return found


def _api_body(expanded: JsonObject, resolver: Resolver) -> JsonObject:
    apis = _of_kind(expanded, "AWS::ApiGatewayV2::Api", resolver)
    if len(apis) > 1:
        raise TemplateError("the local stack serves one HTTP API")
    for logical_id, properties in apis.items():
        return _object(resolver.resolve(properties.get("Body")), logical_id)
    return {}


def _table_name(logical_id: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", logical_id.removesuffix("Table")).lower()
    return f"{STACK}-{words}"


def _physical_id(logical_id: str, kinds: Mapping[str, str], table_names: Mapping[str, str]) -> str:
    if logical_id not in kinds:
        raise TemplateError(f"nothing in the template is called {logical_id}")
    # A resource that has no meaning on a laptop still has an id there, so that settings can name it.
    return table_names.get(logical_id, f"{STACK}-{logical_id}")


def _attribute(logical_id: str, attribute: str, kinds: Mapping[str, str], table_names: Mapping[str, str]) -> str:
    physical = _physical_id(logical_id, kinds, table_names)
    kind = kinds[logical_id]
    if attribute == "Arn" and kind == "AWS::Lambda::Function":
        return function_arn(logical_id)
    if attribute == "Arn" and kind == "AWS::DynamoDB::Table":
        return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{physical}"
    if attribute == "StreamArn" and kind == "AWS::DynamoDB::Table":
        return stream_arn(physical, "latest")  # its label is known once the table is there
    if attribute.endswith("Endpoint"):
        return f"{physical}.{attribute}.invalid".lower()  # nothing answers there; the laptop's settings name what does
    if attribute == "Arn":
        service = kind.split("::")[1].lower()
        return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{physical}"
    raise TemplateError(f"the local stack does not know the attribute {logical_id}.{attribute}")


def _function(root: Path, logical_id: str, properties: JsonObject, resolver: Resolver) -> FunctionResource:
    code = _object(properties.get("Code"), logical_id)
    if code.get("S3Bucket") != _BUCKET:
        raise TemplateError(f"{logical_id}: its CodeUri must be a folder beside the template")
    variables = _object(properties.get("Environment", {}), logical_id).get("Variables", {})
    resolved = _object(resolver.resolve(variables), logical_id)
    return FunctionResource(
        logical_id=logical_id,
        folder=root / str(code["S3Key"]).rstrip("/"),
        handler=str(resolver.resolve(properties.get("Handler"))),
        timeout_seconds=_integer(resolver.resolve(properties.get("Timeout", 3)), f"{logical_id}.Timeout"),
        memory_mb=_integer(resolver.resolve(properties.get("MemorySize", 128)), f"{logical_id}.MemorySize"),
        environment={name: _variable(value, f"{logical_id}.{name}") for name, value in resolved.items()},
    )


def _variable(value: JsonValue, where: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, (str, int, float)):
        raise TemplateError(f"{where} must be text")
    return str(value)


def _authorizers(api: JsonObject) -> dict[str, AuthorizerResource]:
    schemes = _object(_object(api.get("components", {}), "components").get("securitySchemes", {}), "securitySchemes")
    found = {}
    for name, scheme in schemes.items():
        settings = _object(_object(scheme, name).get("x-amazon-apigateway-authorizer"), f"the authorizer {name}")
        if settings.get("type") != "request" or settings.get("authorizerPayloadFormatVersion") != "2.0":
            raise TemplateError(f"the authorizer {name} must be a Lambda authorizer with payload 2.0")
        if not settings.get("enableSimpleResponses"):
            raise TemplateError(f"the authorizer {name} must answer simply: EnableSimpleResponses")
        if settings.get("authorizerResultTtlInSeconds", 0) != 0:
            raise TemplateError(f"the authorizer {name}: the local stack keeps no answers; set ReauthorizeEvery: 0")
        sources = settings.get("identitySource", [])
        if isinstance(sources, str) or not isinstance(sources, Sequence):
            raise TemplateError(f"the authorizer {name}: identity sources must be a list")
        found[name] = AuthorizerResource(
            name=name,
            function=_invoked(settings.get("authorizerUri"), f"the authorizer {name}"),
            identity_sources=tuple(str(source) for source in sources),
        )
    return found


def _routes(api: JsonObject, authorizers: Mapping[str, AuthorizerResource]) -> Iterator[Route]:
    for path, methods in _object(api.get("paths", {}), "paths").items():
        for method, operation in _object(methods, path).items():
            if method in _HTTP_METHODS:
                verb = method.upper()
            elif method == "x-amazon-apigateway-any-method":
                verb = "ANY"
            else:
                raise TemplateError(f"{path}: the local stack does not know {method}")
            yield _route(verb, path, _object(operation, path), authorizers)


def _route(verb: str, path: str, operation: JsonObject, authorizers: Mapping[str, AuthorizerResource]) -> Route:
    where = f"{verb} {path}"
    integration = _object(operation.get("x-amazon-apigateway-integration"), where)
    if integration.get("type") != "aws_proxy" or integration.get("payloadFormatVersion") != "2.0":
        raise TemplateError(f"{where} must invoke a function with payload 2.0")
    security = operation.get("security", [])
    if isinstance(security, str) or not isinstance(security, Sequence):
        raise TemplateError(f"{where}: security must be a list")
    names = [name for requirement in security for name in _object(requirement, where) if name != "NONE"]
    if len(names) > 1 or any(name not in authorizers for name in names):
        raise TemplateError(f"{where} must have one declared authorizer or none")
    # The default route of an imported definition carries a path all the same, with or without the slash.
    path = "$default" if path.removeprefix("/") == "$default" else path
    return Route(verb, path, _invoked(integration.get("uri"), where), names[0] if names else None)


def _invoked(uri: JsonValue, where: str) -> str:
    match = _INVOKED.search(uri) if isinstance(uri, str) else None
    if match is None:
        raise TemplateError(f"{where} must invoke a function of this template")
    return match[1]


def _event_sources(
    expanded: JsonObject, resolver: Resolver, functions: Mapping[str, JsonObject]
) -> Iterator[EventSource]:
    for logical_id, properties in _of_kind(expanded, "AWS::Lambda::EventSourceMapping", resolver).items():
        resolved = _object(resolver.resolve(properties), logical_id)
        source = read_event_source(logical_id, resolved)
        if source is not None:
            if source.function not in functions:
                raise TemplateError(f"{logical_id} must invoke a function of this template")
            yield source


def _state_machines(root: Path, expanded: JsonObject, resolver: Resolver) -> Iterator[StateMachineResource]:
    for logical_id, properties in _of_kind(expanded, "AWS::StepFunctions::StateMachine", resolver).items():
        resolved = _object(resolver.resolve(properties), logical_id)
        yield read_state_machine(root, _BUCKET, logical_id, resolved)


def _schedules(
    expanded: JsonObject, resolver: Resolver, functions: Mapping[str, JsonObject]
) -> Iterator[ScheduleResource]:
    for logical_id, properties in _of_kind(expanded, "AWS::Events::Rule", resolver).items():
        schedule = read_schedule(logical_id, _object(resolver.resolve(properties), logical_id))
        if schedule is not None:
            if schedule.function not in functions:
                raise TemplateError(f"{logical_id} must invoke a function of this template")
            yield schedule


def _table(properties: JsonObject, resolver: Resolver) -> JsonObject:
    return {part: resolver.resolve(properties[part]) for part in _TABLE_PARTS if part in properties}


def _object(value: JsonValue, where: str) -> JsonObject:
    if not isinstance(value, Mapping):
        raise TemplateError(f"{where}: a map is expected")
    return value


def _integer(value: JsonValue, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str)) or not str(value).isdecimal():
        raise TemplateError(f"{where} must be a whole number")
    return int(value)
