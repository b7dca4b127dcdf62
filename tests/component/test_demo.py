"""The demo's story, told against the running stack with an embedder that knows words only.

Whether the evidence is found is for `make demo`, which has the real model; here everything else must hold.
"""

import io

from rich.console import Console

from lethe_local.demo.screen import Screen
from lethe_local.demo.stores import Stores
from lethe_local.demo.story import Behind, Story
from tests.support.api import ApiStack


def test_the_story_can_be_told(api_stack: ApiStack) -> None:
    out = io.StringIO()
    screen = Screen(Console(file=out, width=96))
    stores = Stores(api_stack.local.environment, api_stack.local.folder)
    Story(api_stack.local.url, Behind(api_stack.access, stores), screen).tell()
    about_relevance = ("“", "outcome ", "the evidence ", "all 2 pieces ", "all 3 pieces ")
    others = [check for check in screen.checks if not check.claim.startswith(about_relevance)]
    assert len(others) == 33
    assert [check.claim for check in others if not check.holds] == []
    assert len(screen.checks) - len(others) == 13
    assert "125 turns in 10 sessions" in out.getvalue()
    assert max(map(len, out.getvalue().splitlines())) <= 96
