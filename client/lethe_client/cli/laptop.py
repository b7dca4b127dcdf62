"""Finds the running laptop stack by its `.lethe/dev.json`."""

import json
from dataclasses import dataclass
from pathlib import Path

from lethe_client.cli.failures import UsageError
from lethe_client.json_types import JsonValue

DEV_FILE = Path(".lethe") / "dev.json"


@dataclass(frozen=True, slots=True)
class Laptop:
    """What a running laptop stack says about itself.

    Attributes:
        url: where it answers.
        api_key: a key that works there.
        environment: the settings of its functions, by environment variable.
    """

    url: str
    api_key: str
    environment: dict[str, str]


def find_laptop(folder: Path) -> Laptop | None:
    """The laptop stack of this folder or of the nearest one above it; None when there is none.

    Raises:
        UsageError: the file is there and cannot be read as what it should be.
    """
    for above in (folder, *folder.parents):
        path = above / DEV_FILE
        if path.is_file():
            return _parse(path)
    return None


def _parse(path: Path) -> Laptop:
    try:
        value: JsonValue = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read ({type(error).__name__})") from None
    data = value if isinstance(value, dict) else {}
    url, key, environment = data.get("url"), data.get("api_key"), data.get("environment", {})
    if not isinstance(url, str) or not isinstance(key, str) or not isinstance(environment, dict):
        raise UsageError(f"{path} is not the file of a laptop stack")
    return Laptop(url, key, {name: text for name, text in environment.items() if isinstance(text, str)})
