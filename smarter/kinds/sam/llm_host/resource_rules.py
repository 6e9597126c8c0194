"""Rules about what a replica asks of the cluster: amounts, GPUs, and where it may be placed."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from smarter.core.placement import GIB
from smarter.core.problems import Problem, warning
from smarter.core.quantities import parse_bytes, parse_cpu_millis, readable_bytes
from smarter.kinds.sam.llm_host.host import MEMORY_BESIDE_SHM_BYTES, Host, block, shm_bytes

_MAX_MEMORY_BYTES = 64 * 1024 * GIB
_GPU_RESOURCE = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?/[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_LABEL_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_LABEL_KEY = re.compile(rf"(?:[a-z0-9](?:[a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_LABEL_NAME}", re.ASCII)
_LABEL_VALUE = re.compile(rf"(?:{_LABEL_NAME})?", re.ASCII)
_SERVICE_ACCOUNT = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)
# Nodes that pods of accounts have no business on, and states of nodes that Kubernetes alone judges.
_SYSTEM_KEYS = ("node-role.kubernetes.io/", "node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
_OPEN_SYSTEM_KEYS = ("node.kubernetes.io/instance-type",)
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_TOLERATION_FIELDS = ("key", "operator", "value", "effect", "tolerationSeconds")
_MAX_TOLERATION_SECONDS = 86_400
_PATH = "spec.resources"


def quantity_problems(spec: Any) -> list[Problem]:
    """Amounts that cannot be read. Other rules need them as numbers, so these come first."""
    resources, storage = spec.resources, spec.storage
    amounts: tuple[tuple[str, str | None, str, Callable[[str], int]], ...] = (
        ("cpu", resources.cpu, f"{_PATH}.cpu", parse_cpu_millis),
        ("memory", resources.memory, f"{_PATH}.memory", _memory),
        ("shmSize", resources.shmSize, f"{_PATH}.shmSize", _memory),
        ("size", storage.size, "spec.storage.size", parse_bytes),
    )
    problems = []
    for name, text, path, parse in amounts:
        if text is None:
            continue
        try:
            if parse(text) == 0:
                problems.append(Problem("quantity", path, f"{name} must be more than 0."))
        except ValueError as fault:
            words = str(fault)
            problems.append(Problem("quantity", path, f"{words[0].upper()}{words[1:]}."))
    if not _GPU_RESOURCE.fullmatch(spec.resources.gpuResource):
        words = "This is not the name of an extended resource such as nvidia.com/gpu."
        problems.append(Problem("gpu_resource", f"{_PATH}.gpuResource", words))
    return problems


def _memory(text: str) -> int:
    return parse_bytes(text, maximum=_MAX_MEMORY_BYTES)


def resource_problems(host: Host) -> list[Problem]:
    return [
        *_memory_problems(host),
        *_gpu_problems(host),
        *_selector_problems(block(host.spec.resources).nodeSelector or {}),
        *_toleration_problems(block(host.spec.resources).tolerations or ()),
        *_account_problems(block(host.spec.resources).serviceAccountName),
    ]


def _memory_problems(host: Host) -> list[Problem]:
    least = shm_bytes(host.spec) + MEMORY_BESIDE_SHM_BYTES
    if "shmSize" not in block(host.spec.resources).model_fields_set or host.need.memory_bytes >= least:
        return []
    words = (
        "The shared memory counts towards the memory of the pod, and the server needs 2Gi beside it. Set memory to "
        f"{readable_bytes(least)} or more, or a smaller shmSize."
    )
    return [Problem("memory", f"{_PATH}.memory", words)]


def _gpu_problems(host: Host) -> list[Problem]:
    gpus, engine = host.need.gpu_count, host.spec.engine
    problems = []
    if (engine.tensorParallelSize or 1) > max(gpus, 1):
        words = f"A replica cannot split the model over more GPUs than it has; gpuCount is {gpus}."
        problems.append(Problem("parallel_size", "spec.engine.tensorParallelSize", words))
    if engine.gpuMemoryUtilization is not None and gpus == 0:
        words = "This needs a GPU; gpuCount is 0."
        problems.append(Problem("gpu_needed", "spec.engine.gpuMemoryUtilization", words))
    problems += _slice_problems(host)
    return problems


def _slice_problems(host: Host) -> list[Problem]:
    """Shared GPUs and slices of one do not add up to a larger one."""
    need = host.need
    if need.gpu_count < 2 or not (need.gpu_resource.endswith(".shared") or "/mig-" in need.gpu_resource):
        return []
    words = f"Several of {need.gpu_resource} are not one larger GPU, and clusters often refuse more than one."
    if (host.spec.engine.tensorParallelSize or need.gpu_count) > 1:
        return [Problem("gpu_slices", f"{_PATH}.gpuCount", words)]
    return [warning("gpu_slices", f"{_PATH}.gpuCount", words)]


def _selector_problems(selector: Mapping[str, str]) -> list[Problem]:
    path = f"{_PATH}.nodeSelector"
    problems = []
    for key, value in selector.items():
        if not _LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(value):
            problems.append(Problem("label", path, "A node selector holds a key or value that no label can have."))
        elif key.startswith(_SYSTEM_KEYS) and key not in _OPEN_SYSTEM_KEYS:
            problems.append(Problem("reserved_label", path, f"The label {key} may not be selected."))
        elif key == "kubernetes.io/hostname":
            words = "This ties every replica to one node; when the node goes, the host cannot start elsewhere."
            problems.append(warning("pinned_node", path, words))
    return problems


def _toleration_problems(tolerations: Any) -> list[Problem]:
    problems = []
    for index, toleration in enumerate(tolerations):
        path = f"{_PATH}.tolerations[{index}]"
        problems += [Problem("toleration", f"{path}{field}", words) for field, words in _faults(toleration)]
    return problems


def _faults(toleration: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Fields and what is wrong with them."""
    faults = []
    unknown = [name for name in toleration if name not in _TOLERATION_FIELDS]
    if unknown:
        faults.append(("", f"A toleration has the fields {', '.join(_TOLERATION_FIELDS)}."))
    key = toleration.get("key")
    if not isinstance(key, str) or not _LABEL_KEY.fullmatch(key):
        faults.append((".key", "A toleration must name the key of one taint; it may not tolerate all."))
    elif key.startswith(_SYSTEM_KEYS):
        faults.append((".key", f"The taint {key} may not be tolerated."))
    operator = toleration.get("operator")
    value = toleration.get("value")
    if operator not in (None, "Equal", "Exists"):
        faults.append((".operator", "The operator is Equal or Exists."))
    if operator == "Exists" and value not in (None, ""):
        faults.append((".value", "With the operator Exists there is no value."))
    elif value is not None and not (isinstance(value, str) and _LABEL_VALUE.fullmatch(value)):
        faults.append((".value", "The value must be text that a label can have."))
    if toleration.get("effect") not in (None, *_EFFECTS):
        faults.append((".effect", f"The effect is one of {', '.join(_EFFECTS)}."))
    return faults + _seconds_faults(toleration)


def _seconds_faults(toleration: Mapping[str, Any]) -> list[tuple[str, str]]:
    seconds = toleration.get("tolerationSeconds")
    if seconds is None:
        return []
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 0 <= seconds <= _MAX_TOLERATION_SECONDS:
        return [(".tolerationSeconds", f"This is a whole number of seconds up to {_MAX_TOLERATION_SECONDS}.")]
    if toleration.get("effect") != "NoExecute":
        return [(".tolerationSeconds", "Seconds count only for the effect NoExecute.")]
    return []


def _account_problems(name: str | None) -> list[Problem]:
    if name is None or _SERVICE_ACCOUNT.fullmatch(name):
        return []
    return [Problem("service_account", f"{_PATH}.serviceAccountName", "This is not the name of a service account.")]
