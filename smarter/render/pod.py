"""The pod of an inference server. This is the only place that writes pod specs, field by field: what a manifest says
ends up as the value of a field that was foreseen for it, never as a part of the structure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from smarter.core.arguments import literal
from smarter.core.engine import Launch, Probe, SecretFile, Termination, User
from smarter.core.quantities import format_bytes, format_cpu
from smarter.core.source import MODELS_MOUNT, Weights
from smarter.render.secret import WEIGHTS_TOKEN

PORT_NAME = "http"
ENGINE_CONTAINER = "engine"
FETCH_CONTAINER = "fetch"
SERVICE_ACCOUNT = "smarter-workload"
_MODELS_VOLUME = "models"
_SHM_VOLUME = "shm"
_USUAL_PATIENCE = Probe().timeout_seconds
_SCRATCH_SIZE = "10Gi"
"""Limit of each writable folder on the node's disk: room for compiled kernels, not for weights."""
FETCH_USER = 10001
"""Whom the fetch runs as in the pod of a server that must be root."""
_LEAST_STARTUP_LOOKS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """Periods and limits in seconds. An empty `startup` or `readiness` is the same as `health`."""

    health: Probe
    readiness: Probe | None
    period_seconds: int
    startup_timeout_seconds: int
    startup: Probe | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    cpu_millis: int
    memory_bytes: int
    shm_bytes: int
    gpu_count: int
    gpu_resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduling:
    node_selector: Mapping[str, str]
    tolerations: Sequence[Mapping[str, Any]]
    service_account: str = SERVICE_ACCOUNT


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """Everything that makes a pod. `secret_name` is the Secret object that holds `secret_keys`."""

    image: str
    launch: Launch
    port: int
    probes: Probes
    resources: Resources
    scheduling: Scheduling
    termination: Termination
    user: User
    weights: Weights
    claim: str
    claim_read_only: bool
    fetch_image: str
    secret_name: str
    secret_keys: frozenset[str]
    extra_args: tuple[str, ...] = ()
    extra_env: Mapping[str, str] = field(default_factory=dict)
    writable: Mapping[str, str] = field(default_factory=dict)


def pod_spec(pod: Pod) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "containers": [_engine(pod)],
        "enableServiceLinks": False,
        "securityContext": _pod_security(pod.user),
        "serviceAccountName": pod.scheduling.service_account,
        "terminationGracePeriodSeconds": pod.termination.grace_seconds,
        "volumes": _volumes(pod),
    }
    if pod.weights.fetch:
        spec["initContainers"] = [_fetch(pod)]
    if pod.scheduling.node_selector:
        spec["nodeSelector"] = dict(sorted(pod.scheduling.node_selector.items()))
    if pod.scheduling.tolerations:
        spec["tolerations"] = [dict(toleration) for toleration in pod.scheduling.tolerations]
    return spec


def _engine(pod: Pod) -> dict[str, Any]:
    named = [argument for file in _secret_files(pod) for argument in file.args]
    container: dict[str, Any] = {
        "name": ENGINE_CONTAINER,
        "image": pod.image,
        "imagePullPolicy": "IfNotPresent",
        "args": [literal(argument) for argument in (*pod.launch.args, *named, *pod.extra_args)],
        "env": _engine_env(pod),
        "ports": [{"name": PORT_NAME, "containerPort": pod.port, "protocol": "TCP"}],
        "resources": _engine_resources(pod.resources),
        # The driver's hook may write to the root of a container with GPUs.
        "securityContext": _container_security(pod.user.read_only_root and pod.resources.gpu_count == 0),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": _engine_mounts(pod),
        **_probes(pod.probes),
    }
    if pod.launch.command:
        container["command"] = [literal(part) for part in pod.launch.command]
    lifecycle = _pre_stop(pod.termination)
    if lifecycle:
        container["lifecycle"] = lifecycle
    return container


def _engine_env(pod: Pod) -> list[dict[str, Any]]:
    """Smarter's own values win. Without GPUs the container is told that it has none: the images of most servers ask for
    all, and some container runtimes would then hand them over."""
    values = {**pod.extra_env, **pod.launch.env}
    if pod.resources.gpu_count == 0:
        values["NVIDIA_VISIBLE_DEVICES"] = "void"
    env: list[dict[str, Any]] = [{"name": name, "value": literal(values[name])} for name in sorted(values)]
    secrets = {name: key for name, key in pod.launch.secret_env.items() if key in pod.secret_keys}
    return env + [_from_secret(name, pod.secret_name, secrets[name]) for name in sorted(secrets)]


def _secret_files(pod: Pod) -> list[SecretFile]:
    return [file for file in pod.launch.secret_files if file.key in pod.secret_keys]


def _from_secret(name: str, secret_name: str, key: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret_name, "key": key}}}


def _engine_resources(resources: Resources) -> dict[str, Any]:
    requests = {"cpu": format_cpu(resources.cpu_millis), "memory": format_bytes(resources.memory_bytes)}
    limits = {"memory": requests["memory"]}
    if resources.gpu_count:
        requests[resources.gpu_resource] = limits[resources.gpu_resource] = str(resources.gpu_count)
    return {"requests": requests, "limits": limits}


def _fetch(pod: Pod) -> dict[str, Any]:
    """Brings the weights, or looks whether they are there. It may use what the server may use: both never run at once,
    and a limit of its own would be one more thing that large models fail on."""
    fetch = pod.weights.fetch
    if fetch is None:
        raise ValueError("nothing is to be fetched")
    memory = format_bytes(pod.resources.memory_bytes)
    env: list[dict[str, Any]] = [{"name": "HOME", "value": "/tmp"}]
    env += [{"name": name, "value": literal(value)} for name, value in sorted(fetch.env.items())]
    if fetch.token_env and WEIGHTS_TOKEN in pod.secret_keys:
        env.append(_from_secret(fetch.token_env, pod.secret_name, WEIGHTS_TOKEN))
    models: dict[str, Any] = {"name": _MODELS_VOLUME, "mountPath": MODELS_MOUNT}
    if pod.claim_read_only:
        models["readOnly"] = True
    return {
        "name": FETCH_CONTAINER,
        "image": pod.fetch_image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python", "-m", "smarter.fetch"],
        "args": [literal(argument) for argument in fetch.args],
        "env": env,
        "resources": {
            "requests": {"cpu": format_cpu(pod.resources.cpu_millis), "memory": memory},
            "limits": {"memory": memory},
        },
        "securityContext": _container_security(True) | _not_root(pod.user),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [models, {"name": _scratch("tmp"), "mountPath": "/tmp"}],
    }


def _not_root(user: User) -> dict[str, Any]:
    """Root is for a server that cannot do without, and for nothing else in its pod."""
    return {} if user.uid else {"runAsNonRoot": True, "runAsUser": FETCH_USER, "runAsGroup": FETCH_USER}


def _scratch(name: str) -> str:
    return f"scratch-{name}"


def _engine_mounts(pod: Pod) -> list[dict[str, Any]]:
    """The server reads weights and never writes them."""
    mounts: list[dict[str, Any]] = [{"name": _MODELS_VOLUME, "mountPath": MODELS_MOUNT, "readOnly": True}]
    mounts += [{"name": _scratch(name), "mountPath": path} for name, path in sorted(pod.writable.items())]
    mounts += [{"name": _file_volume(file), "mountPath": file.folder, "readOnly": True} for file in _secret_files(pod)]
    return [*mounts, {"name": _SHM_VOLUME, "mountPath": "/dev/shm"}]


def _volumes(pod: Pod) -> list[dict[str, Any]]:
    claim: dict[str, Any] = {"claimName": pod.claim}
    if pod.claim_read_only:
        claim["readOnly"] = True
    volumes: list[dict[str, Any]] = [{"name": _MODELS_VOLUME, "persistentVolumeClaim": claim}]
    scratch = sorted({*pod.writable, "tmp"})
    volumes += [{"name": _scratch(name), "emptyDir": {"sizeLimit": _SCRATCH_SIZE}} for name in scratch]
    volumes += [_secret_volume(pod, file) for file in _secret_files(pod)]
    shm = {"medium": "Memory", "sizeLimit": format_bytes(pod.resources.shm_bytes)}
    return [*volumes, {"name": _SHM_VOLUME, "emptyDir": shm}]


def _file_volume(file: SecretFile) -> str:
    return f"secret-{file.name.replace('.', '-')}"


def _secret_volume(pod: Pod, file: SecretFile) -> dict[str, Any]:
    items = [{"key": file.name, "path": file.name}]
    # Readable for the group of the pod, which is the server's.
    return {"name": _file_volume(file), "secret": {"secretName": pod.secret_name, "items": items, "defaultMode": 0o440}}


def _pod_security(user: User) -> dict[str, Any]:
    return {
        "runAsNonRoot": user.uid != 0,
        "runAsUser": user.uid,
        "runAsGroup": user.gid,
        "fsGroup": user.fs_group,
        # Volumes of hundreds of gigabytes would otherwise be walked through at each start.
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _container_security(read_only_root: bool) -> dict[str, Any]:
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": read_only_root,
    }


def _probes(probes: Probes) -> dict[str, Any]:
    """The startup probe alone decides how long loading may take; the others start after it."""
    startup, readiness = probes.startup or probes.health, probes.readiness or probes.health
    limit, period = probes.startup_timeout_seconds, probes.period_seconds
    # A look that may itself take all the time needs only so many more as fail before the server listens.
    loads = startup.timeout_seconds >= limit
    pause = period if loads else _pause(startup, period)
    return {
        "startupProbe": _probe(startup, pause, _LEAST_STARTUP_LOOKS if loads else -(-limit // pause)),
        "readinessProbe": _probe(readiness, _pause(readiness, period), 3),
        "livenessProbe": _probe(probes.health, _pause(probes.health, period), 6),
    }


def _pause(probe: Probe, period_seconds: int) -> int:
    """A question that may take long is not followed by the next one before it is answered; the usual ones are answered
    at once."""
    return max(period_seconds, probe.timeout_seconds) if probe.timeout_seconds > _USUAL_PATIENCE else period_seconds


def _probe(probe: Probe, period_seconds: int, failures: int) -> dict[str, Any]:
    return {
        **_way_to_ask(probe),
        "periodSeconds": period_seconds,
        "timeoutSeconds": probe.timeout_seconds,
        "failureThreshold": failures,
    }


def _way_to_ask(probe: Probe) -> dict[str, Any]:
    if probe.path:
        return {"httpGet": {"path": probe.path, "port": PORT_NAME, "scheme": "HTTP"}}
    if probe.command:
        return {"exec": {"command": [literal(part) for part in probe.command]}}
    return {"tcpSocket": {"port": PORT_NAME}}


def _pre_stop(termination: Termination) -> dict[str, Any] | None:
    if termination.pre_stop_command:
        return {"preStop": {"exec": {"command": list(termination.pre_stop_command)}}}
    if termination.pre_stop_sleep_seconds:
        return {"preStop": {"sleep": {"seconds": termination.pre_stop_sleep_seconds}}}
    return None
