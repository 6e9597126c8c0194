"""The embedded Valkey: started, attached to and stopped. Called by services.

It holds hints for workers, never the only copy of anything; it is kept on disk all the same, so that a restart of the
machine loses no hint. Loopback and password, no socket file. The password is in a private file, not in an argument.
"""

import os
import pwd
import signal
import socket
from dataclasses import dataclass
from pathlib import Path

from smarter.cli.embedded import processes
from smarter.cli.embedded.processes import Command, ProcessRecord
from smarter.cli.embedded.state import Server, write_private
from smarter.core.errors import PermanentError

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
START_SECONDS = 30.0
STOP_SECONDS = 10.0
PORT_ATTEMPTS = 3

CONFIGURATION = """\
bind 127.0.0.1
port {port}
requirepass {password}
dir "{data}"
pidfile "{data}/valkey.pid"
daemonize no
appendonly yes
appendfsync {appendfsync}
save ""
maxmemory 256mb
maxmemory-policy noeviction
"""


@dataclass(frozen=True)
class Valkey:
    """`folder` belongs to `user`, and everything below it."""

    program: Path
    folder: Path
    log: Path
    user: pwd.struct_passwd | None
    fast: bool

    @property
    def data(self) -> Path:
        return self.folder / "data"


def url_of(server: Server) -> str:
    return f"redis://:{server.password}@127.0.0.1:{server.port}/0"


def start(valkey: Valkey, server: Server) -> None:
    """Attach to a server that answers, else end what holds the data and start. Fills in `server`."""
    server.process = running(valkey.data, server)
    if answers(server):
        return
    stop(server)
    valkey.data.mkdir(mode=0o700, exist_ok=True)
    _hand_over(valkey.data, valkey.user)
    for _ in range(PORT_ATTEMPTS):
        server.port = processes.free_port(server.port)
        server.process = processes.spawn(_command(valkey, server))
        processes.wait_until(lambda: answers(server) or not processes.alive(server.process), START_SECONDS)
        if processes.alive(server.process):
            break
        server.port = 0
    if not answers(server):
        raise PermanentError(f"Valkey did not start; {valkey.log} says why.", reason="ValkeyFailed")


def stop(server: Server) -> None:
    """Valkey writes its log out on SIGTERM. It keeps no shared memory, so SIGKILL is safe in the end."""
    if server.process:
        processes.terminate(server.process, signal.SIGTERM, signal.SIGKILL, STOP_SECONDS)
    server.process = None


def answers(server: Server) -> bool:
    """Whether the process is ours, lets our password in, and has loaded its data."""
    if not processes.alive(server.process):
        return False
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=3) as connection:
            connection.sendall(f"AUTH {server.password}\r\nPING\r\n".encode())
            reply = b""
            while reply.count(b"\r\n") < 2:
                chunk = connection.recv(4096)
                if not chunk:
                    return False
                reply += chunk
    except OSError:
        return False
    return reply == b"+OK\r\n+PONG\r\n"


def running(data: Path, server: Server) -> ProcessRecord | None:
    """The recorded process, or the one that works in the data folder if its record was lost with the starter."""
    if processes.alive(server.process):
        return server.process
    found = processes.processes_in(data)
    return processes.adopt(found[0]) if found else None


def _command(valkey: Valkey, server: Server) -> Command:
    configuration = valkey.folder / "valkey.conf"
    text = CONFIGURATION.format(
        port=server.port,
        password=server.password,
        data=valkey.data,
        appendfsync="no" if valkey.fast else "everysec",
    )
    write_private(configuration, text)
    _hand_over(configuration, valkey.user)
    argv = [str(valkey.program), str(configuration)]
    return Command(argv, valkey.log, ENVIRONMENT, valkey.data, valkey.user)


def _hand_over(path: Path, user: pwd.struct_passwd | None) -> None:
    if user:
        os.chown(path, user.pw_uid, user.pw_gid)
