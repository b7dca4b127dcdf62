"""Keeps dynoxide's writes fast beside a stream.

dynoxide 1.2.1 looks up the highest sequence number of a table's stream for every record that it adds, and its file has
no index to do so: a transaction of 25 items takes 10 ms at first and 395 ms after 5,000 records. With an index on what
it looks for it stays at 10 ms. SQLite finds the index by itself, and it lives in the file like the data.
"""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

_STATEMENT = (
    "CREATE INDEX IF NOT EXISTS lethe_stream_order ON _stream_records(table_name, CAST(sequence_number AS INTEGER))"
)
_WAIT_SECONDS = 10.0
_log = logging.getLogger("lethe_local.stream_index")


def add_stream_index(database: Path) -> bool:
    """Add the index to dynoxide's ``database``, which may be in use; whether it stands.

    A version of dynoxide that keeps its streams elsewhere goes on without it, and the log says so.
    """
    try:
        # Not made by us: an empty file would look to dynoxide like a database of its own.
        with closing(
            sqlite3.connect(f"{database.resolve().as_uri()}?mode=rw", uri=True, timeout=_WAIT_SECONDS)
        ) as file:
            with file:
                file.execute(_STATEMENT)
            return True
    except sqlite3.Error as error:
        _log.warning("the streams have no index, so that writes become slower with each record: %s", error)
        return False
