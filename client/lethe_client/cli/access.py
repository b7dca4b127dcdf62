"""The way from a command to the access table: tenants and API keys are made by whoever owns the tables.

The service behind it is the same one that the authorizer's data comes from; it is imported only when a
command needs it, so that the HTTP commands and the SDK stay free of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lethe_client.cli.failures import CommandError, UsageError
from lethe_client.cli.laptop import find_laptop
from lethe_client.cli.surroundings import Surroundings

if TYPE_CHECKING:
    from lethe.services.access import Access

ACCESS_TABLE = "LETHE_ACCESS_TABLE"
LEDGER_TABLE = "LETHE_LEDGER_TABLE"


@contextmanager
def open_access(stack: str | None, around: Surroundings) -> Iterator[Access]:
    """The access service of a deployed stack, of the environment, or of the running laptop stack.

    What the service refuses becomes a CommandError with its own words.

    Raises:
        UsageError: nothing says where the access table is.
    """
    environment = access_environment(stack, around)
    with told():
        yield around.build_access(environment)


@contextmanager
def told() -> Iterator[None]:
    """What the service refuses becomes a CommandError with its own words."""
    from lethe.errors import LetheError

    try:
        yield
    except LetheError as error:
        raise CommandError(str(error)) from error


def access_environment(stack: str | None, around: Surroundings) -> Mapping[str, str]:
    """The environment that names the access table.

    In this order: the stack that was named, the variables of this process, the laptop stack of this folder.
    """
    return stack_environment(stack, around, ACCESS_TABLE, "no access table")


def stack_environment(
    stack: str | None, around: Surroundings, demanded: str, without: str, without_in_stack: str | None = None
) -> Mapping[str, str]:
    """The environment in which the variable ``demanded`` is set; ``without`` says what it means when nothing sets it,
    and ``without_in_stack`` when there is a stack that does not.

    Raises UsageError.
    """
    if stack is not None:
        from lethe_client.cli.stack import environment_of_stack

        # Settings of this shell are another stack's: what this one lacks is not to be taken from them.
        own = {name: value for name, value in around.environment.items() if not name.startswith("LETHE_")}
        found = {**own, **environment_of_stack(stack, around.stack_outputs)}
        if not found.get(demanded):
            raise UsageError(without_in_stack or without)
        return found
    if around.environment.get(demanded):
        return around.environment
    laptop = find_laptop(around.folder)
    if laptop is None:
        raise UsageError(
            f"{without}, since no stack runs here: start the laptop stack with `make dev`, name a stack with --stack, "
            f"or set {demanded}"
        )
    if not laptop.environment.get(demanded):
        raise UsageError(without_in_stack or f"{without}: the stack that runs here has none")
    return {**around.environment, **laptop.environment}
