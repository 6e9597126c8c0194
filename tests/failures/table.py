"""Every failure of a running host that Smarter knows: how a cluster is brought to it, and what its user must read.

One row is one failure; its id is what the count at the end of scripts/test counts. A fate is a label that the simulated
cluster and the stages of the real control plane play alike; where the real server can bring the failure about by itself
(scheduling, quota, Pod Security, volumes) it does.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from smarter.core.objects import KubernetesObject
from tests.contract.cluster import bodies
from tests.llm_hosts import LLAMA

FATE = "smarter.sh/test-fate"
NO_GPU_NODE = "failures-without-gpu"
FULL_NODE = "failures-full"
TAINTED_NODE = "failures-tainted"
CLOSED_NODE = "failures-closed"
Change = Callable[[KubernetesObject], None]


@dataclass(frozen=True)
class Failure:
    """`phases` are those that are right, one of which must be seen, `reason` is that of a condition, `words` are parts
    of the message. `fate` goes to the pods, or with `on` to objects of another kind, and `said`, `why` and `code` are
    what they tell. `change` alters the Deployment (or the kind of `on`) as it is first applied, `then` alters it when
    the host has settled. `later` is added to the clock of the observer alone. `final`: waiting does not help."""

    id: str
    phases: str
    reason: str
    words: tuple[str, ...]
    fate: str = ""
    said: str = ""
    why: str = ""
    code: int | None = None
    delay: str = "2s"
    on: str = "Deployment"
    base: dict[str, Any] = field(default_factory=lambda: LLAMA)
    fields: dict[str, Any] = field(default_factory=dict)
    change: Change | None = None
    then: Change | None = None
    small_quota: bool = False
    later: timedelta = timedelta(0)
    final: bool | None = None

    def dooms(self, body: KubernetesObject) -> KubernetesObject:
        """The object as it is to be applied."""
        doomed = copy.deepcopy(body)
        if doomed["kind"] != self.on:
            return doomed
        target = doomed["spec"]["template"] if self.on == "Deployment" else doomed
        if self.fate:
            metadata = target["metadata"]
            metadata.setdefault("labels", {})[FATE] = self.fate
            told = {"reason": self.why, "message": self.said, "exit-code": str(self.code or ""), "delay": self.delay}
            notes = {f"smarter.sh/test-{name}": text for name, text in told.items() if text}
            metadata["annotations"] = {**metadata.get("annotations", {}), **notes}
        if self.change:
            self.change(doomed)
        return doomed


def fetch_words(reason: str, message: str) -> str:
    return json.dumps({"event": "error", "reason": reason, "message": message}) + "\n"


def _fetch(
    name: str, reason: str, message: str, *words: str, code: int = 3, final: bool | None = None, **more: Any
) -> Failure:
    said = fetch_words(reason, message)
    return Failure(name, "error", more.pop("shows", name), words, "fetch-crash", said, code=code, final=final, **more)


def _crash(name: str, said: str, *words: str, **more: Any) -> Failure:
    return Failure(name, "error", name, ("exit code", *words), "crash-loop", said, **more)


def _waits(name: str, said: str, *words: str, **more: Any) -> Failure:
    return Failure(name, "error", name, words, "container-waiting", said, name, **more)


def _fails(name: str, said: str, *words: str, **more: Any) -> Failure:
    """The pod ends and another one is made, which is told while it starts."""
    return Failure(name, "deploying active error degraded", "", words, "pod-failed", said, name, delay="1s", **more)


def _pinned(node: str) -> Change:
    def change(body: KubernetesObject) -> None:
        spec = body["spec"]["template"]["spec"]
        spec["nodeSelector"] = {bodies.NODE_LABEL: node}
        spec.pop("tolerations", None)

    return change


def _asks_for_gpu(body: KubernetesObject) -> None:
    _pinned(NO_GPU_NODE)(body)
    container = body["spec"]["template"]["spec"]["containers"][0]
    for amounts in container["resources"].values():
        amounts["nvidia.com/gpu"] = "1"


def _privileged(body: KubernetesObject) -> None:
    body["spec"]["template"]["spec"]["containers"][0]["securityContext"] = {"privileged": True}


def _hurried(body: KubernetesObject) -> None:
    body["spec"]["progressDeadlineSeconds"] = 3


def _renamed(body: KubernetesObject) -> None:
    body["spec"]["template"]["metadata"].setdefault("annotations", {})["changed"] = "yes"


def _grown(body: KubernetesObject) -> None:
    body["spec"]["resources"]["requests"]["storage"] = "900Gi"


def _without_class(body: KubernetesObject) -> None:
    body["spec"]["storageClassName"] = "does-not-exist"


PUBLIC = {"network.ingress": True}
GATED = {"model.tokenSecret": "hub_token", "model.repository": "meta-llama/Llama-3.1-8B-Instruct"}
RATE_LIMIT = (
    "The certificate request has failed to complete and will be retried: Failed to wait for order resource to become "
    "ready: 429 urn:ietf:params:acme:error:rateLimited: too many certificates (5) already issued for this exact set of "
    "domains in the last 168 hours"
)
TRACE = "Traceback (most recent call last):\n  File server.py, line 1\n"

FAILURES: tuple[Failure, ...] = (
    # Images and containers.
    _waits("ErrImagePull", "pull access denied: authorization failed", "cannot be pulled", "authorization failed"),
    Failure("ImagePullBackOff", "error", "ImagePullBackOff", ("tries again ever more rarely",), "image-pull-failure"),
    Failure(
        "ImageNotPulledForMinutes", "error", "ImagePullBackOff", ("cannot be pulled",), "image-pull-failure",
        later=timedelta(minutes=10), final=True,
    ),
    _waits("InvalidImageName", "couldn't parse image reference", "spec.engine.image", final=True),
    _waits("ErrImageNeverPull", "Container image is not present with pull policy of Never",
           "not on the node", final=True),
    _waits("RegistryUnavailable", "connection refused", "registry", "tries again", final=False),
    _waits("CreateContainerConfigError", 'secret "lh-x" not found', "Secret", "not found", final=False),
    _waits("CreateContainerError", "context deadline exceeded", "cannot be created", "deadline"),
    _waits("RunContainerError", 'exec: "serve": executable file not found in $PATH', "cannot be started",
           "no such program"),
    Failure("FetchImagePull", "error", "ErrImagePull", ("cannot be pulled",), "fetch-waiting", "not found",
            "ErrImagePull"),
    # Servers that end.
    Failure("CrashLoopBackOff", "error", "CrashLoopBackOff", ("exit code 3", "times", "bad head size"), "crash-loop",
            f"{TRACE}ValueError: bad head size\nRuntimeError: engine failed", code=3),
    Failure("CrashLoopForGood", "error", "CrashLoopBackOff", ("times",), "crash-loop", "Error: odd", final=True),
    _crash("GpuOutOfMemory", f"{TRACE}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.",
           "contextLength", "larger compute"),
    _crash("ContextTooLong",
           "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that "
           "can be stored in KV cache (4096).", "lower contextLength"),
    _crash("UnknownArgument", "vllm: error: unrecognized arguments: --no-such-flag", "spec.engine.args"),
    _crash("RemoteCode", "ValueError: the repository contains custom code. Please pass trust_remote_code=True.",
           "trustRemoteCode"),
    _crash("DeviceIds", f"{TRACE}ValueError: invalid literal for int() with base 10: 'MIG-7f3c'\n"
           "pydantic.ValidationError: 1 validation error for VllmConfig", "MIG-7f3c", "CUDA_VISIBLE_DEVICES"),
    _crash("DriverTooOld", "RuntimeError: The NVIDIA driver on your system is too old (found version 12020).",
           "driver"),
    _crash("PortInUse", "OSError: [Errno 98] Address already in use", "spec.engine.port"),
    _crash("DiskFull", "OSError: [Errno 28] No space left on device", "storage.size"),
    _crash("NoGpu", "RuntimeError: No CUDA GPUs are available", "gpuCount"),
    _crash("UnknownArchitecture", "error: unknown model architecture: 'qwen9'", "newer image"),
    _crash("WeightsUnreadable", "error: failed to load model, invalid magic", "model.file"),
    Failure("OOMKilled", "error", "OOMKilled", ("Gi", "resources.memory higher"), "oom-kill"),
    # Servers that do not answer.
    Failure("HealthCheckFailed", "error", "HealthCheckFailed", ("/health", "startupTimeoutSeconds"), "crash-loop",
            code=137),
    Failure("StartupTimeout", "error", "StartupTimeout", ("startupTimeoutSeconds",), "slow-start", delay="1h",
            later=timedelta(hours=5)),
    Failure("ProgressDeadlineExceeded", "error", "ProgressDeadlineExceeded", ("startupTimeoutSeconds",), "held",
            change=_hurried, final=True),
    Failure("Unhealthy", "degraded", "Unhealthy", ("health check at /health",), "failing-probe", final=False),
    Failure("Restarting", "degraded", "Restarting", ("keeps ending", "/health"), "liveness-restarts", delay="1s"),
    # Weights.
    _fetch("WeightsUnauthorized", "unauthorized", "huggingface.co refuses the repository: HF_TOKEN is not set",
           "Accept the terms", "model.tokenSecret", final=True),
    _fetch("WeightsGated", "unauthorized", "huggingface.co refuses the repository: the token does not give access",
           "https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct", "Secret hub_token was used", fields=GATED,
           shows="WeightsUnauthorized", final=True),
    _fetch("WeightsNotFound", "not_found", "Qwen/Qwen9 does not exist on huggingface.co", "model.repository", code=4,
           final=True),
    _fetch("WeightsRateLimited", "unreachable", "huggingface.co answered 429; gave up after 8 attempts",
           "left alone", code=7),
    _fetch("WeightsDiskFull", "disk_full", "16 GB are needed and 4 GB are free on the volume", "storage.size", code=6,
           final=True),
    _fetch("WeightsChecksumMismatch", "checksum_mismatch", "model.safetensors has another checksum", "damaged", code=5),
    _fetch("WeightsStalled", "stalled", "nothing came for 60 s; gave up after 8 attempts", "broke too often", code=7),
    _fetch("WeightsUnreachable", "unreachable", "the name huggingface.co cannot be resolved",
           "cannot be reached", code=7),
    _fetch("WeightsForbiddenAddress", "forbidden_address", "mirror.corp leads to a private network", "public addresses",
           code=8, final=True),
    _fetch("WeightsBadCertificate", "bad_certificate", "mirror.corp has a certificate that is not trusted",
           "trusts", code=9),
    Failure("WeightsOOMKilled", "error", "WeightsOOMKilled", ("memory of the pod", "resources.memory"), "fetch-crash",
            why="OOMKilled", code=137),
    # Nodes.
    Failure("InsufficientGpu", "pending", "Unschedulable", ("too little free nvidia.com/gpu",), change=_asks_for_gpu),
    Failure("NoSuchNode", "pending", "Unschedulable", ("other labels than the compute's",), "unschedulable"),
    Failure("Tainted", "pending", "Unschedulable", ("taints that the host does not tolerate",),
            change=_pinned(TAINTED_NODE)),
    Failure("NodeFull", "pending", "Unschedulable", ("too many pods",), change=_pinned(FULL_NODE)),
    Failure("NodeClosed", "pending", "Unschedulable", ("closed for new pods",), change=_pinned(CLOSED_NODE)),
    Failure("Evicted", "deploying active error degraded", "", ("ran short of memory", "Ask for more memory"), "evicted",
            delay="1s"),
    _fails("UnexpectedAdmissionError", "Allocate failed due to rpc error: maximum request size is 1",
           "refused", "gpuCount"),
    _fails("NodeShutdown", "Pod was terminated in response to imminent node shutdown.", "shut down"),
    _fails("Preempting", "Preempted in order to admit critical pod", "more important"),
    _fails("NodeAffinity", "Predicate NodeAffinity failed", "no longer fit"),
    _fails("OutOfcpu", "Node didn't have enough resource: cpu", "no room left"),
    Failure("NodeLost", "error", "NodeLost", ("no longer answers",), "node-lost", delay="1s"),
    Failure("StuckTerminating", "pending", "StuckTerminating", ("still ending", "operator"), "stuck-terminating",
            then=_renamed, later=timedelta(minutes=10)),
    # The account's limits.
    Failure("QuotaExceeded", "error", "QuotaExceeded", ("quota", "Stop another host"), small_quota=True, final=False),
    Failure("PodSecurity", "error", "PodSecurity", ("rules for pods",), change=_privileged, final=True),
    # Volumes.
    Failure("VolumePending", "pending", "VolumePending", ("storage class does-not-exist",), on="PersistentVolumeClaim",
            change=_without_class, fields={"storage.storageClass": "does-not-exist"}),
    Failure("VolumeLost", "error active", "VolumeLost", ("disk behind the volume is gone",), "volume-lost",
            on="PersistentVolumeClaim"),
    Failure("VolumeElsewhere", "pending", "Unschedulable", ("another zone",), "volume-elsewhere",
            on="PersistentVolumeClaim"),
    Failure("VolumeMissing", "pending", "Unschedulable", ("storage.existingClaim",),
            fields={"storage.existingClaim": "team-weights"}),
    Failure("MultiAttach", "pending", "MultiAttach", ("attached to another node",), "multi-attach"),
    Failure("FailedAttachVolume", "pending", "FailedAttachVolume", ("cannot be attached", "disk is not found"),
            "attach-failed"),
    Failure("FailedMount", "pending", "FailedMount", ("cannot be mounted", "bad superblock"), "mount-failed"),
    Failure("FailedCreatePodSandBox", "pending", "FailedCreatePodSandBox", ("network", "no addresses"),
            "sandbox-failed"),
    Failure("VolumeGrowing", "active", "Growing", ("being grown to 900Gi",), "resize-pending",
            on="PersistentVolumeClaim",
            then=_grown),
    Failure("VolumeGrowthFailed", "active", "GrowthFailed", ("cannot be grown to 900Gi", "no room is left"),
            "resize-failed",
            on="PersistentVolumeClaim", then=_grown),
    # The public address.
    Failure("CertificatePending", "active", "DoesNotExist", ("is not issued", "ingress controller"),
            "certificate-pending",
            on="Certificate", fields=PUBLIC),
    Failure("CertificateRateLimited", "active", "RateLimited", ("too many certificates", "network.hostname"),
            "certificate-failed", RATE_LIMIT, on="Certificate", fields=PUBLIC),
    Failure("CertificateIssuerMissing", "active", "IssuerMissing", ("no issuer letsencrypt",), "certificate-failed",
            'Referenced "ClusterIssuer" not found: clusterissuer.cert-manager.io "letsencrypt" not found',
            on="Certificate", fields=PUBLIC),
    Failure("CertificateOrderFailed", "active", "OrderFailed", ("NXDOMAIN", "must lead to"), "certificate-failed",
            "The certificate request has failed to complete: acme: authorization error: NXDOMAIN looking up A",
            on="Certificate", fields=PUBLIC),
    Failure("IngressNotTaken", "active", "NoAddress", (), "ingress-untaken", on="Ingress", fields=PUBLIC),
)  # fmt: skip
