"""Which server to speak to and with which token. The client commands call `connection_for`; `login` writes.

The file holds tokens, so it is private: folder 0700, file 0600, replaced as a whole. Its place is SMARTER_CONFIG, else
~/.config/smarter/config.yaml. It has either several named contexts,

    current: production
    contexts:
      production: {server: "https://smarter.example.com", token: ...}

or, as the quick start writes it, one: `{"server": ..., "token": ...}`. That one is also found without SMARTER_CONFIG,
as the context `local`, so that the command works from a checkout right after the quick start.
"""

import os
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from smarter.cli import exit_codes
from smarter.cli.failures import CommandFailed, bad_usage

LOCAL = "local"
LOGIN_FIRST = "Log in first: smarter login --server URL (or set SMARTER_SERVER and SMARTER_TOKEN)."


@dataclass(frozen=True)
class Context:
    server: str
    token: str = field(default="", repr=False)


@dataclass(frozen=True)
class Config:
    current: str = ""
    contexts: dict[str, Context] = field(default_factory=dict)


@dataclass(frozen=True)
class Connection:
    """Where a request goes. `name` is that of the context, empty where the address came from outside the file."""

    server: str
    token: str = field(repr=False)
    name: str = ""


def path() -> Path:
    chosen = os.environ.get("SMARTER_CONFIG")
    if chosen:
        return Path(chosen).expanduser()
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "smarter" / "config.yaml"


def load() -> Config:
    own = _read(path())
    local = None if os.environ.get("SMARTER_CONFIG") else _read(_quickstart_path())
    if local is None or not local.contexts:
        return own or Config()
    own = own or Config()
    return Config(own.current or local.current, {**local.contexts, **own.contexts})


def _quickstart_path() -> Path:
    checkout = Path(__file__).resolve().parents[2]
    return Path(os.environ.get("SMARTER_STATE_DIR") or checkout / ".smarter") / "cli.json"


def _read(file: Path) -> Config | None:
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as fault:
        raise bad_usage(f"{file} cannot be read: {type(fault).__name__}.") from None
    try:
        data = yaml.safe_load(text) or {}
        return _config(data)
    except (yaml.YAMLError, AttributeError, TypeError, KeyError):
        # The parser's own message would quote the file, and with it a token.
        raise bad_usage(f"{file} is no configuration of Smarter. Log in again, or remove it.") from None


def _config(data: Any) -> Config:
    if "contexts" not in data:
        return Config(LOCAL, {LOCAL: _context(data)}) if data.get("server") else Config()
    return Config(
        str(data.get("current") or ""), {str(name): _context(entry) for name, entry in data["contexts"].items()}
    )


def _context(entry: Any) -> Context:
    return Context(str(entry["server"]).rstrip("/"), str(entry.get("token") or ""))


def is_readable_by_others(file: Path) -> bool:
    try:
        return bool(file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    except OSError:
        return False


def save(config: Config) -> Path:
    file = path()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    contexts = {
        name: {"server": context.server, "token": context.token} for name, context in sorted(config.contexts.items())
    }
    text = yaml.safe_dump({"current": config.current, "contexts": contexts}, sort_keys=False)
    # mkstemp makes the file private from its first byte.
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".config-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return file


def load_own() -> Config:
    """Only what is in the user's own file, for changing it."""
    return _read(path()) or Config()


def connection_for(context: str = "", server: str = "") -> Connection:
    """Options go before the environment, the environment before the file. The token of a context never goes to
    another server than the one it was made for."""
    config = load()
    name = context or os.environ.get("SMARTER_CONTEXT", "")
    address = server or ("" if context else os.environ.get("SMARTER_SERVER", ""))
    token = os.environ.get("SMARTER_TOKEN", "").strip()
    if name and name not in config.contexts:
        known = ", ".join(sorted(config.contexts)) or "none"
        raise bad_usage(f"There is no context {name!r}; known: {known}. {LOGIN_FIRST}")
    found = config.contexts.get(name or config.current)
    if address:
        address = checked_server(address)
        if found is not None and found.server == address:
            return Connection(address, token or found.token, name or config.current)
        return Connection(address, token or _token_for(config, address))
    if found is None:
        raise CommandFailed(exit_codes.NOT_ALLOWED, f"No server is known. {LOGIN_FIRST}")
    return Connection(checked_server(found.server), token or found.token, name or config.current)


def _token_for(config: Config, server: str) -> str:
    return next((context.token for context in config.contexts.values() if context.server == server), "")


def checked_server(address: str) -> str:
    """The address without a path or a final slash. Credentials in it would end up in logs."""
    parts = urlsplit(address if "://" in address else f"https://{address}")
    try:
        valid = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid or parts.username or parts.password or parts.query or parts.fragment:
        raise bad_usage(f"{_shown(address)} is no address of a server; an example: https://smarter.example.com")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _shown(address: str) -> str:
    """Without what may be a password."""
    return repr(address.rpartition("@")[2])


def is_this_machine(server: str) -> bool:
    return (urlsplit(server).hostname or "") in ("localhost", "127.0.0.1", "::1")
