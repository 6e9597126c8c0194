"""Pytest plugin: a real Postgres and a real Valkey for the run, unless the environment names others.

Loaded by `-p` in pyproject.toml, before Django reads its settings. The servers stay up between runs, which saves two
seconds of each; `scripts/test --stop` ends them, and so does CI.
"""

import os
from pathlib import Path

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


if "PYTEST_XDIST_WORKER" not in os.environ:
    start()
