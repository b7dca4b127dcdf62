"""Operations on recall, subjects, health and the API's own description."""

from __future__ import annotations

from collections.abc import Callable

from lethe import __version__
from lethe.entry.api.entities import EntityOut
from lethe.entry.api.explain import explained
from lethe.entry.api.messages import MessageOut
from lethe.entry.api.recall import HealthOut, LeftOutOut, RecalledOut, RecallMemory, RouteOut, SubjectOut
from lethe.entry.api.sessions import SummaryOut
from lethe.entry.call import Answer, Call
from lethe.entry.operations.common import scored_out
from lethe.errors import Throttled, Unavailable
from lethe.ports import Clock, Embedder, SearchIndex, SubjectHeads
from lethe.services.recall import Question, Recall
from lethe.services.subjects import SubjectDesk

Operations = dict[str, Callable[[Call], Answer]]


class RecallReads:
    """Recall and subjects."""

    def __init__(self, recall: Recall, subjects: SubjectDesk, clock: Clock) -> None:
        self._recall = recall
        self._subjects = subjects
        self._clock = clock

    def operations(self) -> Operations:
        """By the names that the routes use."""
        return {"recall": self.recall, "describe_subject": self.describe}

    def recall(self, call: Call) -> Answer:
        """One prompt-ready block."""
        body = call.body_as(RecallMemory)
        question = Question(body.query, body.top_k, body.threshold, body.filters.filters(), body.as_of, body.explain)
        recalled = self._recall.recall(
            call.caller, call.user_id, question, body.session_id, body.tiers, body.token_budget
        )
        now, block = self._clock.now(), recalled.assembled
        reveal = call.caller.may_see_sensitive()
        out = RecalledOut(
            context=block.context,
            memories=[scored_out(candidate, call.user_id, now) for candidate in block.candidates if candidate.kept],
            entities=[EntityOut.of(entity, call.user_id, reveal) for entity in block.entities],
            summary=SummaryOut.of(block.summary),
            messages=[MessageOut.of(message) for message in block.messages],
            route=RouteOut(
                tiers=list(recalled.route.tiers), reasons=recalled.route.reasons, summary_due=recalled.summary_due
            ),
            outcome=recalled.outcome,
            degraded=recalled.degraded,
            tokens=block.tokens,
            left_out=LeftOutOut(
                entities=block.left_out.entities,
                summary=block.left_out.summary,
                memories=block.left_out.memories,
                messages=block.left_out.messages,
            ),
            explain=explained(block.candidates) if body.explain else None,
        )
        return Answer(200, out)

    def describe(self, call: Call) -> Answer:
        """Where a user's data stands."""
        report = self._subjects.describe(call.caller, call.user_id)
        return Answer(
            200,
            SubjectOut.model_validate(
                {"user_id": call.user_id, "state": report.state.value, "counts": dict(report.counts)}
            ),
        )


class ServiceReads:
    """Health and description; these need no key."""

    def __init__(self, heads: SubjectHeads, index: SearchIndex, embedder: Embedder) -> None:
        self._heads = heads
        self._index = index
        self._embedder = embedder

    def operations(self) -> Operations:
        """By the names that the routes use."""
        return {"health": self.health, "openapi": self.openapi, "docs": self.docs}

    def health(self, call: Call) -> Answer:
        """Whether the store of heads answers, without which nothing does, and the search index, without which recall
        does more slowly. The embedder is not asked: that would cost money.
        """
        try:
            self._heads.read("@health", "@health")
            healthy = self._index.answers()
        except (Unavailable, Throttled):
            healthy = False
        return Answer(
            200,
            HealthOut(
                status="ok" if healthy else "degraded",
                version=__version__,
                engine=self._index.engine,
                embedder=self._embedder.model.label,
            ),
        )

    def openapi(self, call: Call) -> Answer:
        """The OpenAPI document."""
        from lethe.entry.openapi import document_text  # only this route pays for making the document

        return Answer(200, document_text())

    def docs(self, call: Call) -> Answer:
        """The OpenAPI document as a page."""
        from lethe.entry.docs_page import page  # only this route pays for it

        return Answer(200, page(), {"content-type": "text/html; charset=utf-8"})
