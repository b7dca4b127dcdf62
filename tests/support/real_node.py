"""Whether a real OpenSearch node can be had on this machine."""

from __future__ import annotations

from functools import cache

from lethe_local.opensearch_node import build_node


@cache
def why_no_node() -> str | None:
    """Why there is none: no Java, no Maven, or Maven reaches no artifacts; None when there is one. Builds it once."""
    try:
        build_node(lambda words: None)
    except RuntimeError as error:
        return str(error)
    return None
