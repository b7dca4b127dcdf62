"""Which functions of the product stand for which step; the order is that of the tables."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from bench.speed.spans import Place, Recorder, Span, timing
from lethe.adapters import scan_index, scan_view
from lethe.adapters.dynamodb import bulk, client, heads, memories
from lethe.entry import application, observability
from lethe.entry.operations import memories as memory_operations
from lethe.entry.operations import recall as recall_operations
from lethe.entry.wiring import stores
from lethe.ports import Embedder
from lethe.services import recall, remember

PLACES: Final = (
    Place(application, "validated_body", "parse and validate"),
    Place(heads.DynamoSubjectHeads, "read", "read the head"),
    Place(recall.Recall, "_found", "wait for the embedding"),
    Place(memories.DynamoMemories, "all", "view: decode items"),
    Place(memories.DynamoMemories, "since", "view: decode items"),
    Place(scan_view, "analyse", "view: analyse texts"),
    Place(scan_view.View, "extended", "view: extend"),
    Place(scan_view.View, "select", "view: index words"),
    Place(scan_index.ScanIndex, "search", "filter and pick"),
    Place(scan_index, "analyse_query", "analyse the question"),
    Place(scan_index, "rank", "rank"),
    Place(recall.Recall, "_judged", "stages"),
    Place(recall, "assemble", "assemble"),
    Place(remember.Remember, "_store", "make memories"),
    Place(bulk, "_transaction", "make the transaction"),
    Place(memory_operations.MemoryReads, "search", "build the answer"),
    Place(memory_operations.MemoryWrites, "add", "build the answer"),
    Place(recall_operations.RecallReads, "recall", "build the answer"),
    Place(application, "_success", "serialise"),
    Place(observability.PowertoolsObserver, "served", "log and metrics"),
)
EMBED: Final = "embed"


class _CallHooks:
    """botocore's events around each call to the store, as spans."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._open: dict[object, Span] = {}

    def before(self, event_name: str, context: object = None, **_: object) -> None:
        self._open[id(context)] = self._recorder.begin("DynamoDB " + event_name.rpartition(".")[2])

    def after(self, context: object = None, **_: object) -> None:
        span = self._open.pop(id(context))
        self._recorder.end(span)
        self._recorder.calls.append(span)


@contextmanager
def watching(recorder: Recorder, embedder: Embedder) -> Iterator[None]:
    """Steps, calls to the store and embeddings of functions built inside the block go to ``recorder``."""
    hooks, make = _CallHooks(recorder), client.make_client

    def watched(*arguments: object, **named: object) -> object:
        made = make(*arguments, **named)  # type: ignore[arg-type]  # passed on as they came
        made.meta.events.register("before-parameter-build.dynamodb", hooks.before)
        made.meta.events.register("after-call.dynamodb", hooks.after)
        made.meta.events.register("after-call-error.dynamodb", hooks.after)
        return made

    stores._client.cache_clear()  # a client made before has no ears
    client.make_client = watched  # type: ignore[assignment]  # the same client, with ears
    plain = embedder.embed
    embedder.embed = recorder.timed(EMBED, plain, is_call=True)  # type: ignore[method-assign,assignment]  # same
    try:
        with timing(recorder, PLACES):
            yield
    finally:
        client.make_client = make
        stores._client.cache_clear()
        embedder.embed = plain  # type: ignore[method-assign]  # back as it was


def ordered(steps: Mapping[str, float]) -> list[str]:
    """The steps in the order of a request."""
    order = ["parse and validate", "read the head", "DynamoDB GetItem", EMBED]
    order += [place.step for place in PLACES if place.step not in order]
    known = {step: place for place, step in enumerate(order)}
    return sorted(steps, key=lambda step: (known.get(step, len(known) - 3), step))
