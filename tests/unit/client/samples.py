"""Answers as the contract shapes them, for the stub service."""


def memory(memory_id: str = "mem_1", **changes: object) -> dict[str, object]:
    sample: dict[str, object] = {
        "id": memory_id,
        "user_id": "alice",
        "text": "I moved to Lisbon.",
        "kind": "fact",
        "speaker": "Alice",
        "occurred_at": "2026-05-03T09:00:00Z",
        "status": "current",
        "confidence": 0.95,
        "language": "en",
        "metadata": {"topic": "home"},
        "source": {"session_id": "s1", "message_ids": ["m1"], "actor": "agent-7", "origin": "user"},
        "valid_from": "2026-05-03T09:00:00Z",
        "valid_until": None,
        "created_at": "2026-05-03T09:00:01Z",
        "updated_at": "2026-05-03T09:00:01Z",
        "version": 1,
        "heat": 1,
        "pinned": False,
        "frozen": False,
        "derived_from": [],
    }
    return {**sample, **changes}


def problem(status: int, code: str, **changes: object) -> dict[str, object]:
    sample: dict[str, object] = {
        "type": "about:blank",
        "title": code,
        "status": status,
        "detail": f"this is {code}",
        "code": code,
        "request_id": "req-1",
        "errors": [],
    }
    return {**sample, **changes}


def session(turns: int = 1) -> dict[str, object]:
    return {
        "turns": turns,
        "messages": 2 * turns,
        "expires_at": "2026-05-10T09:00:00Z",
        "summary_due": False,
        "summary_reason": None,
    }


def erasure(erasure_id: str = "er_1", **changes: object) -> dict[str, object]:
    sample: dict[str, object] = {
        "id": erasure_id,
        "state": "completed",
        "scope": {"subject": True},
        "requested_at": "2026-05-04T09:00:00Z",
        "unreadable_since": "2026-05-04T09:00:01Z",
        "ended_at": "2026-05-04T09:02:00Z",
        "steps": [{"name": "memories", "state": "done", "found": 3, "deleted": 3, "attempts": 1}],
        "verified": [{"at": "2026-05-04T09:01:00Z", "remaining": {"memories": 0}, "held": {}}],
        "held": 0,
        "holds": [],
        "failure": None,
        "retry_at": None,
        "receipt_id": "rc_1",
        "receipts": ["rc_1"],
    }
    return {**sample, **changes}


def running_erasure(erasure_id: str = "er_1", **changes: object) -> dict[str, object]:
    begun: dict[str, object] = {
        "state": "running",
        "ended_at": None,
        "verified": [],
        "receipt_id": None,
        "receipts": [],
    }
    return {**erasure(erasure_id), **begun, **changes}


def hold(name: str = "case-7", **changes: object) -> dict[str, object]:
    sample: dict[str, object] = {
        "name": name,
        "subject": "a" * 32,
        "scope": {"subject": True},
        "created_at": "2026-05-04T09:00:00Z",
    }
    return {**sample, **changes}
