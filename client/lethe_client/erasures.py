"""Erasures: what was asked to be forgotten, how far it has come, and the proof."""

from collections.abc import Iterator

from lethe_client.erasure_models import Erasure
from lethe_client.errors import StillErasingError
from lethe_client.fields import Fields
from lethe_client.inputs import ErasureScope, scope_body
from lethe_client.json_types import JsonObject
from lethe_client.models import Page
from lethe_client.paging import every, page_of
from lethe_client.transport import Call, Transport, path_of

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between two looks at an erasure that is waited for: half as much again each time."""


class Erasures:
    """Begins and follows erasures. The key needs `erase`; for looking `govern` does, too."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def begin(
        self,
        scope: ErasureScope,
        *,
        user_id: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Erasure:
        """Begin to erase what `scope` names; `reason` is kept as a keyed hash alone.

        When this returns, none of it can be read, unless `unreadable_since` of the answer is None: then it was too
        much for one request, and follows. While the whole user is being erased, that erasure answers.

        Raises:
            ValueError: a time without an offset.
        """
        body: dict[str, object] = {"user_id": user_id, "scope": scope_body(scope), "reason": reason}
        answer = self._transport.send(
            Call("POST", "/v1/erasures", body=body, changes=True, idempotency_key=idempotency_key)
        )
        return Erasure.parse(Fields(answer.body, "answer").object("erasure"))

    def get(self, erasure_id: str) -> Erasure:
        """How far one has come.

        Raises:
            NotFoundError: there is none with this id for the users of this key.
        """
        return Erasure.parse(self._transport.send(Call("GET", path_of("v1", "erasures", erasure_id))).body)

    def list(self, *, user_id: str | None = None, page_size: int | None = None) -> Iterator[Erasure]:
        """All erasures of the tenant, or of one user, newest first, fetched page by page as they are taken.

        Raises:
            ForbiddenError: the key does not cover the user.
        """
        return every(lambda cursor: self.page(user_id=user_id, limit=page_size, cursor=cursor))

    def page(self, *, user_id: str | None = None, limit: int | None = None, cursor: str | None = None) -> Page[Erasure]:
        """One page of erasures, for callers that hand the cursor on."""
        query = {"user_id": user_id, "limit": limit, "cursor": cursor}
        return page_of(self._transport.send(Call("GET", "/v1/erasures", query)).body, "erasures", Erasure.parse)

    def receipt(self, erasure_id: str, receipt_id: str | None = None) -> JsonObject:
        """A signed receipt of an erasure, the newest or one that the erasure names, as `lethe receipt verify` and
        `lethe_client.receipts` check it.

        Raises:
            NotFoundError: there is no such erasure, or it has no such receipt yet.
        """
        query = {"receipt_id": receipt_id}
        return self._transport.send(Call("GET", path_of("v1", "erasures", erasure_id, "receipt"), query)).body

    def wait(self, erasure_id: str, timeout: float = 300.0) -> Erasure:
        """Look again and again, after longer and longer pauses, until it has ended; `timeout` is in seconds.

        It may have ended badly: look at `state`.

        Raises:
            StillErasingError: it has not ended in time.
            NotFoundError: there is none with this id for the users of this key.
        """
        waits = self._transport.waits
        deadline, pause = waits.now() + timeout, FIRST_PAUSE
        while (erasure := self.get(erasure_id)).under_way:
            left = deadline - waits.now()
            if left <= 0:
                raise StillErasingError(erasure.id, erasure.state, timeout)
            # Up to half of a pause is left to chance, so that many who wait do not ask together.
            waits.sleep(min(left, waits.jitter(pause / 2, pause)))
            pause = min(LONGEST_PAUSE, pause * 1.5)
        return erasure
