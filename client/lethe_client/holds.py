"""Legal holds: what no erasure deletes while they stand."""

from collections.abc import Iterator

from lethe_client.erasure_models import Hold
from lethe_client.inputs import HoldScope, scope_body
from lethe_client.models import Page
from lethe_client.paging import every, page_of
from lethe_client.transport import Call, Transport, path_of


class Holds:
    """Places and releases holds. The key needs `govern`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def place(
        self,
        name: str,
        *,
        user_id: str | None = None,
        scope: HoldScope | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Hold:
        """Keep what `scope` names, or everything of the user; the same hold again is no error.

        Receipts name the hold in the clear, so `name` must not tell who it is about. A user that is erased all the
        same stays unreadable, and is deleted when the hold is released.

        Raises:
            ConflictError: the name stands for another hold, or the user is being erased.
            ErasedError: the user was erased.
            NotFoundError: nothing was ever stored for this user.
            ValueError: a time without an offset.
        """
        body: dict[str, object] = {
            "user_id": user_id,
            "scope": None if scope is None else scope_body(scope),
            "reason": reason,
        }
        path = path_of("v1", "holds", name)
        answer = self._transport.send(Call("PUT", path, body=body, changes=True, idempotency_key=idempotency_key))
        return Hold.parse(answer.body)

    def get(self, name: str) -> Hold:
        """One hold.

        Raises:
            NotFoundError: there is none of this name on the users of this key.
        """
        return Hold.parse(self._transport.send(Call("GET", path_of("v1", "holds", name))).body)

    def list(self, *, user_id: str | None = None, page_size: int | None = None) -> Iterator[Hold]:
        """All holds of the tenant, or on one user, by name, fetched page by page as they are taken.

        Raises:
            ForbiddenError: the key does not cover the user.
        """
        return every(lambda cursor: self.page(user_id=user_id, limit=page_size, cursor=cursor))

    def page(self, *, user_id: str | None = None, limit: int | None = None, cursor: str | None = None) -> Page[Hold]:
        """One page of holds, for callers that hand the cursor on."""
        query = {"user_id": user_id, "limit": limit, "cursor": cursor}
        return page_of(self._transport.send(Call("GET", "/v1/holds", query)).body, "holds", Hold.parse)

    def release(self, name: str) -> None:
        """Let go what it kept; what was erased meanwhile is deleted soon after. No error when there is none."""
        self._transport.send(Call("DELETE", path_of("v1", "holds", name)))
