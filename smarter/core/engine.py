"""Engine: everything that Smarter knows about one inference server, as a record of pure functions.

One file in `smarter/engines/` ends in `ENGINE = Engine(...)`. Nothing outside that file names the engine.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from smarter.core.problems import Problem
from smarter.core.source import Weights


@dataclass(frozen=True, slots=True)
class Images:
    """Default images, pinned. `gpu` is for `nvidia.com/gpu`; None: the engine has none for that hardware."""

    gpu: str | None
    cpu: str | None


@dataclass(frozen=True, slots=True)
class Probe:
    """One HTTP check. `timeout_seconds` is the kubelet's patience for one answer."""

    path: str
    timeout_seconds: int = 5


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
    readiness: Probe | None = None
    """Where it differs from `health`."""
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
    reserved_args: frozenset[str] = frozenset()
    """Canonical flag names (with leading dashes) that manifests may not set through `args`."""
    arg_aliases: dict[str, str] = field(default_factory=dict)
    env_prefixes: tuple[str, ...] = ()
    """Prefixes of environment variables that manifests may set; all others are refused."""
    reserved_env: frozenset[str] = frozenset()
    needs_gpu: bool = False
