"""Scripted faults of the simulated cluster, and the log of its requests. Both live in the store, so that a test can
reach a worker in another process. `simulated.py` consults them at every request.
"""

import sqlite3
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Literal

import orjson

from smarter.cluster import answers
from smarter.core.objects import NAMESPACE


@dataclass(frozen=True, slots=True)
class Request:
    """One line of the log. `outcome` is `ok`, a reason of the port's errors, or `lost` if the answer got lost after the
    work was done."""

    at: datetime
    manager: str
    verb: str
    kind: str
    namespace: str
    name: str
    dry_run: bool
    outcome: str


@dataclass(frozen=True, slots=True)
class Fault:
    """Hits requests whose verb (apply, get, list, delete, logs, info), kind, namespace and name match the patterns (a
    namespace lies in itself): leaves `skip` of them alone, then hits `times`. `status` 0 is a connection that breaks;
    None lets the request through, after `delay_seconds` of real time. `after` hits when the work is done, so that only
    the answer is lost."""

    verb: str = "*"
    kind: str = "*"
    namespace: str = "*"
    name: str = "*"
    skip: int = 0
    times: int = 1
    moment: Literal["before", "after"] = "before"
    status: int | None = 0
    message: str = "scripted fault"
    retry_after: str = ""
    delay_seconds: float = 0.0


def add_fault(connection: sqlite3.Connection, fault: Fault) -> None:
    script = orjson.dumps(asdict(fault)).decode()
    connection.execute(
        "INSERT INTO faults (script, skip, remaining) VALUES (?, ?, ?)", (script, fault.skip, fault.times)
    )


def any_faults(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM faults LIMIT 1").fetchone() is not None


def take_fault(connection: sqlite3.Connection, verb: str, kind: str, namespace: str, name: str) -> Fault | None:
    """The first that matches, counted down."""
    place = name if kind == NAMESPACE.kind else namespace
    for number, script, skip, remaining in connection.execute(
        "SELECT id, script, skip, remaining FROM faults ORDER BY id"
    ).fetchall():
        fault = Fault(**orjson.loads(script))
        patterns = ((verb, fault.verb), (kind, fault.kind), (place, fault.namespace), (name, fault.name))
        if not all(fnmatchcase(value, pattern) for value, pattern in patterns):
            continue
        if skip > 0:
            connection.execute("UPDATE faults SET skip = skip - 1 WHERE id = ?", (number,))
            continue
        if remaining > 1:
            connection.execute("UPDATE faults SET remaining = remaining - 1 WHERE id = ?", (number,))
        else:
            connection.execute("DELETE FROM faults WHERE id = ?", (number,))
        return fault
    return None


def failure_of(fault: Fault, what: str) -> answers.Failure:
    if not fault.status:
        return answers.unreachable(what, fault.message)
    body = answers.status_body(fault.status, "", fault.message, name=what, kind="simulated")
    return answers.failure_for(fault.status, body, what=what, retry_after=fault.retry_after)


def log_request(connection: sqlite3.Connection, request: Request) -> None:
    connection.execute(
        "INSERT INTO requests (at, manager, verb, kind, namespace, name, dry_run, outcome)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            request.at.timestamp(),
            request.manager,
            request.verb,
            request.kind,
            request.namespace,
            request.name,
            int(request.dry_run),
            request.outcome,
        ),
    )


def read_log(connection: sqlite3.Connection) -> list[Request]:
    rows = connection.execute(
        "SELECT at, manager, verb, kind, namespace, name, dry_run, outcome FROM requests ORDER BY id"
    )
    return [
        Request(datetime.fromtimestamp(at, UTC), manager, verb, kind, namespace, name, bool(dry), outcome)
        for at, manager, verb, kind, namespace, name, dry, outcome in rows
    ]
