"""The way from a command to the service over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lethe_client.cli.failures import CommandError, UsageError
from lethe_client.cli.laptop import find_laptop
from lethe_client.cli.surroundings import Surroundings
from lethe_client.client import Lethe
from lethe_client.errors import LetheConnectionError

URL, KEY = "LETHE_URL", "LETHE_API_KEY"


@contextmanager
def open_client(stack: str | None, around: Surroundings) -> Iterator[Lethe]:
    """A client for the deployed stack that was named; else for LETHE_URL; else for the laptop stack of this folder.

    Raises:
        UsageError: nothing, only half of it, or two services are named.
        CommandError: nobody answers there.
    """
    url, key, hint = _service(stack, around)
    try:
        with Lethe(url, key) as client:
            yield client
    except LetheConnectionError as error:
        raise CommandError(f"{error}; {hint}") from error
    except ValueError as error:
        # The SDK's word for arguments that cannot be sent, such as a url that is none.
        raise UsageError(str(error)) from error


def _service(stack: str | None, around: Surroundings) -> tuple[str, str, str]:
    """Address, key, and what to look at when nobody answers."""
    url, key = around.environment.get(URL), around.environment.get(KEY)
    if stack is not None:
        return _deployed(stack, around), _demanded(key, stack), "the address is that of the stack's output ApiUrl"
    if bool(url) != bool(key):
        raise UsageError(
            f"set both {URL} and {KEY}, or neither for the stack that runs here; with --stack NAME {KEY} is enough"
        )
    if url and key:
        return url, key, f"the address is that of {URL}"
    laptop = find_laptop(around.folder)
    if laptop is None:
        raise UsageError(f"no service: start one with `make dev`, set {URL} and {KEY}, or set {KEY} and name --stack")
    return laptop.url, laptop.api_key, f"start the stack again with `make dev`, or set {URL} and {KEY}"


def _deployed(stack: str, around: Surroundings) -> str:
    from lethe_client.cli.stack import environment_of_stack

    found = environment_of_stack(stack, around.stack_outputs).get(URL)
    if found is None:
        raise UsageError("the stack has no output ApiUrl")
    named = around.environment.get(URL)
    if named and named.rstrip("/") != found.rstrip("/"):
        raise UsageError(f"--stack and {URL} name two services: leave one of them out")
    return found


def _demanded(key: str | None, stack: str) -> str:
    if not key:
        raise UsageError(
            f"set {KEY} to a key of the stack; `lethe --stack {stack} keys create` makes one (what it may do: "
            "--permissions)"
        )
    return key
