"""Sessions: the conversation as it goes."""

from collections.abc import Iterator, Sequence

from lethe_client.erasure_models import erasure_at
from lethe_client.inputs import MessageInput
from lethe_client.models import Page
from lethe_client.paging import every, page_of
from lethe_client.session_models import AppendResult, Message, Session, SessionWindow
from lethe_client.transport import Call, Transport, path_of


class Sessions:
    """Appends to and reads sessions. `user_id` may be left out with a key for exactly one user."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def append(
        self,
        session_id: str,
        messages: Sequence[MessageInput],
        *,
        user_id: str | None = None,
        remember: bool | None = None,
        ttl_seconds: int | None = None,
        idempotency_key: str | None = None,
    ) -> AppendResult:
        """Append 1 to 100 messages; by default what the user states in them is remembered.

        `ttl_seconds` is how long the session is kept after this.
        """
        body = {
            "user_id": user_id,
            "messages": list(messages),
            "remember": remember,
            "ttl_seconds": ttl_seconds,
        }
        path = path_of("v1", "sessions", session_id, "messages")
        answer = self._transport.send(Call("POST", path, body=body, changes=True, idempotency_key=idempotency_key))
        return AppendResult.parse(answer.body, answer.replayed)

    def window(
        self, session_id: str, *, user_id: str | None = None, turns: int | None = None, cursor: str | None = None
    ) -> SessionWindow:
        """The newest `turns` turns (10 unless told), oldest first, with the session's head and summary.

        The `next_cursor` of a window that was truncated, handed in without `turns`, brings what comes before it.
        """
        path = path_of("v1", "sessions", session_id, "messages")
        answer = self._transport.send(Call("GET", path, {"user_id": user_id, "turns": turns, "cursor": cursor}))
        return SessionWindow.parse(answer.body, session_id)

    def messages(
        self, session_id: str, *, user_id: str | None = None, page_size: int | None = None
    ) -> Iterator[Message]:
        """All messages that the session still keeps, oldest first."""
        path = path_of("v1", "sessions", session_id, "messages")

        def fetch(cursor: str | None) -> Page[Message]:
            query = {"user_id": user_id, "order": "asc", "limit": page_size, "cursor": cursor}
            return page_of(self._transport.send(Call("GET", path, query)).body, "messages", Message.parse)

        return every(fetch)

    def get(self, session_id: str, *, user_id: str | None = None) -> Session:
        """The head of one session."""
        path = path_of("v1", "sessions", session_id)
        body = self._transport.send(Call("GET", path, {"user_id": user_id})).body
        return Session.parse(body)

    def list(self, *, user_id: str | None = None, page_size: int | None = None) -> Iterator[Session]:
        """All sessions of the user that have not expired."""
        return every(lambda cursor: self.page(user_id=user_id, limit=page_size, cursor=cursor))

    def page(self, *, user_id: str | None = None, limit: int | None = None, cursor: str | None = None) -> Page[Session]:
        """One page of sessions, for callers that hand the cursor on."""
        query = {"user_id": user_id, "limit": limit, "cursor": cursor}
        return page_of(self._transport.send(Call("GET", "/v1/sessions", query)).body, "sessions", Session.parse)

    def end(self, session_id: str, *, user_id: str | None = None) -> Session:
        """Say that the conversation is over."""
        path = path_of("v1", "sessions", session_id, "end")
        body = self._transport.send(Call("POST", path, body={"user_id": user_id}, changes=True)).body
        return Session.parse(body)

    def delete(self, session_id: str, *, user_id: str | None = None) -> str | None:
        """Delete the session, its messages and the memories that rest on them; also when it was already gone.

        The id of the erasure that proves it, for `erasures.get`, `wait` and `receipt`; None when nothing was there,
        which is also the answer when a lost answer was asked for again.

        Raises:
            ConflictError: a legal hold keeps it.
        """
        call = Call("DELETE", path_of("v1", "sessions", session_id), {"user_id": user_id})
        return erasure_at(self._transport.send(call).location)
