"""The audit trail through the client: what each method sends, and how an entry reads."""

from datetime import UTC, datetime

import pytest

from lethe_client import AuditEntry, ForbiddenError, Lethe, LetheProtocolError
from lethe_client.json_types import JsonObject
from tests.unit.client.samples import problem
from tests.unit.client.stub_service import Reply, StubService


def entry(n: object = 42, **changes: object) -> JsonObject:
    sample: dict[str, object] = {
        "tenant": "acme",
        "strand": 3,
        "n": n,
        "at": "2026-05-04T09:00:00.123456Z",
        "key": "9" * 32,
        "action": "release_hold",
        "verdict": "allowed",
        "subject": "5" * 32,
        "targets": ["hold:" + "7" * 32],
        "request_id": "c63a287a",
        "previous": "0" * 64,
        "hash": "e" * 64,
    }
    return sample | changes  # type: ignore[return-value]  # a test may put anything into an answer


def test_an_entry_reads_with_all_that_it_says() -> None:
    with StubService(Reply(200, {"entries": [entry(verdict="refused", subject=None)], "next_cursor": None})) as stub:
        (found,) = Lethe(stub.url, "lk_a_b").audit.list(user_id="al/ice")
    assert stub.asked[0].target == "/v1/audit?user_id=al%2Fice"
    assert found == AuditEntry(
        at=datetime(2026, 5, 4, 9, 0, 0, 123456, tzinfo=UTC),
        action="release_hold",
        verdict="refused",
        key="9" * 32,
        subject=None,
        targets=("hold:" + "7" * 32,),
        request_id="c63a287a",
        strand=3,
        n=42,
        previous="0" * 64,
        hash="e" * 64,
        raw={},
    )
    assert found.raw["tenant"] == "acme"


def test_entries_page_to_the_end_within_their_times() -> None:
    replies = [
        Reply(200, {"entries": [entry(3), entry(2)], "next_cursor": "c1"}),
        Reply(200, {"entries": [entry(1)], "next_cursor": None}),
    ]
    noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    with StubService(*replies) as stub:
        trail = Lethe(stub.url, "lk_a_b").audit
        found = trail.list(user_id="alice", after=noon, before="2026-06-01T00:00:00Z", page_size=2)
        assert [each.n for each in found] == [3, 2, 1]
    asked = "/v1/audit?user_id=alice&after=2026-05-04T12%3A00%3A00%2B00%3A00&before=2026-06-01T00%3A00%3A00Z&limit=2"
    assert [each.target for each in stub.asked] == [asked, asked + "&cursor=c1"]


def test_one_page_hands_its_cursor_on() -> None:
    with StubService(Reply(200, {"entries": [entry()], "next_cursor": "c2"})) as stub:
        page = Lethe(stub.url, "lk_a_b").audit.page(limit=1, cursor="c1")
    assert stub.asked[0].target == "/v1/audit?limit=1&cursor=c1"
    assert ([each.n for each in page.items], page.next_cursor) == ([42], "c2")


def test_what_is_no_entry_is_told_and_so_is_a_key_that_does_not_cover_the_user() -> None:
    replies = [
        Reply(200, {"entries": [entry(n="42")], "next_cursor": None}),
        Reply(403, problem(403, "forbidden")),
    ]
    with StubService(*replies) as stub:
        trail = Lethe(stub.url, "lk_a_b").audit
        with pytest.raises(LetheProtocolError, match="audit entry: n is not a whole number"):
            trail.page(user_id="alice")
        with pytest.raises(ForbiddenError):
            trail.page(user_id="bob")


def test_a_time_without_an_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="offset"):
        Lethe("http://127.0.0.1:9", "lk_a_b").audit.page(after=datetime(2026, 5, 4))
