"""Pages of what is accepted, over pages of everything: nothing twice, nothing left out, no empty last page."""

from __future__ import annotations

import pytest

from lethe.ports import Page
from lethe.services.pages import accepted_pages


def page_of(most: int, after: str | None) -> Page[str]:
    everything = [f"{n:02d}" for n in range(20)]
    rest = [thing for thing in everything if after is None or thing > after]
    return Page(tuple(rest[:most]), rest[most - 1] if len(rest) > most else None)


@pytest.mark.parametrize("limit", range(1, 23))
@pytest.mark.parametrize("every", [1, 2, 3, 7, 20, 21])
@pytest.mark.parametrize("stretch", [1, 6, 200])
def test_all_that_is_accepted_comes_once_and_in_order(limit: int, every: int, stretch: int) -> None:
    wanted = [f"{n:02d}" for n in range(20) if n % every == every - 1]
    found: list[str] = []

    def accepts(thing: str) -> bool:
        return thing in wanted

    start: str | None = None
    pages = 0
    while True:
        page = accepted_pages(page_of, accepts, lambda thing: thing, limit, start, stretch)
        assert len(page.items) <= limit
        found += page.items
        pages += 1
        start = page.next_key
        if start is None:
            break
    assert found == wanted
    assert pages <= len(wanted) // limit + 1
