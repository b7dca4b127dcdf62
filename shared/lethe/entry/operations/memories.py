"""Operations on memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from pydantic import JsonValue, ValidationError
from pydantic_core import to_json

from lethe.domain import ids
from lethe.domain.identity import Permission
from lethe.domain.memory import Memory
from lethe.domain.session import Message
from lethe.entry.api.explain import explained
from lethe.entry.api.memories import (
    AddBatch,
    AddMemories,
    BatchErrorOut,
    BatchItem,
    BatchOut,
    BatchResultOut,
    ChangeMemory,
    FoundOut,
    ListMemories,
    MemoriesOut,
    MemoryHistory,
    MemoryVersionsOut,
    SearchMemories,
)
from lethe.entry.call import Answer, Call
from lethe.entry.cursor import Cursors
from lethe.entry.operations.common import (
    known_out,
    memory_out,
    remembered_out,
    require_vouched,
    scored_out,
    version_seen,
)
from lethe.entry.problems import invalid_input
from lethe.entry.shape import oversized
from lethe.entry.sizes import fitting
from lethe.errors import Conflict, Forbidden, InvalidInput
from lethe.ports import Clock, Ids
from lethe.services.memories import MemoryDesk
from lethe.services.recall import Question, Recall
from lethe.services.remember import REJECTED, STORED, Remember, Statement, StatementOutcome
from lethe.services.spaces import Spaces

Operations = dict[str, Callable[[Call], Answer]]


class MemoryWrites:
    """Operations of the function ``write``."""

    def __init__(self, spaces: Spaces, remember: Remember, desk: MemoryDesk, clock: Clock, new_ids: Ids) -> None:
        self._spaces = spaces
        self._remember = remember
        self._desk = desk
        self._clock = clock
        self._ids = new_ids

    def operations(self) -> Operations:
        """By the names that the routes use."""
        return {
            "add_memories": self.add,
            "add_batch": self.batch,
            "change_memory": self.change,
        }

    def add(self, call: Call) -> Answer:
        """Remember a statement, or what messages state."""
        body = call.body_as(AddMemories)
        require_vouched(call.caller, body.origin)
        open_space = self._spaces.writing(call.caller, call.user_id)
        if body.messages is not None:
            messages = self._messages(body)
            remembered = self._remember.messages(
                open_space,
                call.caller.actor,
                messages,
                None,
                body.session_id,
                body.defaults(),
                time_left=call.time_left,
            )
        else:
            statement = self._checked(body.statement())
            remembered = self._remember.statements(open_space, call.caller.actor, [statement])
        stored = any(outcome.event == STORED for outcome in remembered.outcomes)
        return Answer(201 if stored else 200, remembered_out(remembered, call, self._clock.now()))

    def _checked(self, statement: Statement) -> Statement:
        """The statement. Raises InvalidInput when it ends before it begins."""
        if statement.ends_before_it_begins(self._clock.now()):
            raise InvalidInput.of("valid_until", "must be later than valid_from, which is now unless you name it")
        return statement

    def _messages(self, body: AddMemories) -> list[Message]:
        now = self._clock.now()
        return [
            Message(
                id=message.id or self._ids.new(ids.MESSAGE),
                session_id=body.session_id or "",
                sequence=index,
                role=message.role,
                content=message.content,
                created_at=message.created_at or body.occurred_at or now,
                name=message.name,
                metadata=message.metadata,
            )
            for index, message in enumerate(body.messages or ())
        ]

    def batch(self, call: Call) -> Answer:
        """Remember many statements; each refused one says why, those that there was no time for too."""
        body = call.body_as(AddBatch)
        open_space = self._spaces.writing(call.caller, call.user_id)
        results: dict[int, BatchResultOut] = {}
        statements: dict[int, Statement] = {}
        for index, item in enumerate(body.items):
            try:
                statement = self._checked(_item(item).statement())
                require_vouched(call.caller, statement.origin)
            except ValidationError as error:
                results[index] = _refused(index, invalid_input(error))
            except InvalidInput as error:
                results[index] = _refused(index, error)
            except Forbidden as error:
                results[index] = _rejected(index, error.code, error.detail, "origin")
            else:
                statements[index] = statement
        said = list(statements.values())
        remembered = self._remember.statements(open_space, call.caller.actor, said, call.time_left)
        for index, outcome in zip(statements, remembered.outcomes, strict=True):
            results[index] = _judged(index, outcome)
        ordered = [results[index] for index in range(len(body.items))]
        out = BatchOut(results=ordered, counts=dict(Counter(result.event for result in ordered)))
        return Answer(200, out, whole=remembered.whole)

    def change(self, call: Call) -> Answer:
        """Correct, pin, freeze or end a memory."""
        body = call.body_as(ChangeMemory)
        version = version_seen(body.version, call.if_match)
        if version is None:
            raise InvalidInput.of("version", "required: the version that you saw, here or in If-Match")
        space = self._spaces.for_changing(call.caller, call.user_id)
        change = body.change()

        def checked(memory: Memory) -> Memory:
            if memory.frozen and body.frozen is not False:
                raise Conflict("the memory is frozen; send frozen: false with the change to thaw it")
            changed = change(memory)
            if changed.valid_until is not None and changed.valid_until <= changed.valid_from:
                raise InvalidInput.of("valid_until", "must be later than valid_from")
            return changed

        memory, now = self._desk.update(space, call.path["id"], version, checked), self._clock.now()
        if call.caller.may(Permission.READ):
            return Answer(200, memory_out(memory, call.user_id, now))
        return Answer(200, known_out(memory, call.user_id, now, body.named()))


class MemoryReads:
    """Operations of the function ``recall``."""

    def __init__(self, spaces: Spaces, desk: MemoryDesk, recall: Recall, cursors: Cursors, clock: Clock) -> None:
        self._spaces = spaces
        self._desk = desk
        self._recall = recall
        self._cursors = cursors
        self._clock = clock

    def operations(self) -> Operations:
        """By the names that the routes use."""
        return {
            "search_memories": self.search,
            "list_memories": self.list,
            "get_memory": self.get,
            "memory_history": self.history,
        }

    def search(self, call: Call) -> Answer:
        """Find relevant memories."""
        body = call.body_as(SearchMemories)
        question = Question(body.query, body.top_k, body.threshold, body.filters.filters(), body.as_of, body.explain)
        found = self._recall.search(call.caller, call.user_id, question)
        now = self._clock.now()
        out = FoundOut(
            memories=[scored_out(candidate, call.user_id, now) for candidate in found.kept],
            outcome=found.outcome,
            degraded=found.degraded,
            explain=explained(found.candidates) if body.explain else None,
        )
        return Answer(200, out)

    def list(self, call: Call) -> Answer:
        """A page of memories."""
        query = call.query_as(ListMemories)
        space = self._spaces.for_reading(call.caller, call.user_id)
        binding = {
            "list": "memories",
            "subject": space.subject,
            **{
                name: str(value)
                for name, value in query.model_dump(exclude={"cursor", "limit", "user_id"}, exclude_none=True).items()
            },
        }
        start = self._cursors.read(query.cursor, call.caller, binding)
        page = self._desk.list(space, query.filters(), query.limit, start)
        now = self._clock.now()
        out = MemoriesOut(
            memories=[memory_out(memory, call.user_id, now) for memory in page.items],
            next_cursor=self._cursors.write(page.next_key, call.caller, binding),
        )
        return Answer(200, out)

    def get(self, call: Call) -> Answer:
        """One memory."""
        space = self._spaces.for_reading(call.caller, call.user_id)
        return Answer(200, memory_out(self._desk.get(space, call.path["id"]), call.user_id, self._clock.now()))

    def history(self, call: Call) -> Answer:
        """All versions of a memory."""
        query = call.query_as(MemoryHistory)
        space = self._spaces.for_reading(call.caller, call.user_id)
        memory_id, now = call.path["id"], self._clock.now()
        binding = {"list": "history", "subject": space.subject, "memory": memory_id}
        start = int(self._cursors.read(query.cursor, call.caller, binding) or 0)
        versions = [
            memory_out(version, call.user_id, now)
            for version in self._desk.history(space, memory_id)
            if version.version > start
        ]
        page = versions[: fitting(versions)]
        next_key = str(page[-1].version) if len(page) < len(versions) else None
        next_cursor = self._cursors.write(next_key, call.caller, binding)
        return Answer(200, MemoryVersionsOut(versions=page, next_cursor=next_cursor))


def _item(item: JsonValue) -> BatchItem:
    """One item. Raises InvalidInput or ValidationError."""
    if beyond := list(oversized(BatchItem, item)):
        raise InvalidInput(beyond)
    return BatchItem.model_validate_json(to_json(item))


def _refused(index: int, error: InvalidInput) -> BatchResultOut:
    first = error.errors[0]
    return _rejected(index, error.code, first.message, first.field)


def _rejected(index: int, code: str, message: str, field: str | None) -> BatchResultOut:
    error = BatchErrorOut(code=code, message=message, field=field)
    return BatchResultOut(index=index, event="rejected", id=None, error=error)


def _judged(index: int, outcome: StatementOutcome) -> BatchResultOut:
    if outcome.event == REJECTED:
        return _rejected(index, outcome.reason, outcome.detail, None)
    memory_id = outcome.memory.id if outcome.memory else None
    return BatchResultOut.model_validate({"index": index, "event": outcome.event, "id": memory_id, "error": None})
