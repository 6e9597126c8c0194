"""Words for what goes wrong on a cluster: why, and what to do.

What a cluster says is somebody else's text, so it is cut and stripped before it stands in a message.
"""

import json
import re
from typing import Any

MAX_LENGTH = 1024
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
_LOG_PREFIX = re.compile(r"^(?:\(\w+ pid=\d+\) )?(?:ERROR|CRITICAL|\[ERROR\])?\s*(?:\d\d-\d\d \d\d:\d\d:\d\d)?\s*")
_FAULT_LINE = re.compile(r"\b(?:\w*Error|\w*Exception|error|fatal|failed|panic)\b")

# Reasons of containers that wait, to words. `{detail}` is what the cluster says.
WAITING = {
    "ErrImagePull": "The image {image} cannot be pulled: {detail} Check its name and tag, and that the cluster may "
    "pull it.",
    "ImagePullBackOff": "The image {image} cannot be pulled, and the cluster tries again ever more rarely: {detail} "
    "Check its name and tag, and that the cluster may pull it.",
    "InvalidImageName": "The name of the image {image} is not valid. Correct spec.engine.image.",
    "ErrImageNeverPull": "The image {image} is not on the node, and the cluster does not pull images.",
    "RegistryUnavailable": "The registry of the image {image} does not answer. The cluster tries again.",
    "CreateContainerConfigError": "The container cannot be set up: {detail} A Secret or a key in it is missing.",
    "CreateContainerError": "The container cannot be created: {detail}",
    "RunContainerError": "The container cannot be started: {detail} Often the image has no such program or is built "
    "for other processors.",
    "ContainerCannotRun": "The container cannot be started: {detail}",
}
# Reasons of pods that failed as a whole.
POD_FAILED = {
    "Evicted": "The node ran short of memory or disk and put the replica out: {detail} A new one is made. Ask for more "
    "memory if that happens again.",
    "UnexpectedAdmissionError": "The node refused the replica: {detail} Its device plugin cannot give what is asked "
    "for; check gpuCount and gpuResource.",
    "NodeAffinity": "The labels of the node no longer fit the replica. A new one is made.",
    "NodeShutdown": "The node was shut down. A new replica is made on another one.",
    "Terminated": "The node was shut down. A new replica is made on another one.",
    "NodeLost": "The node no longer answers. A new replica is made when the cluster gives the old one up.",
    "Preempting": "The replica had to make room for a more important one. A new one waits for a node.",
    "Shutdown": "The node was shut down. A new replica is made on another one.",
}
# What a server says last before it ends, to advice. The first that is found counts.
_ADVICE = (
    (
        re.compile(r"CUDA out of memory|OutOfMemoryError|No available memory for the cache|cudaMalloc failed", re.I),
        "The GPU's memory is too small: lower contextLength or maxConcurrentRequests, or use a larger compute.",
    ),
    (
        re.compile(r"larger than the maximum number of tokens|exceeds the available KV|KV cache is needed", re.I),
        "The context does not fit the GPU's memory: lower contextLength.",
    ),
    (re.compile(r"No space left on device", re.I), "The volume is full: give storage.size more room."),
    (re.compile(r"unrecognized arguments|invalid argument|unknown argument", re.I), "Check spec.engine.args."),
    (
        re.compile(r"no kernel image is available|CUDA driver version is insufficient|unsupported.*compute cap", re.I),
        "The image does not fit this GPU or its driver: use another image or compute.",
    ),
    (re.compile(r"trust_remote_code", re.I), "The model brings code of its own: set trustRemoteCode, at a commit."),
)
# Reasons of the fetch program, to advice.
_FETCH_ADVICE = {
    "unauthorized": "Accept the terms of the model on its page, and give a token of that user in model.tokenSecret.",
    "not_found": "Check model.repository, model.revision and model.file.",
    "disk_full": "Give storage.size more room.",
    "checksum_mismatch": "What arrived is damaged; it is fetched again.",
    "stalled": "The connection broke too often; it is tried again.",
    "unreachable": "The place of the weights cannot be reached from the cluster; it is tried again.",
    "forbidden_address": "Weights come from public addresses only.",
    "bad_url": "Check model.repository.",
    "bad_path": "Check model.repository and model.file.",
    "bad_certificate": "The certificate of that place is not one that the cluster trusts.",
}
_SHORTAGES = (
    (re.compile(r"Insufficient (\S+?)[,.]?$"), "too little free {0}"),
    (re.compile(r"untolerated taint"), "taints that the host does not tolerate"),
    (re.compile(r"node affinity/selector"), "other labels than the compute's"),
    (re.compile(r"volume node affinity conflict"), "no access to the volume, which is in another zone"),
    (re.compile(r"were unschedulable"), "closed for new pods"),
    (re.compile(r"Too many pods"), "too many pods already"),
)


def clean(text: object, limit: int = MAX_LENGTH) -> str:
    """One line without control characters, at most `limit` characters."""
    line = _CONTROL.sub(" ", str(text or "")[: limit * 4]).strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"


def sentence(text: object, limit: int = 400) -> str:
    line = clean(text, limit)
    return line if not line or line.endswith((".", "!", "?", "…")) else f"{line}."


def unschedulable(message: str, compute: str) -> str:
    """From the scheduler's words, as `0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) had …`."""
    text = clean(message)
    if "persistentvolumeclaim" in text.lower() and "not found" in text:
        return f"The volume does not exist in the account's namespace: {sentence(text)} Check storage.existingClaim."
    if "unbound immediate PersistentVolumeClaims" in text:
        return "The volume is not ready yet: the storage class has not provided it. Check storage.storageClass."
    head, _, rest = text.partition("nodes are available:")
    if not rest:
        return f"No node is free for the replica: {sentence(text)}"
    parts = [_shortage(part.strip()) for part in rest.partition("preemption:")[0].split(", ")]
    total = head.strip().rpartition("/")[2].strip()
    return (
        f"Waiting for a node of {compute}; of {total} nodes: {'; '.join(part for part in parts if part)}. "
        "It starts when a node becomes free or is added; or choose another compute."
    )


def _shortage(part: str) -> str:
    count, _, why = part.partition(" ")
    if not count.isdigit():
        return part.rstrip(".")
    for pattern, words in _SHORTAGES:
        match = pattern.search(why)
        if match:
            return f"{count} with {words.format(*match.groups())}"
    return f"{count} {why.rstrip('.')}"


def crash(terminated: dict[str, Any], restarts: int, memory: str) -> str:
    """A container that ended by itself, from its last state."""
    times = f" It was started {restarts + 1} times." if restarts else ""
    if terminated.get("reason") == "OOMKilled":
        return f"The server used more than its memory, {memory}, and was stopped.{times} Set resources.memory higher."
    last = _last_words(clean_lines(terminated.get("message")))
    advice = next((words for pattern, words in _ADVICE if pattern.search(str(terminated.get("message")))), "")
    said = f" It said: {sentence(last)}" if last else " See the logs."
    return f"The server ended with exit code {terminated.get('exitCode')}.{times}{said} {advice}".strip()


def clean_lines(text: object) -> list[str]:
    lines = (clean(_LOG_PREFIX.sub("", line), 400) for line in str(text or "")[: 4 * MAX_LENGTH].splitlines())
    return [line for line in lines if line]


def _last_words(lines: list[str]) -> str:
    """The first line that names a fault: what follows is mostly its echo through outer layers."""
    return next((line for line in lines if _FAULT_LINE.search(line)), lines[-1] if lines else "")


def fetch_failed(terminated: dict[str, Any], token_secret: str | None) -> str:
    """From the last words of the fetch program, which are one JSON object."""
    if terminated.get("reason") == "OOMKilled":
        return "Bringing the weights used more than the memory of the pod. Set resources.memory higher."
    try:
        said = json.loads(str(terminated.get("message") or "").strip().splitlines()[-1])
        reason, message = str(said["reason"]), str(said["message"])
    except (ValueError, LookupError, TypeError):
        last = _last_words(clean_lines(terminated.get("message")))
        return (
            f"The weights did not arrive (exit code {terminated.get('exitCode')}): {sentence(last or 'see the logs')}"
        )
    used = f" The token of the Secret {token_secret} was used." if token_secret and reason == "unauthorized" else ""
    return f"The weights did not arrive: {sentence(message)}{used} {_FETCH_ADVICE.get(reason, '')}".strip()


def quota(message: str) -> str:
    text = clean(message)
    if "exceeded quota" in text:
        wanted = text.partition("exceeded quota:")[2].strip()
        return (
            f"The account's quota on this cluster is used up: {sentence(wanted)} Stop another host, or have it raised."
        )
    if "PodSecurity" in text:
        return f"The cluster's rules for pods refuse the replica: {sentence(text)}"
    return f"The cluster refuses to create replicas: {sentence(text)}"
