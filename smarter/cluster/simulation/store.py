"""The SQLite file that is the simulated cluster's memory. Processes share it; one writes at a time.

`world.py` reads and writes objects through a transaction of this store; `simulated.py` keeps the request log, the clock
offset and the scripted faults in it.
"""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_BUSY_SECONDS = 60.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (
  kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL, owner TEXT NOT NULL,
  node TEXT NOT NULL, labels BLOB NOT NULL, body BLOB NOT NULL, managed BLOB NOT NULL,
  PRIMARY KEY (kind, namespace, name)
);
CREATE INDEX IF NOT EXISTS objects_by_owner ON objects (owner) WHERE owner != '';
CREATE INDEX IF NOT EXISTS objects_by_node ON objects (kind, node);
CREATE INDEX IF NOT EXISTS objects_by_namespace ON objects (namespace);
CREATE TABLE IF NOT EXISTS timers (
  kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, step TEXT NOT NULL, uid TEXT NOT NULL,
  due REAL NOT NULL, PRIMARY KEY (kind, namespace, name, step)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS timers_by_due ON timers (due);
CREATE TABLE IF NOT EXISTS placed (
  uid TEXT PRIMARY KEY, node TEXT NOT NULL, cpu INTEGER NOT NULL, memory INTEGER NOT NULL, extended TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS requests (
  id INTEGER PRIMARY KEY, at REAL NOT NULL, manager TEXT NOT NULL, verb TEXT NOT NULL, kind TEXT NOT NULL,
  namespace TEXT NOT NULL, name TEXT NOT NULL, dry_run INTEGER NOT NULL, outcome TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS faults (
  id INTEGER PRIMARY KEY, script TEXT NOT NULL, skip INTEGER NOT NULL, remaining INTEGER NOT NULL
);
"""
_INHERITED: list[sqlite3.Connection] = []
"""Connections of a parent process. Closing one in a child is not safe, so they are kept from the garbage collector."""


class Store:
    """One connection per process, opened on first use, so that it survives a fork of the process that made it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._pid = -1

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            yield self._connect()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that no other process writes beside. An exception takes everything back."""
        with self._lock:
            connection = self._connect()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None

    def _connect(self) -> sqlite3.Connection:
        if self._connection is not None and self._pid == os.getpid():
            return self._connection
        if self._connection is not None:
            _INHERITED.append(self._connection)
            self._lock = threading.RLock()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        # Losing power may lose the last seconds of a simulation, which is no loss; a killed process loses nothing.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -32768")
        connection.executescript(_SCHEMA)
        self._connection, self._pid = connection, os.getpid()
        return connection


def read_meta(connection: sqlite3.Connection, key: str, default: str = "") -> str:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else default


def write_meta(connection: sqlite3.Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))
