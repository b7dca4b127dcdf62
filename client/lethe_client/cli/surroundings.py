"""What a command may touch of the world around it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeAlias, TypeVar

from lethe_client.cli.failures import UsageError
from lethe_client.cli.stack import cloudformation_outputs

if TYPE_CHECKING:
    from lethe.ports import Signer
    from lethe.services.access import Access
    from lethe.services.audit import AuditDesk
    from lethe.services.erasure.replay import Replay
    from lethe.services.erasure.tenants import TenantAdmission
    from lethe.services.reconcile import Reconciler
    from lethe.services.reembedding import Reembedder

Service = TypeVar("Service")
Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What a module adds its commands to."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Environment, folder, streams, how to reach what a command works on, and the outputs of a deployed stack by its
    name; tests hand in their own."""

    environment: Mapping[str, str]
    folder: Path
    out: TextIO
    err: TextIO
    build_access: Callable[[Mapping[str, str]], Access]
    build_reconciler: Callable[[Mapping[str, str]], Reconciler]
    build_reembedder: Callable[[Mapping[str, str]], Reembedder]
    build_audit: Callable[[Mapping[str, str]], AuditDesk]
    build_admission: Callable[[Mapping[str, str]], TenantAdmission]
    build_replay: Callable[[Mapping[str, str]], Replay]
    build_signer: Callable[[Mapping[str, str]], Signer]
    stack_outputs: Callable[[str], Mapping[str, str]]


def real_surroundings() -> Surroundings:
    """Those of this process."""
    services = (
        _build_access,
        _build_reconciler,
        _build_reembedder,
        _build_audit,
        _build_admission,
        _build_replay,
        _build_signer,
        cloudformation_outputs,
    )
    return Surroundings(dict(os.environ), Path.cwd(), sys.stdout, sys.stderr, *services)


def _build_reconciler(environment: Mapping[str, str]) -> Reconciler:
    from lethe.entry.wiring.search import reconciler

    return _built(reconciler, environment)


def _build_reembedder(environment: Mapping[str, str]) -> Reembedder:
    from lethe.entry.wiring.embedding import reembedder

    return _built(reembedder, environment)


def _build_audit(environment: Mapping[str, str]) -> AuditDesk:
    from lethe.entry.wiring.access import audit_desk

    return _built(audit_desk, environment)


def _build_admission(environment: Mapping[str, str]) -> TenantAdmission:
    from lethe.entry.wiring.operator import tenant_admission

    return _built(tenant_admission, environment)


def _build_replay(environment: Mapping[str, str]) -> Replay:
    from lethe.entry.wiring.operator import replay

    return _built(replay, environment)


def _build_signer(environment: Mapping[str, str]) -> Signer:
    from lethe.entry.wiring.erasing import receipt_signer

    return _built(receipt_signer, environment)


def _built(build: Callable[[Mapping[str, str]], Service], environment: Mapping[str, str]) -> Service:
    """The service of ``environment``, for whose AWS library this process is set up. Raises UsageError."""
    os.environ.update(aws_variables(environment))
    try:
        return build(environment)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _build_access(environment: Mapping[str, str]) -> Access:
    # Imported here: the HTTP commands need nothing of it, and it takes longer than they do.
    from pydantic import ValidationError

    from lethe.entry.wiring.access import access_service

    os.environ.update(aws_variables(environment))
    try:
        return access_service(environment)
    except ValidationError as error:
        named = (f"LETHE_{'_'.join(map(str, item['loc'])).upper()}: {item['msg']}" for item in error.errors())
        raise UsageError("; ".join(named)) from error


def aws_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """What the AWS library must find in this process: the laptop stack's own variables, or those of the shell.

    Tables of a laptop ask for credentials and check none; where there are no others, they get made-up ones.
    """
    variables = {name: value for name, value in environment.items() if name.startswith("AWS_")}
    has_credentials = any(variables.get(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"))
    if environment.get("LETHE_DYNAMODB_ENDPOINT") and not has_credentials:
        variables |= {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
    return variables
