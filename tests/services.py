"""Pytest plugin: a real Postgres and a real Valkey for the run, unless the environment names others.

Loaded by `-p` in pyproject.toml, before Django reads its settings. The servers stay up between runs, which saves two
seconds of each; `scripts/test --stop` ends them, and so does CI.
"""

import os
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from smarter.cli.embedded import Services, start_services
from smarter.cli.embedded.environment import environment_for

CHECKOUT = Path(__file__).resolve().parent.parent
STATE_DIR = CHECKOUT / ".smarter" / "tests"


def start() -> None:
    """Sets the addresses in the environment; workers of xdist inherit them."""
    if os.environ.get("DATABASE_URL") and os.environ.get("BROKER_URL"):
        services = Services(os.environ["DATABASE_URL"], os.environ["BROKER_URL"])
    else:
        services = start_services(STATE_DIR, fast=True)
    STATE_DIR.mkdir(parents=True, exist_ok=True)
    made = environment_for(CHECKOUT, STATE_DIR, services, {})
    for name in ("DATABASE_URL", "BROKER_URL", "SMARTER_KEK_FILE", "SMARTER_STATE_DIR"):
        os.environ[name] = os.environ.get(name) or made[name]


def keep_apart(worker: str) -> None:
    """Each worker of xdist has a database of the broker to itself, so that none takes another's messages."""
    url = urlsplit(os.environ["BROKER_URL"])
    number = 1 + int(worker.removeprefix("gw"))
    os.environ["BROKER_URL"] = urlunsplit(url._replace(path=f"/{number}"))


if "PYTEST_XDIST_WORKER" in os.environ:
    keep_apart(os.environ["PYTEST_XDIST_WORKER"])
else:
    start()
