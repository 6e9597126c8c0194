"""Words for what goes wrong on a cluster: why, and what to do.

What a cluster says is somebody else's text, so it is cut and stripped before it stands in a message.
"""

import re
from dataclasses import dataclass

MAX_LENGTH = 1024


@dataclass(frozen=True, slots=True)
class Refusal:
    """`for_good`: waiting does not help."""

    reason: str
    message: str
    for_good: bool = False


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
# Reasons of containers that wait, to words. `{detail}` is what the cluster says.
WAITING = {
    "ErrImagePull": "The image {image} cannot be pulled: {detail} Check its name and tag, and that the cluster may "
    "pull it.",
    "ImagePullBackOff": "The image {image} cannot be pulled, and the cluster tries again ever more rarely: {detail} "
    "Check its name and tag, and that the cluster may pull it.",
    "InvalidImageName": "The name of the image {image} is not valid. Correct it in spec.engine.image.",
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
# Reasons of Events about pods that are being prepared, and about their claims.
EVENTS = {
    "MultiAttach": "The volume is still attached to another node, where the replica before it ran, and only one node "
    "can have it: {detail} It is let go some minutes after that node has. With ReadWriteMany storage this does not "
    "happen.",
    "FailedAttachVolume": "The volume cannot be attached to the node: {detail} It is tried again; if it stays so, the "
    "cluster's storage driver has the details.",
    "FailedMount": "The volume cannot be mounted: {detail} It is tried again; if it stays so, check the volume and the "
    "cluster's storage driver.",
    "FailedMapVolume": "The volume cannot be mapped: {detail} It is tried again.",
    "FailedCreatePodSandBox": "The node cannot set the replica's network up: {detail} It is tried again.",
    "ProvisioningFailed": "The volume is not provided: {detail} Check storage.storageClass and storage.accessMode.",
    "VolumeResizeFailed": "The volume cannot be grown: {detail}",
}
_SHORTAGES = (
    (re.compile(r"Insufficient (\S+?)[,.]?$"), "with too little free {0}"),
    (re.compile(r"untolerated taint"), "with taints that the host does not tolerate"),
    (
        re.compile(r"volume node affinity conflict|PersistentVolume's node affinity|no available volume zone"),
        "with no access to the volume, which is in another zone",
    ),
    (re.compile(r"node affinity/selector"), "with other labels than the compute's"),
    (re.compile(r"were unschedulable"), "closed for new pods"),
    (re.compile(r"Too many pods"), "with too many pods already"),
    (re.compile(r"free ports for the requested"), "with the port of the server taken"),
    (re.compile(r"exceed max volume count"), "with as many volumes as they can hold"),
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
            return f"{count} {words.format(*match.groups())}"
    return f"{count} {why.rstrip('.')}"


def refused(message: str) -> Refusal:
    """Why the cluster makes no pods, from the words of its admission."""
    text = clean(message)
    if "exceeded quota" in text:
        wanted = sentence(text.partition("exceeded quota:")[2].strip())
        words = f"The account's quota on this cluster is used up: {wanted} Stop another host, or have it raised."
        return Refusal("QuotaExceeded", words)
    if "PodSecurity" in text:
        words = (
            f"The cluster's rules for pods refuse the replica: {sentence(text)} They hold for all accounts; use the "
        )
        return Refusal("PodSecurity", f"{words}engine's own image and settings.", for_good=True)
    if "maximum" in text and "usage per" in text:
        words = (
            f"The replica asks for more than one pod of this account may have: {sentence(text)} Lower spec.resources."
        )
        return Refusal("LimitExceeded", words, for_good=True)
    return Refusal("FailedCreate", f"The cluster refuses to create replicas: {sentence(text)}")


def volume_event(reason: str, message: str) -> Refusal | None:
    """From an Event about a pod or a claim; None for one that explains nothing."""
    if "Multi-Attach" in message:
        reason = "MultiAttach"
    text = EVENTS.get(reason)
    return Refusal(reason, " ".join(text.format(detail=sentence(message)).split())) if text else None
