"""Pages of what a caller may see, out of pages of everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from lethe.ports import Page

Thing = TypeVar("Thing")
STRETCH: Final = 200


def accepted_pages(
    page_of: Callable[[int, str | None], Page[Thing]],
    accepts: Callable[[Thing], bool],
    key: Callable[[Thing], str],
    limit: int,
    start: str | None,
    stretch: int = STRETCH,
) -> Page[Thing]:
    """The next ``limit`` things that are accepted, read on until there are so many or none is left.

    ``page_of`` gives a page of at most so many things behind the one with the key ``start``. It is asked for
    ``stretch`` at least, since few of them may be accepted.
    """
    found: list[Thing] = []
    while True:
        page = page_of(max(limit, stretch), start)
        for thing in page.items:
            if accepts(thing):
                found.append(thing)
            if len(found) == limit:
                more = thing is not page.items[-1] or page.next_key is not None
                return Page(tuple(found), key(thing) if more else None)
        start = page.next_key
        if start is None:
            return Page(tuple(found), None)
