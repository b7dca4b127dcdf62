"""Long-term memory in memory."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import astuple, replace
from datetime import datetime

from lethe.domain.identity import Space
from lethe.domain.indexing import Indexed, write_mark
from lethe.domain.keys import join, number
from lethe.domain.lineage import Lineage
from lethe.domain.memory import Memory
from lethe.domain.session import Session
from lethe.errors import Conflict, NotFound, VersionConflict
from lethe.ports import OwnedMemory, Page, Stored
from tests.fakes.heads import FakeSubjectHeads
from tests.fakes.sessions import FakeSessions


class FakeMemories:
    """Every version of every memory, by space and id, oldest first."""

    def __init__(self, heads: FakeSubjectHeads, sessions: FakeSessions | None = None) -> None:
        self._heads = heads
        self._sessions = sessions
        self._spaces: dict[Space, dict[str, list[Memory]]] = {}

    def _of(self, space: Space) -> dict[str, list[Memory]]:
        return self._spaces.setdefault(space, {})

    def _holder(self, space: Space, content_hash: str) -> str | None:
        versions = self._of(space).values()
        return next((all_of_it[-1].id for all_of_it in versions if all_of_it[-1].content_hash == content_hash), None)

    def add(self, space: Space, memories: Sequence[Memory], within: Session | None = None) -> tuple[Stored, ...]:
        if within is not None and self._sessions is not None and not self._sessions.stands(space, within):
            raise Conflict
        if len(memories) > 1_000:
            raise ValueError("at most 1000 memories in one call")
        results = []
        with self._heads.lock:
            held = {versions[-1].content_hash: memory_id for memory_id, versions in self._of(space).items()}
            for memory in memories:
                holder = held.setdefault(memory.content_hash, memory.id)
                if holder == memory.id:
                    self._heads.check(space)
                    self._of(space).setdefault(memory.id, [memory])
                results.append(Stored(memory, None if holder == memory.id else holder))
            stored = sum(result.duplicate_of is None for result in results)
            if stored:
                self._heads.raise_revision(space, written=write_mark(secrets.token_hex(8), stored))
        return tuple(results)

    def get(self, space: Space, memory_id: str) -> Memory | None:
        return self.get_many(space, [memory_id]).get(memory_id)

    def get_many(self, space: Space, memory_ids: Sequence[str]) -> dict[str, Memory]:
        stored = self._of(space)
        return {memory_id: stored[memory_id][-1] for memory_id in memory_ids if memory_id in stored}

    def holders(self, space: Space, content_hashes: Sequence[str]) -> dict[str, str]:
        held = {content_hash: self._holder(space, content_hash) for content_hash in content_hashes}
        return {content_hash: memory_id for content_hash, memory_id in held.items() if memory_id is not None}

    def page(self, space: Space, limit: int, start: str | None) -> Page[Memory]:
        newest_first = [m for m in reversed(self.all(space)) if start is None or m.id < start]
        items = tuple(replace(memory, embedding=None) for memory in newest_first[:limit])
        return Page(items, items[-1].id if len(newest_first) > limit else None)

    def all(self, space: Space) -> tuple[Memory, ...]:
        return tuple(versions[-1] for _, versions in sorted(self._of(space).items()))

    def lineages(self, space: Space) -> tuple[Lineage, ...]:
        return tuple(
            Lineage(
                memory.id,
                memory.version,
                memory.kind,
                memory.created_at,
                memory.source.session_id,
                memory.source.message_ids,
                memory.derived_from,
                memory.context_from,
            )
            for memory in self.all(space)
        )

    def rewrite(self, space: Space, versions: Sequence[Memory]) -> None:
        with self._heads.lock:
            self._heads.check(space)
            for version in sorted(versions, key=lambda each: (each.id, each.version)):
                stored = self._of(space).get(version.id, [])
                places = [n for n, known in enumerate(stored) if known.version == version.version]
                if places:
                    is_newest = places[0] == len(stored) - 1
                    number = version.version + 1 if is_newest else version.version
                    stored[places[0]] = replace(version, version=number)
            self._heads.raise_revision(space, rewrites=True, written=write_mark(secrets.token_hex(8), 1))

    def spaces(self) -> set[Space]:
        """Those that hold anything."""
        return {space for space, memories in self._spaces.items() if memories}

    def purge(self, space: Space, memory_ids: Sequence[str]) -> None:
        """What the eraser does to an epoch that has ended."""
        with self._heads.lock:
            for memory_id in memory_ids:
                self._of(space).pop(memory_id, None)

    def since(self, space: Space, first_id: str) -> tuple[Memory, ...]:
        return tuple(memory for memory in self.all(space) if memory.id >= first_id)

    def changed_since(self, space: Space, moment: datetime) -> tuple[str, ...]:
        newest = [m for m in self.all(space) if m.version > 1 and m.updated_at >= moment]
        return tuple(memory.id for memory in sorted(newest, key=lambda memory: memory.updated_at))

    def old_versions(self, space: Space) -> tuple[Memory, ...]:
        return tuple(old for _, versions in sorted(self._of(space).items()) for old in versions[:-1])

    def history(self, space: Space, memory_id: str) -> tuple[Memory, ...]:
        return tuple(self._of(space).get(memory_id, ()))

    def update(self, space: Space, seen: Memory, changed: Memory) -> Memory:
        with self._heads.lock:
            self._heads.check(space)
            versions = self._of(space).get(seen.id)
            if versions is None:
                raise NotFound
            if versions[-1].version != seen.version:
                raise VersionConflict(versions[-1].version)
            if self._holder(space, changed.content_hash) not in (None, seen.id):
                raise Conflict
            newest = replace(changed, version=seen.version + 1, superseded_at=None)
            versions[-1:] = [replace(seen, superseded_at=newest.updated_at), newest]
            self._heads.raise_revision(space, rewrites=True, written=write_mark(secrets.token_hex(8), 1))
            return newest

    def delete(self, space: Space, memory_ids: Sequence[str], expected_version: int | None = None) -> int:
        with self._heads.lock:
            for found in self.get_many(space, memory_ids).values():
                if expected_version not in (None, found.version):
                    raise VersionConflict(found.version)
            gone = [self._of(space).pop(memory_id, None) for memory_id in dict.fromkeys(memory_ids)]
            count = len(gone) - gone.count(None)
            if count:
                self._heads.raise_revision(space, rewrites=True)
            return count

    def count(self, space: Space) -> int:
        return len(self._of(space))

    def versions_of_all(self) -> tuple[OwnedMemory, ...]:
        """Every version, those of a space together."""
        held = ((space, versions) for space, own in list(self._spaces.items()) for _, versions in sorted(own.items()))
        return tuple(OwnedMemory(space, version) for space, versions in held for version in versions)

    def reembed(self, space: Space, memories: Sequence[Memory]) -> int:
        """What ``MemoryVectors.replace`` does."""
        with self._heads.lock:
            self._heads.check(space)
            done = [self._reembed_one(self._of(space).get(memory.id, []), memory) for memory in memories]
            if any(done):
                self._heads.raise_revision(space, rewrites=True)
            return sum(done)

    def _reembed_one(self, versions: list[Memory], memory: Memory) -> bool:
        for place, stored in enumerate(versions):
            if all(getattr(stored, name) == getattr(memory, name) for name in ("version", "superseded_at", "context")):
                one, other = memory.embedding, memory.second_embedding
                versions[place] = replace(stored, embedding=one, second_embedding=other)
                return True
        return False

    def newest_of_all(self) -> tuple[Indexed, ...]:
        """Every newest version, those of a space together."""
        return tuple(
            Indexed(space, memory.id, memory.version) for space in list(self._spaces) for memory in self.all(space)
        )


class FakeMemoryTable:
    """All memories of a ``FakeMemories``, page by page."""

    def __init__(self, memories: FakeMemories) -> None:
        self._memories = memories

    def page(self, limit: int, start: str | None) -> Page[Indexed]:
        listed, first = self._memories.newest_of_all(), int(start or 0)
        found = listed[first : first + limit]
        return Page(found, str(first + limit) if first + limit < len(listed) else None)


class FakeMemoryVectors:
    """The vectors of a ``FakeMemories``."""

    def __init__(self, memories: FakeMemories) -> None:
        self._memories = memories

    def page(self, limit: int, start: str | None) -> Page[OwnedMemory]:
        after = {_place(held): held for held in self._memories.versions_of_all() if _place(held) > (start or "")}
        listed = sorted(after)
        last = listed[limit - 1] if len(listed) > limit else None
        return Page(tuple(after[place] for place in listed[:limit]), last)

    def replace(self, space: Space, memories: Sequence[Memory]) -> int:
        return self._memories.reembed(space, memories)


def _place(held: OwnedMemory) -> str:
    return join(*map(str, astuple(held.space)[:3]), held.memory.id, number(held.memory.version))
