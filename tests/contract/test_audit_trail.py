"""The contract of AuditTrail, over the fake and both DynamoDBs; races and faults on the strict one."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from lethe.adapters.dynamodb import Database, DynamoAuditTrail
from lethe.adapters.dynamodb.audit import MOST_TOGETHER
from lethe.domain import keys
from lethe.domain.audit import STRANDS, AuditEntry, AuditEvent, StrandFault, Verdict, Wrong, check_strand, document
from lethe.domain.chain import ChainEnd
from lethe.domain.json_values import JsonObject
from lethe.errors import Throttled, Unavailable
from lethe.ports import AuditTrail
from tests.fakes.time_and_ids import START
from tests.support.faulty import LOST, FaultyClient, after, before, refused
from tests.support.stores import Stores

ANN, BOB = "a" * 32, "b" * 32
TRANSACT = "transact_write_items"


@pytest.fixture
def tenant() -> str:
    return f"t-{secrets.token_hex(6)}"


def event(tenant: str, number: int = 0, subject: str | None = ANN, at: datetime | None = None) -> AuditEvent:
    return AuditEvent(
        tenant=tenant,
        at=at or START + timedelta(seconds=number),
        key="c" * 32,
        action="get_memory",
        verdict=Verdict.ALLOWED,
        subject=subject,
        targets=("mem_" + f"{number:026d}",),
        request_id=f"request-{number}",
    )


def walk(trail: AuditTrail, tenant: str, strand: int = 0, step: int = 7) -> Iterator[JsonObject]:
    after = 0
    while stretch := trail.stretch(tenant, strand, after, step):
        yield from stretch
        after += len(stretch)


def sound(trail: AuditTrail, tenant: str) -> list[int]:
    """The lengths of the strands, each of which must be whole."""
    ends = trail.ends(tenant)
    for strand, end in ends.items():
        checked = check_strand(walk(trail, tenant, strand, 100), tenant, strand, [end])
        assert (checked.fault, checked.end) == (None, end)
    return [end.length for end in ends.values()]


def test_a_tenant_of_whom_nothing_is_known_has_an_empty_chain(stores: Stores, tenant: str) -> None:
    assert stores.audit.ends(tenant) == {}
    assert stores.audit.stretch(tenant, 0, 0, 10) == ()
    assert stores.audit.of_subject(tenant, ANN, 10, None).items == ()


def test_entries_follow_one_another(stores: Stores, tenant: str) -> None:
    entries = [stores.audit.append(event(tenant, number)) for number in range(20)]
    assert [entry.n for entry in entries] == list(range(1, 21))
    assert [entry.event for entry in entries] == [event(tenant, number) for number in range(20)]
    assert list(walk(stores.audit, tenant)) == list(map(document, entries))
    assert stores.audit.ends(tenant) == {0: entries[-1].end}
    assert sound(stores.audit, tenant) == [20]


def test_a_stretch_begins_and_ends_where_it_should(stores: Stores, tenant: str) -> None:
    for number in range(5):
        stores.audit.append(event(tenant, number))
    assert [each["n"] for each in stores.audit.stretch(tenant, 0, 2, 2)] == [3, 4]
    assert [each["n"] for each in stores.audit.stretch(tenant, 0, 4, 9)] == [5]
    assert stores.audit.stretch(tenant, 0, 5, 9) == stores.audit.stretch(tenant, 1, 0, 9) == ()


def test_tenants_have_chains_of_their_own(stores: Stores, tenant: str) -> None:
    other = "other-" + tenant
    for number in range(3):
        stores.audit.append(event(tenant, number))
        stores.audit.append(event(other, number))
    assert (sound(stores.audit, tenant), sound(stores.audit, other)) == ([3], [3])
    assert stores.audit.ends(tenant) != stores.audit.ends(other)
    assert {each["tenant"] for each in walk(stores.audit, tenant)} == {tenant}
    assert {entry.event.tenant for entry in stores.audit.of_subject(tenant, ANN, 9, None).items} == {tenant}


def test_entries_of_a_subject_newest_first_page_by_page(stores: Stores, tenant: str) -> None:
    for number in range(11):
        stores.audit.append(event(tenant, number, (ANN, BOB, None)[number % 3]))
    pages, start = [], None
    while True:
        page = stores.audit.of_subject(tenant, ANN, 2, start)
        pages.append([entry.n for entry in page.items])
        start = page.next_key
        if start is None:
            break
    assert pages == [[10, 7], [4, 1]]
    assert [entry.n for entry in stores.audit.of_subject(tenant, BOB, 50, None).items] == [11, 8, 5, 2]
    assert stores.audit.of_subject(tenant, "d" * 32, 50, None).items == ()


def test_entries_of_a_subject_between_two_times(stores: Stores, tenant: str) -> None:
    for number in range(6):
        stores.audit.append(event(tenant, number))
    second, fifth = START + timedelta(seconds=1), START + timedelta(seconds=4)

    def found(start: str | None = None, limit: int = 9, **times: datetime) -> list[int]:
        return [entry.n for entry in stores.audit.of_subject(tenant, ANN, limit, start, **times).items]

    assert found(after=second) == [6, 5, 4, 3]
    assert found(before=fifth) == [4, 3, 2, 1]
    assert found(after=second, before=fifth) == [4, 3]
    assert found(after=fifth, before=second) == []
    assert found(after=datetime.max.replace(tzinfo=UTC)) == found(before=datetime.min.replace(tzinfo=UTC)) == []
    assert found(after=datetime.min.replace(tzinfo=UTC), before=datetime.max.replace(tzinfo=UTC)) == [6, 5, 4, 3, 2, 1]
    page = stores.audit.of_subject(tenant, ANN, 2, None, before=fifth)
    assert found(page.next_key, before=fifth) == [2, 1]


def test_entries_of_one_moment_are_all_listed(stores: Stores, tenant: str) -> None:
    """Requests of several containers may carry the same time, or an earlier one than the entry before."""
    for number in (5, 5, 3, 5):
        stores.audit.append(event(tenant, number))
    first = stores.audit.of_subject(tenant, ANN, 2, None)
    rest = stores.audit.of_subject(tenant, ANN, 2, first.next_key)
    assert [entry.n for entry in (*first.items, *rest.items)] == [4, 2, 1, 3]
    assert rest.next_key is None


def test_containers_part(strict_stores: Stores, tenant: str) -> None:
    """Each remembers where its strand ended; the one that finds somebody else there goes to another."""
    assert strict_stores.database is not None
    trails = (strict_stores.audit, DynamoAuditTrail(strict_stores.database))
    entries = [trails[number % 2].append(event(tenant, number)) for number in range(40)]
    assert sum(sound(strict_stores.audit, tenant)) == 40
    first, second = ({entry.strand for entry in entries[-10:][part::2]} for part in (0, 1))
    assert len(first) == len(second) == 1
    assert first != second


def test_a_refusal_tells_where_the_strand_ends(strict_stores: Stores, tenant: str) -> None:
    database = strict_stores.database
    assert database is not None
    client = FaultyClient(database._client)
    one = DynamoAuditTrail(Database(client.as_client(), database.models), strands=1)
    other = DynamoAuditTrail(database, strands=1)
    for number in range(10):
        assert (one, other)[number % 2].append(event(tenant, number)).n == number + 1
    # The first entry found no other; each of the four behind it was refused once.
    assert client.calls == {"query": 1, TRANSACT: 1 + 4 * 2}
    assert sound(other, tenant) == [10]


@pytest.mark.parametrize(
    ("containers", "strands", "each"),
    [(1, STRANDS, 50), (8, STRANDS, 50), (4, 1, 10)],
    ids=["one container", "eight containers", "four containers on one strand"],
)
def test_threads_leave_an_unbroken_trail(
    strict_stores: Stores, tenant: str, containers: int, strands: int, each: int
) -> None:
    database = strict_stores.database
    assert database is not None
    trails = [DynamoAuditTrail(database, strands, patience=60) for _ in range(containers)]
    workers = max(containers, 8) if strands > 1 else containers

    def write(thread: int) -> list[AuditEntry]:
        trail = trails[thread % containers]
        return [trail.append(event(tenant, thread * each + number)) for number in range(each)]

    with ThreadPoolExecutor(workers) as threads:
        entries = [entry for written in threads.map(write, range(workers)) for entry in written]
    lengths = sound(strict_stores.audit, tenant)
    assert sum(lengths) == len(entries) == workers * each
    assert len(lengths) == 1 or containers == 8
    stored = [one for strand in strict_stores.audit.ends(tenant) for one in walk(strict_stores.audit, tenant, strand)]
    assert {str(one["request_id"]): one for one in stored} == {
        entry.event.request_id: document(entry) for entry in entries
    }
    listed, start = list[AuditEntry](), None
    while start is not None or not listed:
        page = strict_stores.audit.of_subject(tenant, ANN, 150, start)
        listed, start = [*listed, *page.items], page.next_key
    assert [entry.event.at for entry in listed] == sorted((entry.event.at for entry in entries), reverse=True)


def test_more_than_one_transaction_takes_are_all_written(strict_stores: Stores, tenant: str) -> None:
    count = MOST_TOGETHER * 2 + 5
    with ThreadPoolExecutor(count) as threads:
        entries = list(threads.map(lambda n: strict_stores.audit.append(event(tenant, n)), range(count)))
    assert {entry.event.request_id for entry in entries} == {f"request-{n}" for n in range(count)}
    assert sum(sound(strict_stores.audit, tenant)) == count


def over(
    stores: Stores, plan: dict[tuple[str, int], Callable[..., dict[str, object]]]
) -> tuple[AuditTrail, FaultyClient]:
    assert stores.database is not None
    client = FaultyClient(stores.database._client, plan)
    return DynamoAuditTrail(Database(client.as_client(), stores.database.models)), client


@pytest.mark.parametrize("fault", [before(LOST), after(LOST)], ids=["before", "after the effect"])
def test_a_lost_answer_is_unavailable_and_the_chain_goes_on(
    strict_stores: Stores, tenant: str, fault: Callable[..., dict[str, object]]
) -> None:
    trail, _ = over(strict_stores, {(TRANSACT, 2): fault})
    assert trail.append(event(tenant, 0)).n == 1
    with pytest.raises(Unavailable):
        trail.append(event(tenant, 1))
    (there,) = sound(trail, tenant)
    assert trail.append(event(tenant, 2)).n == there + 1
    assert sound(strict_stores.audit, tenant) == [there + 1]


def test_a_conflict_is_tried_again_and_throttling_is_told(strict_stores: Stores, tenant: str) -> None:
    conflict = refused("TransactionCanceledException", ["TransactionConflict", "None"])
    trail, client = over(
        strict_stores, {(TRANSACT, 1): before(conflict), (TRANSACT, 3): before(refused("ThrottlingException"))}
    )
    assert trail.append(event(tenant, 0)).n == 1
    assert (client.calls[TRANSACT], client.calls["query"]) == (2, 1)
    with pytest.raises(Throttled):
        trail.append(event(tenant, 1))
    assert sound(strict_stores.audit, tenant) == [1]


def test_a_fault_of_ours_reaches_everybody_who_waits(strict_stores: Stores, tenant: str) -> None:
    trail, _ = over(strict_stores, {(TRANSACT, 0): before(ValueError("a defect"))})
    with ThreadPoolExecutor(4) as threads:
        failures = [threads.submit(trail.append, event(tenant, n)) for n in range(4)]
        assert {type(failure.exception(timeout=30)) for failure in failures} == {ValueError}


def test_one_who_is_never_first_gives_up(strict_stores: Stores, tenant: str) -> None:
    assert strict_stores.database is not None
    conflict = refused("TransactionCanceledException", ["TransactionConflict"])
    client = FaultyClient(strict_stores.database._client, {(TRANSACT, 0): before(conflict)})
    trail = DynamoAuditTrail(Database(client.as_client(), strict_stores.database.models), patience=1.0)
    with pytest.raises(Throttled):
        trail.append(event(tenant, 0))
    assert client.calls[TRANSACT] > 1
    assert trail.ends(tenant) == {}


def test_nothing_is_written_over_where_the_end_was_set_back(strict_stores: Stores, tenant: str) -> None:
    """That strand is left as it is, for a check to tell; entries go on in another one, where there is one."""
    database = strict_stores.database
    assert database is not None
    ends = [strict_stores.audit.append(event(tenant, number)).end for number in range(3)]
    partition = keys.ledger_partition(tenant)
    database.put(database.models.chain(partition, keys.audit_chain(0), length=ends[0].length, hash=ends[0].hash))
    with pytest.raises(Unavailable):
        DynamoAuditTrail(database, strands=1).append(event(tenant, 3))
    for number in range(3, 6):
        assert strict_stores.audit.append(event(tenant, number)).strand != 0
    assert [each["n"] for each in walk(strict_stores.audit, tenant)] == [1, 2, 3]
    assert strict_stores.audit.ends(tenant)[0] == ends[0]


def test_damage_in_the_table_is_found(strict_stores: Stores, tenant: str) -> None:
    database = strict_stores.database
    assert database is not None
    for number in range(6):
        strict_stores.audit.append(event(tenant, number))
    end = strict_stores.audit.ends(tenant)[0]
    partition = keys.ledger_partition(tenant)

    def fault(known: ChainEnd = end) -> StrandFault | None:
        return check_strand(walk(strict_stores.audit, tenant), tenant, 0, [known]).fault

    third = database.get(database.models.audit, partition, keys.audit_entry(0, 3))
    assert third is not None
    database.put(database.models.audit(partition, keys.audit_entry(0, 3), entry=third.entry.replace("get_", "put_")))
    assert fault() == StrandFault(3, Wrong.ALTERED)
    database.delete(database.models.audit(partition, keys.audit_entry(0, 3)))
    assert fault() == StrandFault(3, Wrong.MISPLACED)
    database.put(third)
    assert fault() is None
    database.delete(database.models.audit(partition, keys.audit_entry(0, 6)))
    assert fault() == StrandFault(6, Wrong.TRUNCATED)


@pytest.mark.parametrize("damaged", ["[]", "{", "{}"])
def test_what_is_no_entry_is_found_and_not_listed(strict_stores: Stores, tenant: str, damaged: str) -> None:
    database = strict_stores.database
    assert database is not None
    for number in range(3):
        strict_stores.audit.append(event(tenant, number))
    database.put(database.models.audit(keys.ledger_partition(tenant), keys.audit_entry(0, 2), entry=damaged))
    assert check_strand(walk(strict_stores.audit, tenant), tenant, 0).fault == StrandFault(2, Wrong.ALTERED)
    assert [entry.n for entry in strict_stores.audit.of_subject(tenant, ANN, 9, None).items] == [3, 1]
