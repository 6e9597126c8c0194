"""The embedded PostgreSQL: made, started, attached to and stopped. Called by services.

It listens on loopback only and has no socket file, so none can be left behind. The application's role owns its database
and may create others (tests do), but is no superuser: an injected statement cannot run programs. The superuser's
password is thrown away; single-user mode remains for those who hold the files.
"""

import os
import pwd
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from smarter.cli.embedded import processes
from smarter.cli.embedded.processes import Command, ProcessRecord
from smarter.cli.embedded.state import Server, new_password
from smarter.core.errors import PermanentError

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
START_SECONDS = 60.0  # A long one only after a crash, while the log is replayed.
STOP_SECONDS = 30.0
PORT_ATTEMPTS = 3

# Values of rows must not reach the log: a failed statement carries them in its text and in its detail line.
OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
FAST_OPTIONS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass(frozen=True)
class Postgres:
    """`folder` belongs to `user`, and everything below it."""

    programs: Path
    folder: Path
    log: Path
    user: pwd.struct_passwd | None
    fast: bool

    @property
    def data(self) -> Path:
        return self.folder / "data"


def url_of(server: Server) -> str:
    return f"postgres://smarter:{server.password}@127.0.0.1:{server.port}/smarter"


def start(postgres: Postgres, server: Server) -> None:
    """Attach to a server that answers, else clean up after the last one and start. Fills in `server`."""
    server.process = running(postgres.data, server)
    if server.process and answers(postgres, server):
        return
    if server.process:
        stop(server)
    _clean_up(postgres)
    if not (postgres.data / "PG_VERSION").exists():
        _create(postgres, server.password)
    for _ in range(PORT_ATTEMPTS):
        server.port = processes.free_port(server.port)
        server.process = processes.spawn(_command(postgres, server.port))
        processes.wait_until(lambda: answers(postgres, server) or not processes.alive(server.process), START_SECONDS)
        if processes.alive(server.process):
            break
        server.port = 0
    if not answers(postgres, server):
        raise PermanentError(f"PostgreSQL did not start; {postgres.log} says why.", reason="PostgresFailed")


def stop(server: Server) -> None:
    """A fast shutdown; an immediate one if it takes too long. Never SIGKILL, which would leave its shared memory."""
    if server.process:
        processes.terminate(server.process, signal.SIGINT, signal.SIGQUIT, STOP_SECONDS)
    server.process = None


def answers(postgres: Postgres, server: Server) -> bool:
    """Whether the process is ours and takes logins on its port."""
    if not processes.alive(server.process):
        return False
    done = subprocess.run(
        [str(postgres.programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(server.port), "-t", "3"],
        env=ENVIRONMENT,
        cwd="/",
        check=False,
    )
    return done.returncode == 0


def set_password(postgres: Postgres, password: str) -> None:
    """For a database whose state file was lost. It must not be running."""
    _single_user(postgres, postgres.data, [f"ALTER ROLE smarter PASSWORD '{password}'"])


def running(data: Path, server: Server) -> ProcessRecord | None:
    """The recorded process, or the one that its own pid file names if its record was lost with the starter."""
    if processes.alive(server.process):
        return server.process
    lines = _pid_file(data)
    if len(lines) < 4 or int(lines[0]) not in processes.processes_in(data):
        return None
    server.port = int(lines[3])
    return processes.adopt(int(lines[0]))


def _pid_file(data: Path) -> list[str]:
    try:
        return (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return []


def _clean_up(postgres: Postgres) -> None:
    """After a crash, wait for orphaned backends, then drop the pid file.

    PostgreSQL would drop the file of a dead process by itself, but it takes any process of that number for a server: a
    stranger, and also the dead server where nobody has collected it yet, which in some containers nobody ever does.
    Where there is no /proc to look for backends in, the decision is left to PostgreSQL.
    """
    if processes.HAS_PROC and processes.wait_until(lambda: not processes.processes_in(postgres.data), 10.0):
        (postgres.data / "postmaster.pid").unlink(missing_ok=True)


def _create(postgres: Postgres, password: str) -> None:
    """Built beside and renamed at the end, so that an interrupted run leaves nothing that looks finished."""
    draft = postgres.folder / "data.partial"
    _run(postgres, ["/bin/rm", "-rf", str(draft)])
    password_file = postgres.folder / "superuser"
    password_file.unlink(missing_ok=True)
    descriptor = os.open(password_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(new_password())
    if postgres.user:
        os.chown(password_file, postgres.user.pw_uid, postgres.user.pw_gid)
    try:
        _run(postgres, [
            str(postgres.programs / "initdb"), "-D", str(draft), "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8",
            "--auth-host=scram-sha-256", "--auth-local=peer", f"--pwfile={password_file}",
            *(["--no-sync"] if postgres.fast else []),
        ])  # fmt: skip
    finally:
        password_file.unlink()
    role = f"CREATE ROLE smarter LOGIN CREATEDB PASSWORD '{password}'"
    _single_user(postgres, draft, [role, "CREATE DATABASE smarter OWNER smarter"])
    draft.rename(postgres.data)


def _single_user(postgres: Postgres, data: Path, statements: list[str]) -> None:
    """Statements go in by standard input, one a line: neither `ps` nor the log shows a password."""
    options = [f"-c{name}={value}" for name, value in {**OPTIONS, **_fast(postgres)}.items()]
    program = str(postgres.programs / "postgres")
    output = _run(
        postgres, [program, "--single", "-j", "-D", str(data), *options, "postgres"], ";\n\n".join(statements) + ";\n\n"
    )
    if "ERROR" in output or "FATAL" in output:
        raise PermanentError("PostgreSQL refused to make its role or database.", reason="PostgresFailed")


def _fast(postgres: Postgres) -> dict[str, str]:
    return FAST_OPTIONS if postgres.fast else {}


def _command(postgres: Postgres, port: int) -> Command:
    options = [f"-c{name}={value}" for name, value in {**OPTIONS, **_fast(postgres)}.items()]
    argv = [str(postgres.programs / "postgres"), "-D", str(postgres.data), "-p", str(port), *options]
    return Command(argv, postgres.log, ENVIRONMENT, postgres.data, postgres.user)


def _run(postgres: Postgres, argv: list[str], text: str = "") -> str:
    done = subprocess.run(
        argv,
        input=text,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=ENVIRONMENT,
        cwd=postgres.folder,
        umask=0o077,
        check=False,
        **processes.identity_of(postgres.user),
    )
    if done.returncode != 0:
        raise PermanentError(f"{Path(argv[0]).name} failed: {done.stdout.strip()[-2000:]}", reason="PostgresFailed")
    return str(done.stdout)
