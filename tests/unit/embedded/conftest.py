"""Real servers in a folder of their own. Making a database costs about a second, so the tests of a file share one."""

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from smarter.cli import embedded
from smarter.cli.embedded import programs


@pytest.fixture(scope="module")
def state_dir() -> Iterator[Path]:
    """A folder that other accounts can pass through, as a checkout's usually is."""
    folder = Path(tempfile.mkdtemp(prefix="embedded-"))
    folder.chmod(0o755)
    yield folder / "state"
    embedded.remove_services(folder / "state")
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def account() -> pwd.struct_passwd:
    """Who runs the servers here."""
    return programs.server_account() or pwd.getpwuid(os.geteuid())
