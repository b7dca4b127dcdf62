"""Latency of write and recall by step, and the calls that each request makes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import median, quantiles

from bench.speed.corpus import Corpus
from bench.speed.embedding import RememberingEmbedder
from bench.speed.places import EMBED, watching
from bench.speed.rig import Context, Handler, Tables, call, check, event, new_user
from bench.speed.spans import Recorder, Request
from lethe.domain.json_values import JsonObject
from lethe.entry.events import Event, HttpResponse
from lethe.entry.wiring.api import build_recall, build_write

BATCH = 1_000
SEARCH = "POST /v1/memories/search"


@dataclass
class Scenario:
    """All runs of one kind of request, at one size of memory; seconds."""

    name: str
    size: int
    runs: list[Request] = field(default_factory=list)

    @property
    def p50(self) -> float:
        return median(run.seconds for run in self.runs)

    @property
    def p95(self) -> float:
        seconds = [run.seconds for run in self.runs]
        return quantiles(seconds, n=20, method="inclusive")[-1] if len(seconds) > 1 else seconds[0]

    @property
    def p50_without_embedding(self) -> float:
        """Median with the time left out that the request spent on the model and on nothing else."""
        return median(run.seconds - embedding_alone(run) for run in self.runs)

    @property
    def calls(self) -> int:
        return round(median(sum(1 for c in run.calls if c.step != EMBED) for run in self.runs))

    @property
    def rounds(self) -> int:
        """Sequential waits, the embedding counted as one of them."""
        return round(median(run.rounds() for run in self.runs))

    @property
    def rounds_to_store(self) -> int:
        """Sequential waits for the store alone."""
        return round(
            median(
                Request(run.seconds, [], [c for c in run.calls if c.step != EMBED], run.thread).rounds()
                for run in self.runs
            )
        )

    def steps(self) -> dict[str, float]:
        """Median own seconds of each step in the request's thread."""
        return _medians([run.steps() for run in self.runs])

    def beside(self) -> dict[str, float]:
        """Median own seconds of each step in other threads."""
        return _medians([run.beside() for run in self.runs])


def _medians(runs: Sequence[dict[str, float]]) -> dict[str, float]:
    names = {name for run in runs for name in run}
    return {name: median(run.get(name, 0.0) for run in runs) for name in names}


def embedding_alone(run: Request) -> float:
    """Seconds in which a model worked and no call to the store was under way."""
    alone = 0.0
    for embed in (c for c in run.calls if c.step == EMBED):
        others = [
            (max(c.start, embed.start), min(c.end, embed.end))
            for c in run.calls
            if c.step != EMBED and c.end > embed.start and c.start < embed.end
        ]
        alone += embed.end - embed.start - _covered(others)
    return alone


def _covered(intervals: Sequence[tuple[float, float]]) -> float:
    covered, reached = 0.0, float("-inf")
    for start, end in sorted(intervals):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered


@dataclass(frozen=True)
class Amounts:
    """How much is measured."""

    sizes: tuple[int, ...] = (100, 1_000, 5_000)
    warm: int = 60
    cold: int = 7
    after_write: int = 15
    writes: int = 40


class Latency:
    """Runs the scenarios on functions of its own."""

    def __init__(self, tables: Tables, corpus: Corpus, embedder: RememberingEmbedder, amounts: Amounts) -> None:
        self._tables = tables
        self._corpus = corpus
        self._amounts = amounts
        self._recorder = Recorder()
        self._embedder = embedder
        self._questions = 0
        self._statements = 0

    @contextmanager
    def running(self) -> Iterator["Latency"]:
        """Functions are built, watched, inside."""
        with watching(self._recorder, self._embedder):
            self._write: Handler = build_write(self._tables.environment("write"))
            self._kept: Handler = self._recall()
            # A view reads again what was added shortly before it; most of a real memory is older than that.
            self._past: Handler = build_write(self._tables.environment("write"), _HourAgo())
            yield self

    def all(self) -> Iterator[Scenario]:
        """Every scenario, as it is done."""
        for size in self._amounts.sizes:
            user = self.fill(size)
            yield self.cold(user, size)
            recall = self._recall()
            yield self.warm(recall, user, size)
            yield self.after_write(recall, user, size)
            yield self.writes(user, size)
            if size == self._amounts.sizes[0]:
                yield from self.with_sessions(recall, user, size)

    def fill(self, size: int) -> str:
        """A new user with ``size`` memories, written an hour ago."""
        user = new_user()
        for start in range(0, size, BATCH):
            part = self._corpus.statements[start : min(start + BATCH, size)]
            call(self._past, _batch(user, part))
        return user

    def cold(self, user: str, size: int) -> Scenario:
        """A search in a container that never saw the subject; its connections and code are warm."""
        scenario = Scenario("search, cold cache", size)
        for _ in range(self._amounts.cold):
            recall = self._recall()
            self._run(scenario, recall, SEARCH, _asked(user, self._question()))
        return scenario

    def warm(self, recall: Handler, user: str, size: int) -> Scenario:
        """A search in a container that has the subject."""
        scenario = Scenario("search, warm", size)
        call(recall, event(SEARCH, _asked(user, self._question())))
        for _ in range(self._amounts.warm):
            self._run(scenario, recall, SEARCH, _asked(user, self._question()))
        return scenario

    def after_write(self, recall: Handler, user: str, size: int) -> Scenario:
        """A search right after a write, in a container that had the subject before it: how agents go."""
        scenario = Scenario("search, warm, one write later", size)
        for _ in range(self._amounts.after_write):
            call(self._write, event("POST /v1/memories", {"user_id": user, "text": self._statement()}))
            self._run(scenario, recall, SEARCH, _asked(user, self._question()))
        return scenario

    def writes(self, user: str, size: int) -> Scenario:
        """One memory."""
        scenario = Scenario("write one memory", size)
        for _ in range(self._amounts.writes):
            self._run(scenario, self._write, "POST /v1/memories", {"user_id": user, "text": self._statement()})
        return scenario

    def with_sessions(self, recall: Handler, user: str, size: int) -> Iterator[Scenario]:
        """Messages with ``remember``, and recall over all tiers."""
        appended, recalled = Scenario("write two messages, remember", size), Scenario("recall with session, warm", size)
        cold = Scenario("recall with session, cold cache", size)
        route = "POST /v1/sessions/{session_id}/messages"
        for _ in range(self._amounts.writes):
            messages = [
                {"role": "user", "content": self._statement()},
                {"role": "assistant", "content": "Noted."},
            ]
            body: JsonObject = {"user_id": user, "messages": [*messages]}
            self._run(appended, self._write, route, body, {"session_id": "s1"})
        asked: JsonObject = {"user_id": user, "session_id": "s1"}
        call(recall, event("POST /v1/recall", {**asked, "query": self._question()}))
        for _ in range(self._amounts.warm):
            self._run(recalled, recall, "POST /v1/recall", {**asked, "query": self._question()})
        for _ in range(self._amounts.cold):
            self._run(cold, self._recall(), "POST /v1/recall", {**asked, "query": self._question()})
        yield from (appended, recalled, cold)

    def batch(self, user: str, statements: Sequence[str]) -> Request:
        """One batch."""
        return self._measured(self._write, _batch(user, statements))

    def search(self, user: str, question: str) -> Request:
        """One search in a container that stays the same."""
        return self._measured(self._kept, event(SEARCH, _asked(user, question)))

    def _recall(self) -> Handler:
        return build_recall(self._tables.environment("recall"))

    def _run(
        self,
        scenario: Scenario,
        handler: Handler,
        route: str,
        body: JsonObject,
        path: dict[str, str] | None = None,
    ) -> None:
        scenario.runs.append(self._measured(handler, event(route, body, path)))

    def _measured(self, handler: Handler, made: Event) -> Request:
        """The handler alone; its answer is checked when the clock has stopped."""
        answers: list[HttpResponse] = []
        request = self._recorder.request(lambda: answers.append(handler(made, Context())))
        check(made, answers[0])
        return request

    def _question(self) -> str:
        """The next question; each is embedded anew, as it would be."""
        self._questions += 1
        return f"{self._corpus.questions[self._questions % len(self._corpus.questions)]} ({self._questions})"

    def _statement(self) -> str:
        self._statements += 1
        return f"{self._corpus.statements[self._statements % len(self._corpus.statements)]} Again {self._statements}."


def _asked(user: str, question: str) -> JsonObject:
    """A search that always answers five memories: a threshold of 0 lets the best through whatever they are worth."""
    return {"user_id": user, "query": question, "threshold": 0}


def _batch(user: str, statements: Sequence[str]) -> Event:
    items: list[JsonObject] = [{"text": text} for text in statements]
    return event("POST /v1/memories/batch", {"user_id": user, "items": [*items]})


class _HourAgo:
    """A clock that is an hour behind."""

    def now(self) -> datetime:
        return datetime.now(UTC) - timedelta(hours=1)
