"""The index in dynoxide's file that keeps writes beside a stream from becoming slow."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lethe.domain.json_values import JsonObject
from lethe_local.backends import dynamodb_client
from lethe_local.dynoxide import HOW_TO_GET, Dynoxide, find_binary
from lethe_local.stream_index import add_stream_index
from lethe_local.tables import create_tables

ROOT = Path(__file__).resolve().parents[3]
TABLE: JsonObject = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"},
}
LOOKED_UP = (
    "SELECT COALESCE(MAX(CAST(sequence_number AS INTEGER)), 0) + 1 FROM _stream_records WHERE table_name = 'data'"
)


def _steps(file: Path) -> int:
    """How many steps SQLite takes to answer dynoxide's question."""
    steps = [0]

    def count() -> int:
        steps[0] += 1
        return 0

    with closing(sqlite3.connect(file)) as database:
        database.set_progress_handler(count, 1)
        assert database.execute(LOOKED_UP).fetchone()[0] > 0
    return steps[0]


@pytest.mark.dynoxide
def test_dynoxides_own_question_is_answered_by_the_index_also_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    binary = find_binary(ROOT) or find_binary(ROOT / ".lethe" / "tools")
    if binary is None:
        pytest.skip(f"there is no dynoxide, the strict DynamoDB: {HOW_TO_GET}")
    file = tmp_path / "tables.db"
    grew: list[int] = []
    for run in range(3):
        server = Dynoxide.start(binary, db_path=file)
        client = dynamodb_client(server.url)
        try:
            create_tables(client, {"DataTable": TABLE}, {"DataTable": "data"}, streams={"DataTable"})
            if run == 1:
                slow = _steps(file)
                assert add_stream_index(file)
                assert add_stream_index(file)
                assert _steps(file) < slow
            before = _steps(file)
            for number in range(10):
                client.put_item(TableName="data", Item={"pk": {"S": f"{run}-{number}"}})
            grew.append(_steps(file) - before)
        finally:
            client.close()
            server.stop()
    with closing(sqlite3.connect(file)) as database:
        sequences = [int(row[0]) for row in database.execute("SELECT sequence_number FROM _stream_records ORDER BY id")]
    assert sequences == list(range(1, 31))
    assert grew[0] > 0
    assert grew[1:] == [0, 0]


def test_another_schema_is_left_alone_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE streams (name TEXT)")
    with caplog.at_level(logging.WARNING):
        assert not add_stream_index(file)
        assert not add_stream_index(tmp_path / "missing.db")
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert not (tmp_path / "missing.db").exists()
