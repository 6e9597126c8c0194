"""Rules about the volume of an LLMHost, among them what can never change on one that exists."""

import re

from smarter.core.defaults import filled
from smarter.core.problems import Problem, warning
from smarter.core.quantities import parse_bytes, readable_bytes
from smarter.kinds.sam.llm_host.host import PREFIX, Host, block
from smarter.kinds.sam.llm_host.memory import estimate
from smarter.models.sam.llm_host import SAMLLMHost

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*", re.ASCII)
_MAX_NAME = 253
_OWN_CLAIM = re.compile(rf"{PREFIX}-.*[0-9a-f]{{10}}")
_ROOM = 1.2
"""Volumes need room beside the weights: files are complete before they take their place."""
_PATH = "spec.storage"


def storage_problems(host: Host) -> list[Problem]:
    storage = block(host.spec.storage)
    problems = [*_name_problems(host), *_sharing_problems(host)]
    if storage.existingClaim is None:
        return problems + _size_problems(host)
    kept = "Smarter never deletes a claim that it did not make, so this is not used."
    own = "The existing claim has its own; this is not used."
    for field, words in (("size", own), ("storageClass", own), ("retain", kept)):
        if field in storage.model_fields_set:
            problems.append(warning("no_effect", f"{_PATH}.{field}", words))
    return problems


def _name_problems(host: Host) -> list[Problem]:
    storage = block(host.spec.storage)
    problems = []
    for field in ("existingClaim", "storageClass"):
        name = getattr(storage, field)
        if name is not None and (len(name) > _MAX_NAME or not _NAME.fullmatch(name)):
            words = "Kubernetes names have lower case letters, digits, hyphens and dots."
            problems.append(Problem("name", f"{_PATH}.{field}", words))
    if storage.existingClaim and _OWN_CLAIM.fullmatch(storage.existingClaim):
        words = "This is the volume of another LLMHost, which goes when that host is deleted. Use a claim of your own."
        problems.append(Problem("claim", f"{_PATH}.existingClaim", words))
    return problems


def _sharing_problems(host: Host) -> list[Problem]:
    storage, replicas = block(host.spec.storage), block(host.spec.scaling).replicas
    problems = []
    if replicas > 1 and storage.accessMode == "ReadWriteOnce" and storage.existingClaim is None:
        words = f"{replicas} replicas need a volume that several nodes can mount: ReadWriteMany."
        problems.append(Problem("access_mode", f"{_PATH}.accessMode", words))
    elif replicas > 1 and storage.accessMode == "ReadWriteOnce":
        words = "If several nodes can mount the claim, say so here; replicas elsewhere would not start otherwise."
        if host.source.brings:
            words = "Each replica brings the weights for itself. With ReadWriteMany one Job brings them before that."
        problems.append(warning("shared_claim", f"{_PATH}.accessMode", words))
    if storage.accessMode == "ReadOnlyMany" and host.source.brings:
        words = "Weights cannot be brought to a volume that is for reading only. Use ReadWriteMany."
        problems.append(Problem("access_mode", f"{_PATH}.accessMode", words))
    return problems


def _size_problems(host: Host) -> list[Problem]:
    size, needed = parse_bytes(block(host.spec.storage).size), estimate(host)
    if needed is None or size >= needed.weights * _ROOM:
        return []
    words = (
        f"The weights take about {readable_bytes(needed.weights)}, and the volume should have a fifth more than that."
    )
    return [warning("small_volume", f"{_PATH}.size", words)]


_WAY_OUT = (
    "The way out is a new volume, and the weights are brought anew: apply the present manifest with storage.retain: "
    "false, undeploy it, and then apply this one; or delete the host and apply this one."
)


def change_problems(host: Host, stored: SAMLLMHost) -> list[Problem]:
    """A claim keeps its class, its mode and at least its size."""
    new, old = block(host.spec.storage), block(filled(stored.spec).storage)
    if new.existingClaim is not None or old.existingClaim is not None:
        return []
    problems = []
    if parse_bytes(new.size) < parse_bytes(old.size):
        words = f"A volume cannot shrink; it has {old.size}. {_WAY_OUT}"
        problems.append(Problem("immutable", f"{_PATH}.size", words))
    for field in ("accessMode", "storageClass"):
        if getattr(new, field) != getattr(old, field):
            words = f"This cannot change on a volume that exists. {_WAY_OUT}"
            problems.append(Problem("immutable", f"{_PATH}.{field}", words))
    return problems
