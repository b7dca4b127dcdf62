"""The search index of a stack: an OpenSearch to run on, an index for the embedder's model, the settings for both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from lethe.adapters.embedders import make_embedder
from lethe.adapters.opensearch.administration import IndexAdministration
from lethe.adapters.opensearch.connection import Cluster, make_client
from lethe.adapters.opensearch.flavours import Flavour
from lethe.domain.embedding import EmbeddingModel
from lethe_local.intrinsics import REGION
from lethe_local.node_watch import NodeWatch
from lethe_local.opensearch_node import NodeWanted, OpenSearchNode, version_at

ALIAS = "lethe-memories"
PARAMETERS = {"SearchEngine": "managed"}
"""The parameters under which the template has what an index needs; the laptop's settings say where it is."""


@dataclass(frozen=True, slots=True)
class SearchBackend:
    """A running OpenSearch: its address, a line that says what it is, the settings for it, and how to stop it.

    ``node`` is the process when it is one of the stack's own; ``is_whole`` whether the index holds what it should.
    """

    url: str
    description: str
    settings: Mapping[str, str]
    stop: Callable[[], None]
    node: OpenSearchNode | None
    is_whole: bool


def open_search(
    wanted: NodeWanted, home: Path, embedder: Mapping[str, str], say: Callable[[str], None]
) -> SearchBackend:
    """Start or find the OpenSearch that is ``wanted``, and make the index where it is missing.

    ``home`` is where a node of the stack's own has its data, ``embedder`` the LETHE_EMBEDDER settings. Raises
    RuntimeError, in words, when there is none, ValueError, and what the adapter raises.
    """
    if find_spec("opensearchpy") is None:
        raise RuntimeError(
            "the client of OpenSearch is not installed: make dev OPENSEARCH=1 does it, or pip install "
            "--requirement requirements/opensearch.txt"
        )
    if wanted.url is not None:
        node, url, stop, where = None, wanted.url, _nothing, "which runs by itself"
    else:
        say("starting OpenSearch, which takes from some seconds to a minute")
        node = OpenSearchNode.start(home, heap=wanted.heap, say=say)
        url, stop, where = node.url, _watched(node, say), f"data in {home.name}"
    try:
        line = f"search on OpenSearch {version_at(url)} at {url}, {where}, fed by the stream of the table of memories"
        is_whole = prepare_index(url, _model(embedder))
    except BaseException:
        stop()
        raise
    settings = {
        "LETHE_SEARCH_ENGINE": "opensearch",
        "LETHE_OPENSEARCH_URL": url,
        "LETHE_OPENSEARCH_FLAVOUR": Flavour.LOCAL.value,
        "LETHE_OPENSEARCH_ALIAS": ALIAS,
        "LETHE_DEAD_LETTERS_URL": "",
        "LETHE_DEAD_LETTERS_FILE": str(home.resolve().parent / "dead-letters.jsonl"),  # no queue is here
    }
    return SearchBackend(url, line, settings, stop, node, is_whole)


def prepare_index(url: str, model: EmbeddingModel) -> bool:
    """Make the index for vectors of ``model`` unless it is there.

    Whether it was ever whole: a new one is not, nor one whose filling was cut short.
    """
    client = make_client(url, Flavour.LOCAL, REGION)
    try:
        administration = IndexAdministration(Cluster(client, Flavour.LOCAL), ALIAS, model)
        return not administration.make() and administration.shown()
    finally:
        client.close()


def _watched(node: OpenSearchNode, say: Callable[[str], None]) -> Callable[[], None]:
    """Watch over ``node``; what is returned ends both."""
    watch = NodeWatch(node, say)
    watch.start()

    def stop() -> None:
        watch.stop()
        node.stop()

    return stop


def _nothing() -> None:
    """A node that is not ours goes on."""


def _model(settings: Mapping[str, str]) -> EmbeddingModel:
    name, url = settings["LETHE_EMBEDDER"], settings.get("LETHE_EMBEDDER_URL") or None
    return make_embedder(name, region=REGION, url=url).model
