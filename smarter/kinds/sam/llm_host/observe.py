"""Live objects of an LLMHost to what they mean for its user."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from smarter.core.conditions import Condition, Truth, truth
from smarter.core.facts import Facts
from smarter.core.kind import Observation
from smarter.core.objects import COMPUTE_LABEL, KubernetesObject
from smarter.core.quantities import format_bytes
from smarter.kinds.sam.llm_host import words
from smarter.kinds.sam.llm_host.host import Host, block, host_of
from smarter.kinds.sam.llm_host.pods import Context, Finding, finding_of, worst
from smarter.models.sam.llm_host import SAMLLMHost
from smarter.render.service import internal_url

_SETTLED_AFTER = timedelta(minutes=5)
"""A trouble this old rarely goes away within seconds, so it need not be looked at every two."""
_BEGINNING = ("Provisioning", "NotCreated")
_NOT_NEEDED = "NotNeeded"
_UNAVAILABLE = "CertificateUnavailable"


@dataclass(frozen=True, slots=True)
class View:
    """The live objects, sorted out. `ready` and `wanted` count replicas; `updated` are those of the newest template."""

    deployment: KubernetesObject
    pods: tuple[KubernetesObject, ...]
    claim: KubernetesObject | None
    certificate: KubernetesObject | None
    ingress: KubernetesObject | None
    wanted: int

    @property
    def status(self) -> dict[str, Any]:
        return self.deployment.get("status") or {}

    def count(self, field: str) -> int:
        return int(self.status.get(field) or 0)

    @property
    def current(self) -> bool:
        """Whether the counts speak of the Deployment as it is now."""
        return self.count("observedGeneration") >= int(self.deployment["metadata"].get("generation") or 0)

    @property
    def rolled_out(self) -> bool:
        counts = {self.count(field) for field in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")}
        return self.current and counts == {self.wanted}

    def condition(self, kind: str) -> dict[str, Any]:
        return _condition(self.deployment, kind)


def observe(manifest: SAMLLMHost, facts: Facts, live: list[KubernetesObject], now: datetime) -> Observation:
    host = host_of(manifest)
    by_kind: dict[str, list[KubernetesObject]] = {}
    for body in live:
        by_kind.setdefault(body["kind"], []).append(body)
    pods = tuple(pod for pod in by_kind.get("Pod", ()) if not pod["metadata"].get("deletionTimestamp"))
    if not facts.deployed:
        return _inactive(host, facts, bool(by_kind.get("Pod") or by_kind.get("Deployment")))
    deployment = _one(by_kind, "Deployment")
    if deployment is None:
        finding = Finding("pending", "NotCreated", "The host is being created on the cluster.")
        return _observation(host, facts, None, finding, in_transition=True)
    view = View(
        deployment=deployment,
        pods=pods,
        claim=_one(by_kind, "PersistentVolumeClaim"),
        certificate=_one(by_kind, "Certificate"),
        ingress=_one(by_kind, "Ingress"),
        wanted=block(host.spec.scaling).replicas,
    )
    finding = _finding(host, view)
    return _observation(host, facts, view, finding, in_transition=_moves(host, facts, view, finding, now))


def _one(by_kind: dict[str, list[KubernetesObject]], kind: str) -> KubernetesObject | None:
    found = by_kind.get(kind)
    return found[0] if found else None


def _condition(body: KubernetesObject, kind: str) -> dict[str, Any]:
    conditions = (body.get("status") or {}).get("conditions") or ()
    return next((entry for entry in conditions if entry.get("type") == kind), {})


def _context(host: Host, view: View) -> Context:
    labels = view.deployment["spec"]["template"]["metadata"].get("labels") or {}
    return Context(
        compute=labels.get(COMPUTE_LABEL, "its compute"),
        memory=format_bytes(host.need.memory_bytes),
        health_path=block(host.spec.healthCheck).path or host.engine.health.path,
        token_secret=host.spec.model.tokenSecret,
    )


def _finding(host: Host, view: View) -> Finding:
    """The one thing that a user should hear first."""
    if view.rolled_out:
        return Finding("active", "Ready")
    context = _context(host, view)
    found = [finding_of(pod, context) for pod in view.pods]
    alive = [
        finding
        for finding, pod in zip(found, view.pods, strict=True)
        if (pod.get("status") or {}).get("phase") != "Failed"
    ]
    trouble = worst(finding for finding in alive if finding.state != "active")
    trouble = _by_volume(trouble, view, host) or trouble or _without_pods(view, found)
    ready = view.count("readyReplicas")
    if ready == 0:
        return _with_predecessor(trouble, view, found)
    if trouble.state in ("error", "degraded", "pending"):
        serving = f"{ready} of {view.wanted} replicas serve."
        return Finding("degraded", trouble.reason, f"{serving} {trouble.message}")
    if ready >= view.wanted:
        message = f"The newest version is being rolled out, the one before it serves. {trouble.message}"
        return Finding("deploying", "RollingOut", message.strip())
    return Finding("degraded", trouble.reason, f"{ready} of {view.wanted} replicas serve. {trouble.message}".strip())


def _with_predecessor(trouble: Finding, view: View, found: Sequence[Finding]) -> Finding:
    """A replica that starts because the one before it was put out says so. Only of the same version: what failed
    before a rollout explains nothing."""
    pods = list(zip(found, view.pods, strict=True))
    living = {_version(pod) for finding, pod in pods if finding.state != "error"}
    bad = worst(finding for finding, pod in pods if finding.state == "error" and _version(pod) in living)
    if trouble.state not in ("deploying", "downloading") or bad is None or not bad.message:
        return trouble
    return Finding(trouble.state, trouble.reason, f"{trouble.message} Before: {bad.message}".strip())


def _version(pod: KubernetesObject) -> str:
    return str((pod["metadata"].get("labels") or {}).get("pod-template-hash", ""))


def _without_pods(view: View, failed: Sequence[Finding]) -> Finding:
    """Nothing is known from pods that live: the Deployment's own conditions, and pods that failed before, tell more."""
    refused = view.condition("ReplicaFailure")
    if refused.get("status") == "True":
        return Finding("error", "QuotaOrPolicy", words.quota(str(refused.get("message") or "")))
    bad = worst(finding for finding in failed if finding.state == "error")
    if bad:
        return bad
    progressing = view.condition("Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        text = "The host did not become ready in the time that healthCheck.startupTimeoutSeconds allows. See the logs."
        return Finding("error", "ProgressDeadlineExceeded", text)
    if view.pods and all(finding.state == "active" for finding in failed):
        return Finding("deploying", "Settling", "The replicas are ready; the cluster has not counted them yet.")
    return Finding("pending", "Provisioning", "The cluster is creating the replicas.")


def _by_volume(trouble: Finding | None, view: View, host: Host) -> Finding | None:
    """A volume that is lost or never came explains a replica that waits."""
    if view.claim is None or (trouble and trouble.state not in ("pending", "deploying")):
        return None
    phase = (view.claim.get("status") or {}).get("phase")
    if phase == "Lost":
        text = "The disk behind the volume is gone. Delete the host and apply it again; the weights are brought anew."
        return Finding("error", "VolumeLost", text)
    waits = trouble is not None and ("volume" in trouble.message or trouble.reason == "Starting")
    if phase != "Pending" or not waits:
        return None
    name = block(host.spec.storage).storageClass or (view.claim.get("spec") or {}).get("storageClassName")
    of_class = f"the storage class {words.clean(name, 253)}" if name else "the cluster's default storage class"
    text = f"The volume is not there yet: {of_class} has not provided it. Check that the class exists."
    return Finding("pending", "VolumePending", text)


def _moves(host: Host, facts: Facts, view: View, finding: Finding, now: datetime) -> bool:
    """Whether to look again soon. What stays bad for minutes is looked at as rarely as what is good."""
    if finding.state in ("downloading", "deploying") or finding.reason in _BEGINNING:
        return True
    starts = [_time(body) for body in (*view.pods, view.deployment)]
    if finding.state == "active":
        if _settled(_certificate(host, facts, view)):
            return False
        starts = [_time(view.certificate) if view.certificate else None]
    return any(start is None or now - start < _SETTLED_AFTER for start in starts)


def _time(body: KubernetesObject) -> datetime | None:
    try:
        return datetime.fromisoformat(str(body["metadata"].get("creationTimestamp")))
    except ValueError:
        return None


def _inactive(host: Host, facts: Facts, stopping: bool) -> Observation:
    message = "The host is being stopped." if stopping else "The host is not deployed."
    status = {
        **_addresses(host, facts, deployed=False),
        "hostStatus": "inactive",
        "message": message,
        "replicas": 0,
        "readyReplicas": 0,
        "healthy": None,
    }
    condition = Condition("Available", "False", "Inactive", message)
    return Observation("inactive", False, stopping, message, status, (condition,))


def _addresses(host: Host, facts: Facts, *, deployed: bool) -> dict[str, Any]:
    path = "/v1" if host.api_format == "openai_compatible" else ""
    public = deployed and block(host.spec.network).ingress
    return {
        "endpoint": internal_url(host.identity(facts), path) if deployed else None,
        "publicUrl": f"https://{host.public_host(facts)}{path}" if public else None,
        "apiKeySecret": host.key_secret,
    }


def _observation(host: Host, facts: Facts, view: View | None, finding: Finding, *, in_transition: bool) -> Observation:
    certificate = _certificate(host, facts, view)
    ready = finding.state == "active" and _settled(certificate) and _published(host, view)
    phase = "provisioning" if finding.reason in _BEGINNING else finding.state
    message = finding.message or certificate.message
    counted = view.count("readyReplicas") if view else 0
    wanted = block(host.spec.scaling).replicas
    status = {
        **_addresses(host, facts, deployed=True),
        "hostStatus": phase,
        "message": words.clean(message) or None,
        "replicas": wanted,
        "readyReplicas": min(counted, wanted),
        "healthy": counted >= wanted,
    }
    conditions = _conditions(finding, view, host, certificate)
    return Observation(phase, ready, in_transition, words.clean(message), status, conditions)


def _published(host: Host, view: View | None) -> bool:
    return not block(host.spec.network).ingress or (view is not None and view.ingress is not None)


def _certificate(host: Host, facts: Facts, view: View | None) -> Condition:
    """Unknown while cert-manager has not judged it; False from its first look until the certificate is there."""
    if not block(host.spec.network).ingress:
        return Condition("CertificateReady", "True", _NOT_NEEDED)
    if "cert-manager" not in facts.features:
        text = "The cluster has no cert-manager to issue a certificate. Install it, and one is ordered for this host."
        return Condition("CertificateReady", "False", _UNAVAILABLE, text)
    ready = _condition(view.certificate, "Ready") if view and view.certificate else {}
    status = str(ready.get("status") or "Unknown")
    if status == "True":
        return Condition("CertificateReady", "True", "Issued")
    said = words.sentence(ready.get("message")) or "It has just been asked for."
    name = host.public_host(facts)
    text = f"The certificate of {name} is not issued: {said} The name must lead to the cluster's ingress controller."
    value: Truth = "False" if status == "False" else "Unknown"
    return Condition("CertificateReady", value, str(ready.get("reason") or "Pending"), text)


def _settled(certificate: Condition) -> bool:
    """Where nothing can issue one, nothing is waited for: the host serves, and the condition says what is missing."""
    return certificate.status == "True" or certificate.reason == _UNAVAILABLE


def _conditions(finding: Finding, view: View | None, host: Host, certificate: Condition) -> tuple[Condition, ...]:
    pods = view.pods if view else ()
    placed = [_condition(pod, "PodScheduled").get("status") == "True" for pod in pods]
    brought = [_brought(pod) for pod in pods]
    scheduled = bool(placed) and all(placed)
    weights = bool(brought) and all(brought)
    wanted = block(host.spec.scaling).replicas
    available = (view.count("availableReplicas") if view else 0) >= wanted
    found = [
        Condition("Scheduled", truth(scheduled), "Scheduled" if scheduled else "Waiting"),
        Condition("WeightsReady", truth(weights), "Complete" if weights else _weights_reason(finding)),
        Condition("Available", truth(available), "Available" if available else finding.reason, finding.message),
    ]
    if certificate.reason != _NOT_NEEDED:
        found.append(certificate)
    return tuple(found)


def _weights_reason(finding: Finding) -> str:
    return finding.reason if finding.reason in ("Downloading", "WeightsFailed") else "Waiting"


def _brought(pod: KubernetesObject) -> bool:
    """Whether all init containers have ended well."""
    return _condition(pod, "Initialized").get("status") == "True"
