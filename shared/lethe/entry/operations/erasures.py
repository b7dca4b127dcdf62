"""Operations of governance: erasures, receipts and holds."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import JsonValue, TypeAdapter

from lethe.domain import ids
from lethe.domain.erasure import Erasure, TheseMemories, WholeSubject, rests_until
from lethe.domain.erasure_json import scope_json
from lethe.domain.holds import Hold
from lethe.domain.idempotency import about_subject
from lethe.domain.json_values import canonical
from lethe.entry.api.erasures import (
    AdmittedOut,
    AskErasure,
    ErasureBegunOut,
    ErasureOut,
    ErasuresOut,
    HoldOut,
    HoldsOut,
    ListErasures,
    ListHolds,
    PlaceHold,
    ReadReceipt,
    StepOut,
    VerificationOut,
)
from lethe.entry.call import Answer, Call
from lethe.entry.cursor import Cursors
from lethe.errors import NotFound
from lethe.ports import Receipts
from lethe.services.erasure.requests import ErasureRequests, NamedSession, Wanted
from lethe.services.holds import HoldDesk

Operations = dict[str, Callable[[Call], Answer]]


class ErasureOperations:
    """Operations of the function ``govern``."""

    def __init__(self, requests: ErasureRequests, receipts: Receipts, holds: HoldDesk, cursors: Cursors) -> None:
        self._requests = requests
        self._receipts = receipts
        self._holds = holds
        self._cursors = cursors

    def operations(self) -> Operations:
        """By the names that the routes use."""
        return {
            "delete_memory": self.delete_memory,
            "delete_session": self.delete_session,
            "erase_subject": self.erase_subject,
            "admit_subject": self.admit,
            "begin_erasure": self.begin,
            "list_erasures": self.list,
            "get_erasure": self.get,
            "get_receipt": self.receipt,
            "place_hold": self.place_hold,
            "list_holds": self.list_holds,
            "get_hold": self.get_hold,
            "release_hold": self.release_hold,
        }

    def delete_memory(self, call: Call) -> Answer:
        """Delete a memory with its history and what rests on it; again is no error."""
        memory_id = call.path["id"]
        if not ids.is_id(memory_id, ids.MEMORY):
            return Answer(204)
        wanted = TheseMemories((memory_id,))
        return _gone(self._delete(call, wanted, call.if_match))

    def delete_session(self, call: Call) -> Answer:
        """Delete a session and what was taken from it; again is no error."""
        return _gone(self._delete(call, NamedSession(call.path["session_id"]), None))

    def _delete(self, call: Call, wanted: TheseMemories | NamedSession, version: int | None) -> Erasure | None:
        return self._requests.delete(call.caller, call.user_id, wanted, version, call.time_left, tell=call.erasing)

    def erase_subject(self, call: Call) -> Answer:
        """Begin to erase everything about a user, who is gone for every reader when the answer arrives."""
        return _begun(self._begin(call, WholeSubject(), None))

    def begin(self, call: Call) -> Answer:
        """Begin an erasure of some scope."""
        body = call.body_as(AskErasure)
        return _begun(self._begin(call, body.scope.wanted(), body.reason))

    def _begin(self, call: Call, wanted: Wanted, reason: str | None) -> Erasure:
        return self._requests.begin(call.caller, call.user_id, wanted, reason, call.time_left, tell=call.erasing)

    def admit(self, call: Call) -> Answer:
        """Let an erased subject be written to again."""
        head = self._requests.admit(call.caller, call.user_id)
        out = AdmittedOut(user_id=call.user_id, state="active")
        return Answer(200, out, about=frozenset({about_subject(head.subject)}))

    def get(self, call: Call) -> Answer:
        """How far an erasure has come."""
        return Answer(200, _erasure_out(self._requests.read(call.caller, call.path["id"], call.about)))

    def list(self, call: Call) -> Answer:
        """Erasures, newest first."""
        query = call.query_as(ListErasures)
        subject = self._requests.subject(call.caller, query.user_id)
        binding = {"list": "erasures", "subject": subject or ""}
        start = self._cursors.read(query.cursor, call.caller, binding)
        page = self._requests.list(call.caller, query.limit, start, subject)
        erasures = [_erasure_out(erasure) for erasure in page.items]
        next_cursor = self._cursors.write(page.next_key, call.caller, binding)
        return Answer(200, ErasuresOut(erasures=erasures, next_cursor=next_cursor))

    def receipt(self, call: Call) -> Answer:
        """A signed receipt of an erasure, as it was signed: the newest, or the one that is named."""
        erasure = self._requests.read(call.caller, call.path["id"], call.about)
        wanted = call.query_as(ReadReceipt).receipt_id or erasure.receipt_id
        if wanted is None:
            raise NotFound("there is no receipt yet")
        if wanted not in erasure.receipts:
            raise NotFound
        document = self._receipts.read(call.caller.tenant, wanted)
        if document is None:
            raise NotFound
        return Answer(200, canonical(document))

    def place_hold(self, call: Call) -> Answer:
        """Keep records from being erased."""
        body = call.body_as(PlaceHold)
        wanted = WholeSubject() if body.scope is None else body.scope.wanted()
        hold, new = self._holds.place(call.caller, call.user_id, call.path["name"], wanted)
        return Answer(201 if new else 200, _hold_out(hold))

    def get_hold(self, call: Call) -> Answer:
        """One hold."""
        return Answer(200, _hold_out(self._holds.get(call.caller, call.path["name"], call.about)))

    def list_holds(self, call: Call) -> Answer:
        """Holds, by name."""
        query = call.query_as(ListHolds)
        subject = self._requests.subject(call.caller, query.user_id)
        binding = {"list": "holds", "subject": subject or ""}
        start = self._cursors.read(query.cursor, call.caller, binding)
        page = self._holds.list(call.caller, query.limit, start, subject)
        next_cursor = self._cursors.write(page.next_key, call.caller, binding)
        return Answer(200, HoldsOut(holds=[_hold_out(hold) for hold in page.items], next_cursor=next_cursor))

    def release_hold(self, call: Call) -> Answer:
        """Let go what a hold kept; again is no error."""
        self._holds.release(call.caller, call.path["name"], call.about)
        return Answer(204)


def _gone(erasure: Erasure | None) -> Answer:
    """204; where an erasure came of it, ``Location`` says where its proof will be."""
    return Answer(204, headers={} if erasure is None else {"location": _place(erasure)})


def _begun(erasure: Erasure) -> Answer:
    return Answer(202, ErasureBegunOut(id=erasure.id, erasure=_erasure_out(erasure)), {"location": _place(erasure)})


def _place(erasure: Erasure) -> str:
    return f"/v1/erasures/{erasure.id}"


def _erasure_out(erasure: Erasure) -> ErasureOut:
    return ErasureOut(
        id=erasure.id,
        state=erasure.state.value,
        subject=erasure.subject,
        scope=_JSON.validate_python(scope_json(erasure.scope)),
        requested_at=erasure.requested_at,
        unreadable_since=erasure.unreadable_since,
        ended_at=erasure.ended_at,
        steps=[
            StepOut(
                name=step.name.value,
                state=step.state.value,
                found=step.found,
                deleted=step.deleted,
                attempts=step.attempts,
            )
            for step in erasure.steps
        ],
        verified=[
            VerificationOut(at=seen.at, remaining=dict(seen.remaining), held=dict(seen.held))
            for seen in erasure.verified
        ],
        held=erasure.held,
        holds=list(erasure.holds),
        failure=erasure.failure,
        retry_at=rests_until(erasure),
        receipt_id=erasure.receipt_id,
        receipts=list(erasure.receipts),
    )


def _hold_out(hold: Hold) -> HoldOut:
    return HoldOut(
        name=hold.name,
        subject=hold.subject,
        scope=_JSON.validate_python(scope_json(hold.scope)),
        created_at=hold.created_at,
    )


_JSON: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])
