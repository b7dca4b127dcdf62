"""Looking whether anything is left of what was erased, by means of its own.

Nothing here is shared with what stores or deletes: requests, names of keys and the judgement of holds are written once
more, from docs/erasure.md. A mistake in the one is thus no mistake in the other. ``tests/unit/test_imports.py`` holds
the two apart.
"""

from lethe.adapters.inspection.inspector import Inspector

__all__ = ["Inspector"]
