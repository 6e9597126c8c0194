"""What the tests of the embedded servers look at from outside: processes, arguments, connections."""

import socket
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from smarter.cli.embedded import processes, state
from smarter.cli.embedded.services import Services


def pids(state_dir: Path) -> dict[str, int]:
    current = state.load(state_dir)
    records = {"postgres": current.postgres.process, "valkey": current.valkey.process}
    return {name: record.pid for name, record in records.items() if record and processes.alive(record)}


def postmasters(state_dir: Path) -> list[int]:
    """Server processes of this state directory that are not children of another one."""
    home = Path(state.load(state_dir).home)
    found = processes.processes_in(home / "postgres" / "data")
    parents = {pid: parent(pid) for pid in found}
    return [pid for pid, above in parents.items() if above is not None and above not in found]


def parent(pid: int) -> int | None:
    """None for a process that has just ended, which is then no server of anybody."""
    try:
        return int((Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    except FileNotFoundError:
        return None


def command_lines() -> str:
    """The arguments of every process of this machine."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return "\n".join(found)


def query(services: Services, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(services.database_url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def ask_queue(services: Services, *commands: str) -> list[str]:
    """One reply line per command; the login's own is left out."""
    parts = urlsplit(services.broker_url)
    replies = []
    with socket.create_connection((parts.hostname, parts.port), timeout=5) as connection:
        file = connection.makefile("rwb")
        for command in (f"AUTH {parts.password}", *commands):
            file.write(f"{command}\r\n".encode())
            file.flush()
            line = file.readline().decode().strip()
            if line.startswith("$") and line != "$-1":
                line = file.readline().decode().strip()
            replies.append(line)
        file.close()
    return replies[1:]
