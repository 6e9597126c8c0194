"""The environment of Smarter's own processes: addresses, keys and settings. Called by the stack.

Secrets travel in the environment or in private files, never in an argument: arguments are seen by everybody.
"""

import base64
import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from smarter.cli.embedded import services, state
from smarter.cli.embedded.services import Services

SETTINGS = "smarter.settings.dev"
COUNTED = ("DATABASE_URL", "BROKER_URL", "DJANGO_SECRET_KEY", "DJANGO_SETTINGS_MODULE")


def wanted_services(environ: Mapping[str, str]) -> frozenset[str]:
    """The servers that are still missing: an address that the environment gives is used, and nothing started for it."""
    missing = {services.DATABASE: "DATABASE_URL", services.QUEUE: "BROKER_URL"}
    return frozenset(name for name, variable in missing.items() if not environ.get(variable))


def environment_for(checkout: Path, state_dir: Path, started: Services, environ: Mapping[str, str]) -> dict[str, str]:
    """What the caller has set wins over what is made here."""
    ours = {
        "DATABASE_URL": started.database_url,
        "BROKER_URL": started.broker_url,
        "DJANGO_SETTINGS_MODULE": SETTINGS,
        "DJANGO_SECRET_KEY": _secret_key(state_dir / "secret-key"),
        "SMARTER_KEK_FILE": str(_key_ring(state_dir / "kek.json")),
    }
    fixed = {"SMARTER_STATE_DIR": str(state_dir), "PYTHONPATH": str(checkout), "PYTHONUNBUFFERED": "1"}
    given = {name: value for name, value in environ.items() if value}
    return {**ours, **given, **fixed}


def fingerprint(argv: list[str], env: Mapping[str, str], code: Path) -> str:
    """A digest of what a process was started from; it reveals none of it."""
    counted = [
        f"{name}={value}" for name, value in sorted(env.items()) if name in COUNTED or name.startswith("SMARTER_")
    ]
    newest = max((path.stat().st_mtime_ns for path in code.rglob("*.py")), default=0)
    return hashlib.sha256("\0".join([*argv, *counted, str(newest)]).encode()).hexdigest()


def _secret_key(path: Path) -> str:
    if not path.exists():
        state.write_private(path, secrets.token_urlsafe(64))
    return path.read_text()


def _key_ring(path: Path) -> Path:
    """Made once. Without it no stored secret can be read again, so it is never replaced."""
    if not path.exists():
        key = base64.b64encode(os.urandom(32)).decode()
        state.write_private(path, json.dumps({"primary": "k1", "keys": {"k1": key}}))
    return path
