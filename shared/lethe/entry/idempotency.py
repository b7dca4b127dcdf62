"""``Idempotency-Key``: one request, one effect, one answer, for 24 hours."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from pydantic_core import to_json

from lethe.domain.idempotency import Claim, StoredAnswer, digest
from lethe.domain.identity import Caller, Space
from lethe.errors import AnswerErased, MalformedRequest
from lethe.ports import Clock, IdempotencyRecords
from lethe.services.standing import Standing

REPLAYED_HEADER: Final = "Idempotency-Replayed"

_KEY: Final = re.compile(r"[\x21-\x7e]{1,128}", re.ASCII)
_RUNNING: Final = timedelta(seconds=30)
"""How long a request may run at most; after that its claim may be taken over."""


class Idempotency:
    """Runs a request once per key, and gives its first answer to every repetition."""

    def __init__(self, records: IdempotencyRecords, standing: Standing, master_key: bytes, clock: Clock) -> None:
        self._records = records
        self._standing = standing
        self._master_key = master_key
        self._clock = clock

    def run(
        self,
        key: str,
        caller: Caller,
        request: tuple[str, ...],
        open_space: Callable[[], Space],
        perform: Callable[[], StoredAnswer],
    ) -> tuple[StoredAnswer, bool]:
        """The answer, and whether it is a repetition. ``request`` is all that must be equal in a repetition.

        ``open_space`` is asked before a stored answer is given again, so that nobody reads the answer of a subject
        that was erased since. A request that fails, or is answered in part only, leaves no claim behind.

        A repetition never runs again, not even when the first answer is gone: what was deleted must not come back
        with a client's retry.

        Raises MalformedRequest on a bad key, InProgress, IdempotencyMismatch, AnswerErased (it went with what it
        spoke of), and what ``perform`` raises.
        """
        if not _KEY.fullmatch(key):
            raise MalformedRequest("invalid_header", "Idempotency-Key must be 1 to 128 visible ASCII characters")
        key_digest = digest(self._master_key, *caller.identity, key)
        request_digest = digest(self._master_key, *request)
        now = self._clock.now()
        claim = self._records.claim(caller.tenant, key_digest, request_digest, now, now + _RUNNING)
        if claim is Claim.ANSWERED:
            space = open_space()
            first = self._records.answer(space, key_digest, now)
            if first is None or not self._standing.holds(space, first.about, caller.may_see_sensitive()):
                raise AnswerErased(
                    "the request was done once, and what its answer showed is gone; a new key does it again"
                )
            return first, True
        return self._first(caller, key_digest, request_digest, open_space, perform), False

    def _first(
        self,
        caller: Caller,
        key_digest: str,
        request_digest: str,
        open_space: Callable[[], Space],
        perform: Callable[[], StoredAnswer],
    ) -> StoredAnswer:
        try:
            # Opened before: if the subject is erased and admitted while the request runs, the answer, which shows what
            # was before, must not be kept in the epoch that began after (docs/erasure.md).
            space = open_space()
            answer = perform()
        except BaseException:
            self._records.release(caller.tenant, key_digest, request_digest)
            raise
        if answer.whole:
            self._records.store(space, caller.tenant, key_digest, answer, self._clock.now())
        else:
            self._records.release(caller.tenant, key_digest, request_digest)
        return answer


_HIDDEN_USER: Final = '"user_id":@'
"""No JSON text holds this: within a string the quotes would be escaped, outside of one the @ is no JSON."""


def without_user(body: str, user_id: str | None) -> str:
    """An answer as it may be stored: user ids are kept as keyed hashes only, and every repetition brings its own."""
    return body if user_id is None else body.replace(_shown(user_id), _HIDDEN_USER)


def with_user(body: str, user_id: str | None) -> str:
    """Undoes ``without_user``; the user id of a repetition is that of the first request, or its digest would differ."""
    return body if user_id is None else body.replace(_HIDDEN_USER, _shown(user_id))


def _shown(user_id: str) -> str:
    return '"user_id":' + to_json(user_id).decode()
