"""Engine: everything that Smarter knows about one inference server, as a record of pure functions.

One file in `smarter/engines/` ends in `ENGINE = Engine(...)`. Nothing outside that file names the engine.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from smarter.core.problems import Problem
from smarter.core.source import Layout, Weights


@dataclass(frozen=True, slots=True)
class Images:
    """Default images, pinned. `gpu` is for `nvidia.com/gpu`; None: the engine has none for that hardware."""

    gpu: str | None
    cpu: str | None


@dataclass(frozen=True, slots=True)
class Probe:
    """One check: HTTP at `path`, or `command` in the container; with neither, the port must take a connection.
    `timeout_seconds` is the kubelet's patience for one answer."""

    path: str = ""
    timeout_seconds: int = 5
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """What the engine's container runs. Arguments never hold a secret; `secret_env` maps the name of an environment
    variable to a key of the host's Secret object (`api-key`)."""

    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    secret_env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Termination:
    grace_seconds: int
    pre_stop_command: tuple[str, ...] = ()
    pre_stop_sleep_seconds: int = 0


@dataclass(frozen=True, slots=True)
class User:
    """Whom the container runs as. `waiver` says why a restricted profile does not hold, empty where it does."""

    uid: int
    gid: int
    fs_group: int
    read_only_root: bool = True
    waiver: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    name: str
    images: Images
    port: int
    health: Probe
    readiness: Callable[[Any, Weights], Probe] | None = None
    """Of the spec and its weights, where it differs from `health`."""
    layout: Layout = "files"
    """How weights lie on the volume for this server."""
    api_formats: tuple[str, ...]
    """The first is the default."""
    tasks: tuple[str, ...]
    sources: tuple[str, ...]
    authenticates: bool
    """Whether the engine itself asks for the API key on every path in `public_paths`."""
    public_paths: dict[str, tuple[str, ...]]
    """For each API format, the path prefixes that an Ingress may expose."""
    metrics_path: str | None
    user: User
    writable: dict[str, str] = field(default_factory=dict)
    """Name of an emptyDir volume to its mount path."""
    termination: Callable[[Any], Termination]
    """Of the spec."""
    launch: Callable[[Any, Weights, str], Launch]
    """(spec, weights, served model name) to what runs."""
    check: Callable[[Any], list[Problem]]
    """Rules of this engine over the spec: quantization, dtype, files, managed arguments."""
    managed_args: dict[str, str] = field(default_factory=dict)
    """Canonical flag names (with leading dashes) to the manifest field that sets them; refused in `args`."""
    reserved_args: frozenset[str] = frozenset()
    """Further flags that manifests may not set through `args`."""
    reserved_arg_prefixes: tuple[str, ...] = ()
    arg_aliases: dict[str, str] = field(default_factory=dict)
    """Other spellings of managed and reserved flags to the canonical one."""
    abbreviates: bool = False
    """Whether the server takes the beginning of a long flag for the flag, as argparse does."""
    free_args: frozenset[str] = frozenset()
    """Flags of their own right that are the beginning of a managed or reserved one."""
    env_prefixes: tuple[str, ...] = ()
    """Beginnings of the variables that the server and its libraries read; others pass with a warning."""
    reserved_env: frozenset[str] = frozenset()
    """Variables that manifests may not set, beside those that none may set (`core/arguments.py`)."""
    reserved_env_prefixes: tuple[str, ...] = ()
    reserves_context: bool = False
    """Whether the server takes the memory of a whole context for each concurrent request at its start."""
