"""Looks behind the API of the running stack: at every row of its tables, and at every byte of its files."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lethe.entry.wiring.erasing import receipt_signer
from lethe_local.backends import dynamodb_client

TABLE_FILES = ("dynoxide.db", "tables.json")


@dataclass(frozen=True, slots=True)
class FileWithWords:
    """A file in which texts were found: how many, and what a receipt calls such a place; None for any other file."""

    name: str
    texts: int
    surface: str | None


class Stores:
    """What a stack keeps, by the settings of its functions and the folder of its state."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._environment = environment
        self._folder = folder

    def public_key(self) -> bytes:
        """The public half of the key that signs receipts, as DER; `lethe receipt key` prints the same."""
        return receipt_signer(self._environment).public_key()

    def in_tables(self, texts: Sequence[str]) -> int:
        """How many of the texts stand in any row of any table."""
        stored = "\n".join(self._stored_texts())
        return sum(text in stored for text in texts)

    def in_files(self, texts: Sequence[str]) -> list[FileWithWords]:
        """The files of the state folder in which any of the texts stands, also as JSON escapes it."""
        wanted = [{form.encode() for form in _forms(text)} for text in texts]
        found: list[FileWithWords] = []
        for path in self._files():
            try:
                content = path.read_bytes()
            except FileNotFoundError:
                continue  # it was there a moment ago: a draft, or a segment that was merged
            count = sum(any(form in content for form in forms) for forms in wanted)
            if count:
                name = path.relative_to(self._folder)
                found.append(FileWithWords(str(name), count, _surface(name)))
        return found

    def _files(self) -> list[Path]:
        return sorted(Path(above) / name for above, _, names in os.walk(self._folder) for name in names)

    def _stored_texts(self) -> Iterator[str]:
        client = dynamodb_client(self._environment["LETHE_DYNAMODB_ENDPOINT"])
        try:
            for table in client.list_tables()["TableNames"]:
                for page in client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
                    for item in page["Items"]:
                        yield from texts_in(item)
        finally:
            client.close()


def texts_in(value: object) -> Iterator[str]:
    """Every text in a value, at any depth; names of members aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)


def _forms(text: str) -> set[str]:
    return {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}


def _surface(name: Path) -> str | None:
    if name.parts[0] == "opensearch":
        return "index_segments"
    return "table_file" if name.name.startswith(TABLE_FILES) else None
