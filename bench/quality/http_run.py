"""The four sets through the product's own HTTP write and recall path, as a client would use it.

python -m bench.quality.http_run --data ../shared/data

Each turn is written as a memory with its speaker, time and the turn before it; each question is asked of its own
conversation and of another one. What comes back is judged as it comes back: nothing is read from the inside.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import urllib3

from bench.quality.data import SETS, Conversation, DataSet, Question, load
from bench.quality.metrics import Quality, auc, quality
from lethe.domain.json_values import JsonObject, JsonValue
from lethe.domain.relevance import Document
from lethe.entry.wiring.access import access_service
from lethe_local.stack import LocalStack, StackOptions

_ROOT = Path(__file__).resolve().parents[2]
_ITEMS = 50
_LISTED = 10


@dataclass(frozen=True)
class SetQuality:
    """One set: quality of the order in one's own memory, and what the gate does there and in a foreign one."""

    own: Quality
    gate_auc: float
    own_answered: float
    foreign_empty: float

    def __str__(self) -> str:
        shares = f"{self.gate_auc:.3f} {self.own_answered:13.1f} {self.foreign_empty:13.1f}"
        return f"{self.own} {shares}"


class Service:
    """A client of a running stack."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        self._http = urllib3.PoolManager(timeout=30.0)

    def post(self, path: str, body: JsonObject) -> JsonObject:
        """The answer. Raises RuntimeError with its status and problem when it is not a success."""
        answer = self._http.request("POST", self._url + path, body=json.dumps(body).encode(), headers=self._headers)
        if not 200 <= answer.status < 300:
            raise RuntimeError(f"POST {path} answered {answer.status}: {answer.data[:500].decode(errors='replace')}")
        return cast(JsonObject, answer.json())

    def write(self, user: str, conversation: Conversation) -> list[str]:
        """Store all turns; the memory that holds each, in order (two turns that say the same share one)."""
        items = [_item(document) for document in conversation.documents]
        held: list[str] = []
        for start in range(0, len(items), _ITEMS):
            body: JsonObject = {"user_id": user, "items": [*items[start : start + _ITEMS]]}
            results = cast(list[JsonObject], self.post("/v1/memories/batch", body)["results"])
            refused = [result for result in results if result["id"] is None]
            if refused:
                raise RuntimeError(f"{len(refused)} turns were refused, the first with {refused[0]['error']}")
            held += [str(result["id"]) for result in results]
        return held

    def search(self, user: str, question: str, **options: bool | float) -> JsonObject:
        """A search for ten."""
        return self.post("/v1/memories/search", {"user_id": user, "query": question, "top_k": _LISTED, **options})


def _item(document: Document) -> JsonObject:
    item: dict[str, JsonValue] = {"text": document.text, "speaker": document.speaker}
    item["origin"] = "agent" if document.from_agent else "user"
    if document.context:
        item["context"] = document.context
    if document.occurred_on is not None:
        item["occurred_at"] = f"{document.occurred_on}T12:00:00Z"
    return item


@contextmanager
def service() -> Iterator[Service]:
    """A stack of its own, empty, and a client with a key."""
    with tempfile.TemporaryDirectory(prefix="lethe-bench-") as state:
        options = StackOptions(root=_ROOT, state_dir=Path(state), port=0, fresh=True)
        with LocalStack.start(options) as stack:
            print(f"{stack.description}", file=sys.stderr)
            access = access_service(stack.environment)
            access.create_tenant("bench")
            _, key = access.create_key("bench", ["read", "write"])
            yield Service(stack.url, key)


def run(client: Service, data: DataSet) -> SetQuality:
    """Write the set, ask everything."""
    held = {name: client.write(f"{data.name}/{name}", c) for name, c in data.conversations.items()}
    names = list(data.conversations)
    other = {name: names[(place + 1) % len(names)] for place, name in enumerate(names)}
    orders, own, foreign, answered, empty = [], [], [], [], []
    for question in data.questions:
        user, stranger = f"{data.name}/{question.conversation}", f"{data.name}/{other[question.conversation]}"
        memory_ids = held[question.conversation]
        orders.append(_judged(client.search(user, question.text, threshold=0.0), memory_ids, question))
        mine = client.search(user, question.text, explain=True)
        own.append(_best(mine, {memory_ids[place] for place in question.evidence}))
        answered.append(mine["outcome"] == "found")
        theirs = client.search(stranger, question.text, explain=True)
        foreign.append(_best(theirs, None))
        empty.append(theirs["outcome"] == "nothing_relevant")
    return SetQuality(
        quality(orders),
        auc(np.array(own), np.array(foreign)),
        100 * float(np.mean(answered)),
        100 * float(np.mean(empty)),
    )


def _judged(
    answer: JsonObject, held: Sequence[str], question: Question
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], list[int]]:
    """The answered memories as positions of turns, and the evidence, both by the first turn that says the same."""
    first: dict[str, int] = {}
    for place, memory_id in enumerate(held):
        first.setdefault(memory_id, place)
    found = [first[str(memory["id"])] for memory in cast(list[JsonObject], answer["memories"])]
    return np.array(found, np.int64), sorted({first[held[place]] for place in question.evidence})


def _best(answer: JsonObject, wanted: set[str] | None) -> float:
    """The highest relevance of the memories ``wanted``, or of any; 0 where none is listed."""
    listed = cast(list[JsonObject], answer["explain"])
    scores = [cast(float, c["relevance"]) for c in listed if wanted is None or c["id"] in wanted]
    return max(scores, default=0.0)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the four sets")
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=SETS, help="which of them")
    options = parser.parse_args(arguments)
    table = sys.stdout
    heading = "  R@5  R@10 nDCG@10 hit@5   AUC  own answered  foreign empty"
    print(f"{'through HTTP, per cent':22}{heading}", file=table)
    with open(os.devnull, "w", encoding="utf-8") as quiet, redirect_stdout(quiet), service() as client:
        for name in options.sets:  # the functions log to standard output
            print(f"{name:22} {run(client, load(options.data, name))}", file=table, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
