"""Walks the pages of a list."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from lethe_client.fields import Fields
from lethe_client.json_types import JsonObject
from lethe_client.models import Page

T = TypeVar("T")


def page_of(body: JsonObject, name: str, make: Callable[[JsonObject], T]) -> Page[T]:
    """The page in an answer whose items stand under `name`."""
    fields = Fields(body, "page")
    return Page(fields.objects(name, make), fields.optional_text("next_cursor"))


def every(fetch: Callable[[str | None], Page[T]]) -> Iterator[T]:
    """All items of all pages; the next page is fetched when the last item of this one was taken."""
    cursor: str | None = None
    while True:
        page = fetch(cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return
