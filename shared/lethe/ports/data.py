"""What a subject's data lives in: heads, sessions, entities, memories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from lethe.domain.entity import Entity
from lethe.domain.head import SubjectHead
from lethe.domain.identity import Space
from lethe.domain.immutable import immutable
from lethe.domain.lineage import Lineage
from lethe.domain.memory import Memory
from lethe.domain.session import Message, Session, SessionSummary
from lethe.ports.common import Page


class SubjectHeads(Protocol):
    """Heads by tenant and subject hash: the one port below the Space, used by ``services.spaces`` alone."""

    def read(self, tenant: str, subject: str) -> SubjectHead | None:
        """The head, read consistently; None when the subject was never written."""
        ...

    def create(self, tenant: str, subject: str) -> SubjectHead:
        """Put a first head (epoch 1, active, revision 0) unless there is one; the head that stands afterwards."""
        ...

    def fence(self, tenant: str, subject: str, erasure_id: str, epoch: int) -> SubjectHead:
        """End ``epoch``: raise it by one and mark the subject as being erased by ``erasure_id``, in one conditional
        write; a subject without a head gets one. The head that stands afterwards.

        A head that is past ``epoch`` stays as it is: it was fenced before, by this erasure or another, and may have
        been admitted since. Raises Conflict when it has not come to ``epoch``: then its table was restored.
        """
        ...

    def end_erasure(self, tenant: str, subject: str, erasure_id: str, until: datetime) -> None:
        """Mark the subject as erased up to ``until``; nothing when it was admitted or fenced anew since."""
        ...

    def admit(self, tenant: str, subject: str, free_at: datetime | None = None) -> SubjectHead | None:
        """Make a subject that is erased, or being erased, active at its present epoch; with ``free_at`` only one that
        was erased so long ago that it is free then. The head that stands afterwards; None when there is none.
        """
        ...

    def restore(self, tenant: str, subject: str, epoch: int, erasure_id: str, until: datetime | None) -> SubjectHead:
        """Bring the head of a restored table to what the ledger says: at least ``epoch``; erased by ``erasure_id`` up
        to ``until``, or active when that is None. A head of a later epoch stays as it is, and so does an active one of
        this epoch: it was admitted.
        """
        ...

    def raise_revision(self, space: Space, rewrites: bool = False, unmarks: bool = False) -> int:
        """Add one to the revision and return it; with ``rewrites`` it becomes the head's ``rewritten`` too, with
        ``unmarks`` the head names no newest write any more.

        Raises Erased when the epoch moved on or is not active.
        """
        ...


@immutable
class AppendResult:
    """What became of each appended message, in order: its stored form, and whether it was there before."""

    messages: tuple[tuple[Message, bool], ...]
    session: Session


@immutable
class NewMessage:
    """A message before it has a place in its session; ``client_id`` makes appending it idempotent."""

    message: Message
    client_id: str | None = None


class Sessions(Protocol):
    """Short-term memory: session heads, messages and summaries of one space."""

    def append(
        self, space: Space, session_id: str, messages: Sequence[NewMessage], now: datetime, ttl_seconds: int
    ) -> AppendResult:
        """Add messages in order, giving each its sequence and turn; 1 to 100 of them.

        A message whose ``client_id`` is already in the session is not added again. A message expires
        ``ttl_seconds`` after it was appended, the session with the last of its messages to expire; after that the
        next append begins it anew. Messages are visible in order, without gaps, also beside concurrent appends. An
        ended session is opened again. Raises TooLarge.
        """
        ...

    def get(self, space: Space, session_id: str, now: datetime) -> Session | None:
        """The session's head, or None."""
        ...

    def list(self, space: Space, now: datetime, limit: int, start: str | None) -> Page[Session]:
        """Sessions by id, at most ``limit``."""
        ...

    def newest(
        self, space: Space, session_id: str, now: datetime, turns: int, before: int | None = None
    ) -> tuple[Message, ...]:
        """The messages of the newest ``turns`` turns, oldest first; reads no more than it needs. With ``before`` as if
        the session ended ahead of the message with that sequence.
        """
        ...

    def page(self, space: Space, session_id: str, now: datetime, limit: int, start: str | None) -> Page[Message]:
        """All messages, oldest first, page by page."""
        ...

    def summary(self, space: Space, session_id: str, now: datetime) -> SessionSummary | None:
        """The newest summary, or None."""
        ...

    def ids(self, space: Space) -> tuple[str, ...]:
        """The ids of all sessions that have left anything, expired or half deleted ones too."""
        ...

    def end(self, space: Space, session_id: str, now: datetime) -> Session:
        """Mark the session as ended; again is no error. Raises NotFound."""
        ...

    def delete(self, space: Space, session_id: str) -> int:
        """Delete head, messages, client ids and summaries; how many items went. 0 when there was nothing."""
        ...


class EntityLists(Protocol):
    """Reads all confirmed facts of one space; what recall needs of entities."""

    def list(self, space: Space, now: datetime) -> tuple[Entity, ...]:
        """All current values, by key; session-scoped ones too."""
        ...

    def history(self, space: Space, key: str, session_id: str | None, now: datetime) -> tuple[Entity, ...]:
        """All versions, oldest first, the current one last; empty when there is none."""
        ...


class Entities(EntityLists, Protocol):
    """Confirmed facts of one space. ``session_id`` scopes a key to one session; None means the subject's own.

    Every change raises the head's revision in the same transaction (or after it, before it returns), so that
    views cached by revision see it. Raises Erased when the epoch moved on.
    """

    def put(
        self,
        space: Space,
        entity: Entity,
        expected_version: int | None,
        keep_sensitive: bool = False,
        held: bool = False,
    ) -> Entity:
        """Store ``entity`` as the new current value and keep the old one as history; returns what is stored.

        With ``keep_sensitive`` a value that stands as sensitive stays so, whatever ``entity`` says. With ``held`` a
        value that stands is given no end that it did not have, and no earlier one: Held.
        With ``expected_version`` (0 = must be new) a different current version raises VersionConflict. Without
        it the newest wins: the adapter reads and retries until its write follows what it saw. The stored version is
        the old one + 1, ``id`` and ``created_at`` are those of the first version. ``entity.updated_at`` is the time
        of the write: a value that has expired by then counts as gone, with its history; no item of it is written
        over. Raises TooLarge.
        """
        ...

    def get(self, space: Space, key: str, session_id: str | None, now: datetime) -> Entity | None:
        """The current value, or None."""
        ...

    def delete(self, space: Space, key: str, session_id: str | None, expected_version: int | None = None) -> int:
        """Delete the current value and its history; how many items went. With ``expected_version`` another current
        version raises VersionConflict; what is gone already is gone.
        """
        ...

    def sessions(self, space: Space) -> tuple[str, ...]:
        """The ids of all sessions that anything is scoped to, expired and superseded values too; consistent."""
        ...

    def delete_session(self, space: Space, session_id: str) -> int:
        """Delete every entity that is scoped to ``session_id``, with its history; how many items went."""
        ...


@immutable
class Stored:
    """What became of one memory in ``Memories.add``: stored now, or the id of the same statement stored before."""

    memory: Memory
    duplicate_of: str | None = None


class Memories(Protocol):
    """Long-term memory of one space: the truth that every index is derived from."""

    def add(self, space: Space, memories: Sequence[Memory], within: Session | None = None) -> tuple[Stored, ...]:
        """Store new memories and raise the head's revision; one result each, in order.

        With ``within`` they are stored only while that very session stands: one that was deleted since, or made anew
        under the same id, raises Conflict. So nothing that is taken from a session outlives its deletion.

        A memory whose ``content_hash`` is already taken (also by an earlier one of the same call) is a duplicate
        and not stored. When this returns, the memories are durable and every container will see them at its next
        head read. At most 1,000. Adding the same memory (its id) again stores nothing twice and is no duplicate,
        so that an add whose answer was lost may be repeated. Raises Erased when the epoch moved on, and TooLarge.
        """
        ...

    def get(self, space: Space, memory_id: str) -> Memory | None:
        """The newest version, or None; consistent."""
        ...

    def get_many(self, space: Space, memory_ids: Sequence[str]) -> dict[str, Memory]:
        """Newest versions by id; what is missing is left out; consistent."""
        ...

    def holders(self, space: Space, content_hashes: Sequence[str]) -> dict[str, str]:
        """Ids of the memories that hold these content hashes, by hash; free ones are left out. Consistent."""
        ...

    def page(self, space: Space, limit: int, start: str | None) -> Page[Memory]:
        """Newest versions, newest id first, without their embeddings."""
        ...

    def all(self, space: Space) -> tuple[Memory, ...]:
        """Newest versions of every memory, with vectors, in id order; consistent, key ranges read at once."""
        ...

    def since(self, space: Space, first_id: str) -> tuple[Memory, ...]:
        """Newest versions of memories with ids from ``first_id`` on, with vectors; consistent, in id order."""
        ...

    def changed_since(self, space: Space, moment: datetime) -> tuple[str, ...]:
        """Ids of memories whose newest version took over at ``moment`` or later, of the last day at least; additions
        are not among them. Consistent.
        """
        ...

    def old_versions(self, space: Space) -> tuple[Memory, ...]:
        """All superseded versions of all memories, with vectors, for ``as_of`` recall."""
        ...

    def history(self, space: Space, memory_id: str) -> tuple[Memory, ...]:
        """All versions of one memory, oldest first; empty when there is none."""
        ...

    def update(self, space: Space, seen: Memory, changed: Memory) -> Memory:
        """Replace ``seen`` by ``changed`` (version + 1), keep ``seen`` as history, raise the head's revision.

        Raises VersionConflict when ``seen`` is no longer newest, NotFound when it is gone, Conflict when
        ``changed.content_hash`` belongs to another memory.
        """
        ...

    def delete(self, space: Space, memory_ids: Sequence[str], expected_version: int | None = None) -> int:
        """Delete memories with all versions and their content hashes, raise the revision; how many memories went.

        With ``expected_version`` one whose newest version is another raises VersionConflict; what is gone already is
        gone.
        """
        ...

    def count(self, space: Space) -> int:
        """How many memories (newest versions) there are."""
        ...

    def lineages(self, space: Space) -> tuple[Lineage, ...]:
        """Where every memory comes from, in id order; consistent."""
        ...

    def rewrite(self, space: Space, versions: Sequence[Memory]) -> None:
        """Put versions of memories in the place of those of the same number, as if they had always been so; the newest
        of a memory gets the next number, so that every copy of it is seen to be stale. Raises the head's revision.

        What changed or went since it was read is left alone: whoever reads again will find it. Raises Erased.
        """
        ...


@immutable
class OwnedMemory:
    """A version of a memory, newest or superseded, and whose it is."""

    space: Space
    memory: Memory


class MemoryVectors(Protocol):
    """The vectors of all versions of all memories: what a change of the embedding model goes through."""

    def page(self, limit: int, start: str | None) -> Page[OwnedMemory]:
        """All versions of all spaces, with vectors, those of one space together, at most ``limit``; consistent."""
        ...

    def replace(self, space: Space, memories: Sequence[Memory]) -> int:
        """Give these versions the embeddings that they come with, and nothing else; how many got them.

        One that was changed or deleted since it was read is left as it is. The head's revision is raised, as after a
        change, in the same transaction. Raises Erased when the epoch moved on: then nothing more is written.
        """
        ...
