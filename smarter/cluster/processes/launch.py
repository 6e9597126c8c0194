"""From a container as it stands in a pod to a program of this machine: arguments and environment. No process is started
here; `container.py` does that.

What the manifest's pod says is taken as it is. Three things are translated, since there is no container: paths below a
mount become paths of this machine, the address of all interfaces becomes loopback, and the program is looked up in a
table, so that a pod runs nothing that its operator did not allow.
"""

import base64
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from smarter.core.objects import KubernetesObject

Lookup = Callable[[str, str], KubernetesObject | None]
"""Kind and name to an object of the pod's namespace."""

FETCH = ("-m", "smarter.fetch")
IMAGE_PROGRAMS = {
    "ghcr.io/ggml-org/llama.cpp": "llama-server",
    "ghcr.io/huggingface/text-embeddings-inference": "text-embeddings-router",
    "ghcr.io/huggingface/text-generation-inference": "text-generation-launcher",
    "lmsysorg/sglang": "python3",
    "ollama/ollama": "ollama",
    "vllm/vllm-openai": "vllm",
    "vllm/vllm-openai-cpu": "vllm",
}
"""What an image starts where the container names no command."""

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")
_ANY_ADDRESS = re.compile(r"\A0\.0\.0\.0(?=\Z|:\d+\Z)")
_SCRATCH = "/tmp"  # noqa: S108 - a folder of the container, not of this machine
_INHERITED = ("LANG", "LC_ALL", "SSL_CERT_DIR", "SSL_CERT_FILE", "TZ")
"""Variables of the node that programs may see. All others stay with it: they hold passwords."""


class RefusedStart(Exception):
    """The container cannot start. `reason` is the word that a kubelet would give."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class Programs:
    """What this machine lets pods run: the base name of a command to the program. Python runs the fetch program alone,
    whose package lies in `checkout`."""

    paths: Mapping[str, Path]
    python: Path
    checkout: Path


@dataclass(frozen=True, slots=True)
class Mount:
    path: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Plan:
    """The environment holds secrets; it is for the child alone."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)


def plan_of(
    container: Mapping[str, Any], pod: KubernetesObject, mounts: Sequence[Mount], programs: Programs, lookup: Lookup
) -> Plan:
    """Raises RefusedStart."""
    env = environment_of(container, pod, lookup)
    argv = [expand(part, env) for part in (*_command_of(container), *(container.get("args") or ()))]
    return Plan(_program(argv, mounts, programs), _local_environment(env, mounts, programs))


def command_plan(
    command: Sequence[str], env: Mapping[str, str], mounts: Sequence[Mount], programs: Programs
) -> tuple[str, ...]:
    """The arguments of a command that a probe or a hook runs in the container."""
    return _program([expand(part, env) for part in command], mounts, programs)


def expand(text: str, env: Mapping[str, str]) -> str:
    """`$(NAME)` is the variable, `$$` is a dollar sign, and what names no variable stays as it is."""

    def value(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        return env.get(match[1], match[0])

    return _REFERENCE.sub(value, text)


def environment_of(container: Mapping[str, Any], pod: KubernetesObject, lookup: Lookup) -> dict[str, str]:
    """As the container would see it, in order: a variable may refer to those before it."""
    if container.get("envFrom"):
        raise RefusedStart("CreateContainerConfigError", "envFrom is not offered on this machine")
    env: dict[str, str] = {}
    for entry in container.get("env") or ():
        if "valueFrom" not in entry:
            env[entry["name"]] = expand(entry.get("value", ""), env)
            continue
        value = _referred(entry["valueFrom"], pod, lookup)
        if value is not None:
            env[entry["name"]] = value
    return env


def local(text: str, mounts: Sequence[Mount]) -> str:
    """A path below a mount as a path of this machine, also behind `--flag=`, and loopback for all interfaces."""
    if text.startswith("-") and "=" in text:
        flag, _, value = text.partition("=")
        return f"{flag}={local(value, mounts)}"
    for mount in sorted(mounts, key=lambda mount: -len(mount.path)):
        path = mount.path.rstrip("/")
        if text == path or text.startswith(f"{path}/"):
            return f"{mount.folder}{text[len(path) :]}"
    return _ANY_ADDRESS.sub("127.0.0.1", text)


def _referred(source: Mapping[str, Any], pod: KubernetesObject, lookup: Lookup) -> str | None:
    if "secretKeyRef" in source:
        return _key_of("Secret", source["secretKeyRef"], lookup)
    if "configMapKeyRef" in source:
        return _key_of("ConfigMap", source["configMapKeyRef"], lookup)
    path = (source.get("fieldRef") or {}).get("fieldPath", "")
    known = {
        "metadata.name": pod["metadata"]["name"],
        "metadata.namespace": pod["metadata"]["namespace"],
        "metadata.uid": pod["metadata"]["uid"],
        "spec.nodeName": pod["spec"].get("nodeName", ""),
        "status.hostIP": "127.0.0.1",
        "status.podIP": "127.0.0.1",
    }
    if path not in known:
        raise RefusedStart("CreateContainerConfigError", "this source of a variable is not offered on this machine")
    return str(known[path])


def _key_of(kind: str, reference: Mapping[str, Any], lookup: Lookup) -> str | None:
    found = lookup(kind, reference["name"])
    value = ((found or {}).get("data") or {}).get(reference["key"])
    if value is not None:
        return base64.b64decode(value).decode() if kind == "Secret" else str(value)
    if reference.get("optional"):
        return None
    if found is None:
        message = f'{kind.lower()} "{reference["name"]}" not found'
    else:
        message = f"couldn't find key {reference['key']} in {kind} {reference['name']}"
    raise RefusedStart("CreateContainerConfigError", message)


def _command_of(container: Mapping[str, Any]) -> Sequence[str]:
    command: Sequence[str] = container.get("command") or ()
    if command:
        return command
    image = container["image"].partition("@")[0]
    repository = image if ":" not in image.rpartition("/")[2] else image.rpartition(":")[0]
    if repository not in IMAGE_PROGRAMS:
        words = f"this machine runs programs, not images, and does not know which one {repository} starts"
        raise RefusedStart("RunContainerError", words)
    return (IMAGE_PROGRAMS[repository],)


def _program(argv: Sequence[str], mounts: Sequence[Mount], programs: Programs) -> tuple[str, ...]:
    name, rest = PurePosixPath(argv[0]).name, argv[1:]
    if name in ("python", "python3") and tuple(rest[: len(FETCH)]) == FETCH:
        return (str(programs.python), *(local(part, mounts) for part in rest))
    if name not in programs.paths:
        raise RefusedStart("RunContainerError", f"the program {name} is not on this machine")
    return (str(programs.paths[name]), *(local(part, mounts) for part in rest))


def _local_environment(env: Mapping[str, str], mounts: Sequence[Mount], programs: Programs) -> dict[str, str]:
    values = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    values |= {"PATH": os.defpath, "PYTHONPATH": str(programs.checkout), "PYTHONUNBUFFERED": "1"}
    for mount in mounts:
        if mount.path == _SCRATCH:
            values["TMPDIR"] = str(mount.folder)
    return values | {name: local(value, mounts) for name, value in env.items()}
