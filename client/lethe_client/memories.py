"""Long-term memories: what is known, since when and why."""

from collections.abc import Iterator, Mapping, Sequence

from lethe_client.erasure_models import erasure_at
from lethe_client.fields import Fields, When, time_text
from lethe_client.inputs import MemoryInput, MessageInput, Origin, SearchFilters
from lethe_client.json_types import JsonInput
from lethe_client.models import AddResult, BatchResult, Memory, Page, SearchResult
from lethe_client.paging import every, page_of
from lethe_client.transport import Call, Transport, path_of


class Memories:
    """Writes, finds and changes memories. `user_id` may be left out with a key for exactly one user."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
        self,
        text: str | None = None,
        *,
        messages: Sequence[MessageInput] | None = None,
        user_id: str | None = None,
        kind: str | None = None,
        confidence: float | None = None,
        session_id: str | None = None,
        speaker: str | None = None,
        occurred_at: When | None = None,
        context: str | None = None,
        metadata: Mapping[str, JsonInput] | None = None,
        valid_from: When | None = None,
        valid_until: When | None = None,
        origin: Origin | None = None,
        idempotency_key: str | None = None,
    ) -> AddResult:
        """Store one statement as it stands (`text`), or let the service take what matters from `messages`.

        `occurred_at` is when it was said (default: now); `context` is what surrounded it, which search sees
        and never returns.

        Raises:
            ValueError: neither or both of `text` and `messages`, or a time without an offset.
        """
        if (text is None) == (messages is None):
            raise ValueError("give either text or messages")
        body: dict[str, object] = {
            "user_id": user_id,
            "text": text,
            "messages": None if messages is None else list(messages),
            "kind": kind,
            "confidence": confidence,
            "session_id": session_id,
            "speaker": speaker,
            "occurred_at": time_text(occurred_at),
            "context": context,
            "metadata": metadata,
            "valid_from": time_text(valid_from),
            "valid_until": time_text(valid_until),
            "origin": origin,
        }
        answer = self._transport.send(
            Call("POST", "/v1/memories", body=body, changes=True, idempotency_key=idempotency_key)
        )
        return AddResult.parse(answer.body, answer.replayed)

    def batch(
        self,
        items: Sequence[MemoryInput],
        *,
        user_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> BatchResult:
        """Store up to 1,000 statements; one bad item harms no other, so look at each result's `error`."""
        body: dict[str, object] = {"user_id": user_id, "items": list(items)}
        answer = self._transport.send(
            Call("POST", "/v1/memories/batch", body=body, changes=True, idempotency_key=idempotency_key)
        )
        return BatchResult.parse(answer.body, answer.replayed)

    def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        top_k: int | None = None,
        threshold: float | None = None,
        filters: SearchFilters | None = None,
        as_of: When | None = None,
        explain: bool | None = None,
    ) -> SearchResult:
        """Find memories, best first. `as_of` asks what was current at another time.

        `threshold` is the least relevance (0 to 1) that is returned; 0 returns the best whatever they are
        worth.
        """
        body: dict[str, object] = {
            "user_id": user_id,
            "query": query,
            "top_k": top_k,
            "threshold": threshold,
            "filters": filters,
            "as_of": time_text(as_of),
            "explain": explain,
        }
        return SearchResult.parse(self._transport.send(Call("POST", "/v1/memories/search", body=body)).body)

    def get(self, memory_id: str, *, user_id: str | None = None) -> Memory:
        """One memory.

        Raises:
            NotFoundError: there is none with this id for this user.
        """
        call = Call("GET", path_of("v1", "memories", memory_id), {"user_id": user_id})
        return Memory.parse(self._transport.send(call).body)

    def list(
        self,
        *,
        user_id: str | None = None,
        status: str | None = None,
        kind: str | None = None,
        session_id: str | None = None,
        created_after: When | None = None,
        created_before: When | None = None,
        page_size: int | None = None,
    ) -> Iterator[Memory]:
        """All memories that match, newest first, fetched page by page as they are taken."""
        return every(
            lambda cursor: self.page(
                user_id=user_id,
                status=status,
                kind=kind,
                session_id=session_id,
                created_after=created_after,
                created_before=created_before,
                limit=page_size,
                cursor=cursor,
            )
        )

    def page(
        self,
        *,
        user_id: str | None = None,
        status: str | None = None,
        kind: str | None = None,
        session_id: str | None = None,
        created_after: When | None = None,
        created_before: When | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Memory]:
        """One page of memories, for callers that hand the cursor on."""
        query = {
            "user_id": user_id,
            "status": status,
            "kind": kind,
            "session_id": session_id,
            "created_after": time_text(created_after),
            "created_before": time_text(created_before),
            "limit": limit,
            "cursor": cursor,
        }
        return page_of(self._transport.send(Call("GET", "/v1/memories", query)).body, "memories", Memory.parse)

    def history(self, memory_id: str, *, user_id: str | None = None) -> tuple[Memory, ...]:
        """Every version of one memory, oldest first."""
        call = Call("GET", path_of("v1", "memories", memory_id, "history"), {"user_id": user_id})
        return Fields(self._transport.send(call).body, "history").objects("versions", Memory.parse)

    def update(
        self,
        memory_id: str,
        *,
        version: int,
        user_id: str | None = None,
        text: str | None = None,
        kind: str | None = None,
        confidence: float | None = None,
        metadata: Mapping[str, JsonInput] | None = None,
        valid_until: When | None = None,
        no_end: bool = False,
        pinned: bool | None = None,
        frozen: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Memory:
        """Change what is given and leave the rest; `version` is the one that the caller saw.

        `no_end` takes the end of its validity away.

        Raises:
            ValueError: both `valid_until` and `no_end`.
            VersionConflictError: somebody else changed it since; the error names the current version.
        """
        if no_end and valid_until is not None:
            raise ValueError("give either valid_until or no_end")
        body: dict[str, object] = {
            "user_id": user_id,
            "version": version,
            "text": text,
            "kind": kind,
            "confidence": confidence,
            "metadata": metadata,
            "valid_until": time_text(valid_until),
            "pinned": pinned,
            "frozen": frozen,
        }
        path = path_of("v1", "memories", memory_id)
        always = {"valid_until": None} if no_end else None
        answer = self._transport.send(
            Call("PATCH", path, body=body, always=always, changes=True, idempotency_key=idempotency_key)
        )
        return Memory.parse(answer.body)

    def delete(self, memory_id: str, *, user_id: str | None = None) -> str | None:
        """Delete one memory and what was made of it; also when it was already gone.

        The id of the erasure that proves it, for `erasures.get`, `wait` and `receipt`; None when nothing was there,
        which is also the answer when a lost answer was asked for again.

        Raises:
            ConflictError: a legal hold keeps it.
        """
        call = Call("DELETE", path_of("v1", "memories", memory_id), {"user_id": user_id})
        return erasure_at(self._transport.send(call).location)
