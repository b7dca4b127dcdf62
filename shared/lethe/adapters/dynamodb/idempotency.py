"""Idempotency records: the claim below the tenant (digests only), the answer in the subject's partition."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Set
from datetime import datetime
from functools import partial

from lethe.adapters.dynamodb.database import Database
from lethe.adapters.dynamodb.failures import ConditionFailed, with_retries
from lethe.adapters.dynamodb.models import AnswerRow
from lethe.adapters.dynamodb.sessions import expired
from lethe.domain import keys
from lethe.domain.idempotency import KEPT, Claim, StoredAnswer
from lethe.domain.identity import Space
from lethe.domain.times import epoch_seconds
from lethe.errors import IdempotencyMismatch, InProgress

_PART_BYTES = 300_000
"""An answer may be larger than an item: it is compressed, and cut into parts of this size."""


class DynamoIdempotencyRecords:
    """``IdempotencyRecords`` in the table of subjects."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._claim = database.models.claim
        self._answer = database.models.answer

    def claim(self, tenant: str, key_digest: str, request_digest: str, now: datetime, deadline: datetime) -> Claim:
        """One conditional put, which tells what stands when it does not get through."""
        row = self._claim(
            keys.claim_partition(tenant, key_digest),
            keys.CLAIM,
            request=request_digest,
            deadline=deadline.timestamp(),
            ttl=epoch_seconds(now + KEPT),
        )
        free = self._claim.pk.does_not_exist() | (self._claim.ttl <= int(now.timestamp()))
        abandoned = (self._claim.request == request_digest) & (self._claim.deadline <= now.timestamp())
        try:
            with_retries(lambda: self._database.put(row, free | abandoned))
        except ConditionFailed as failed:
            standing = self._claim.from_raw_data(failed.found[0]) if failed.found[0] else None
            if standing is None or (standing.request == request_digest and standing.deadline is not None):
                raise InProgress from failed
            if standing.request != request_digest:
                raise IdempotencyMismatch from failed
            return Claim.ANSWERED
        return Claim.STARTED

    def store(self, space: Space, tenant: str, key_digest: str, answer: StoredAnswer, now: datetime) -> None:
        """The answer, its first part last, then the mark on the claim. An answer that is there already stays."""
        packed = zlib.compress(answer.body.encode())
        parts = [packed[n : n + _PART_BYTES] for n in range(0, len(packed), _PART_BYTES)]
        partition = keys.subject_partition(space.tenant, space.subject)
        free = self._answer.pk.does_not_exist() | (self._answer.ttl <= int(now.timestamp()))
        for n in reversed(range(len(parts))):
            row = self._answer(
                partition,
                keys.answer(space.epoch, key_digest, n),
                status=answer.status,
                body=parts[n],
                parts=len(parts),
                about=tuple(sorted(answer.about)),
                location=answer.location,
                ttl=epoch_seconds(now + KEPT),
            )
            try:
                with_retries(partial(self._database.put, row, free))
            except ConditionFailed:
                break  # another run of the same request answered first
        claim = self._claim(keys.claim_partition(tenant, key_digest), keys.CLAIM)
        try:
            with_retries(lambda: self._database.update(claim, [self._claim.deadline.remove()], self._claim.pk.exists()))
        except ConditionFailed:
            return  # the claim has expired meanwhile: there is nothing left to mark

    def answer(self, space: Space, key_digest: str, now: datetime) -> StoredAnswer | None:
        """One read a part; nearly every answer has one."""
        partition = keys.subject_partition(space.tenant, space.subject)
        first = self._database.get(self._answer, partition, keys.answer(space.epoch, key_digest, 0))
        if first is None or expired(first.ttl, now):
            return None
        packed = first.body
        for n in range(1, first.parts):
            part = self._database.get(self._answer, partition, keys.answer(space.epoch, key_digest, n))
            if part is None:
                return None
            packed += part.body
        body = zlib.decompress(packed).decode()
        return StoredAnswer(first.status, body, frozenset(first.about or ()), location=first.location)

    def forget(self, space: Space, about: Set[str]) -> int:
        """One query over the names of the subject's answers, and a batch of deletes when some speak of ``about``."""
        found = [row for row in self._kept(space) if not about.isdisjoint(row.about or ())]
        self._database.delete_many(self._answer, [(row.pk, row.sk) for row in found])
        return len({row.sk.rpartition("#")[0] for row in found})

    def named(self, space: Space) -> frozenset[str]:
        """One query over the names of the subject's answers."""
        return frozenset().union(*(row.about or () for row in self._kept(space)))

    def _kept(self, space: Space) -> Iterator[AnswerRow]:
        """The parts of all answers of an epoch, without their bodies."""
        partition = keys.subject_partition(space.tenant, space.subject)
        within = keys.beginning_with(keys.answers(space.epoch))
        items = self._database.query(self._answer, partition, within, attributes=("pk", "sk", "about"))
        return map(self._answer.from_raw_data, items)

    def release(self, tenant: str, key_digest: str, request_digest: str) -> None:
        """One conditional delete; a claim that is answered, or another's, stays."""
        mine = (self._claim.request == request_digest) & self._claim.deadline.exists()
        claim = self._claim(keys.claim_partition(tenant, key_digest), keys.CLAIM)
        try:
            with_retries(lambda: self._database.delete(claim, mine))
        except ConditionFailed:
            return  # not ours to give up any more
