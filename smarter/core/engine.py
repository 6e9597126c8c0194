"""Engine: everything that Smarter knows about one inference server, as a record of pure functions.

One file in `smarter/engines/` ends in `ENGINE = Engine(...)`. Nothing outside that file names the engine.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from smarter.core.images import Images as Images
from smarter.core.problems import Problem
from smarter.core.source import Layout, Weights


@dataclass(frozen=True, slots=True)
class Probe:
    """One check: HTTP at `path`, or `command` in the container; with neither, the port must take a connection.
    `timeout_seconds` is the kubelet's patience for one answer."""

    path: str = ""
    timeout_seconds: int = 5
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SecretFile:
    """A file with the value of one key of the host's Secret object (`api-key`), for a server that reads a secret from a
    file alone. It is mounted read-only at `path`, and `args` are the arguments that name it. Where the host has no such
    key there is neither file nor arguments. `text` makes the content of the value."""

    path: str
    key: str
    args: tuple[str, ...]
    text: Callable[[str], str]

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """Of the file, and of the key of the Secret object that holds its content."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Launch:
    """What the engine's container runs. Arguments never hold a secret; `secret_env` maps the name of an environment
    variable to a key of the host's Secret object (`api-key`)."""

    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    secret_env: dict[str, str] = field(default_factory=dict)
    secret_files: tuple[SecretFile, ...] = ()


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
    """0: it has none of its own, and manifests must name one."""
    health: Probe
    startup: Callable[[Any, Weights], Probe] | None = None
    """Of the spec and its weights, where it differs from `health`."""
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
    model_name: Callable[[Weights, str], str] | None = None
    """(weights, served model name) to the name that requests must give, where it is not the served one."""
    own_command: bool = False
    """Whether manifests choose the program: `spec.engine.command` is theirs, and arguments may be of any form."""
    managed_args: dict[str, str] = field(default_factory=dict)
    """Canonical flag names (with leading dashes) to the manifest field that sets them; refused in `args`."""
    reserved_args: frozenset[str] = frozenset()
    """Further flags that manifests may not set through `args`."""
    reserved_arg_prefixes: tuple[str, ...] = ()
    arg_aliases: dict[str, str] = field(default_factory=dict)
    """Other spellings of managed and reserved flags to the canonical one."""
    abbreviates: bool = False
    """Whether the server takes the beginning of a long flag for the flag, as argparse does."""
    attaches_values: bool = False
    """Whether the server takes the value of a flag of one letter without a blank between them, as `-p8080`."""
    free_args: frozenset[str] = frozenset()
    """Flags of their own right that are the beginning of a managed or reserved one."""
    env_prefixes: tuple[str, ...] = ()
    """Beginnings of the variables that the server and its libraries read; others pass with a warning."""
    managed_env: dict[str, str] = field(default_factory=dict)
    """Variables that the manifest sets, or that are twins of flags it sets, to the field; refused in `env`."""
    reserved_env: frozenset[str] = frozenset()
    """Variables that manifests may not set, beside those that none may set (`core/arguments.py`)."""
    reserved_env_prefixes: tuple[str, ...] = ()
    falls_back: bool = False
    """Whether the server goes on on processors where it finds no GPU that it can use, and only its log says so."""
    reserves_context: bool = False
    """Whether the server takes the memory of a whole context for each concurrent request at its start."""
