"""Live objects of an LLMHost to what they mean for its user."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from smarter.core.conditions import Condition, truth
from smarter.core.facts import Facts
from smarter.core.kind import Observation
from smarter.core.objects import COMPUTE_LABEL, KubernetesObject
from smarter.core.quantities import format_bytes
from smarter.kinds.sam.llm_host import bringing, offload, publishing, volumes, words
from smarter.kinds.sam.llm_host.host import Host, block, host_of
from smarter.kinds.sam.llm_host.pods import (
    WEIGHTS_ON_THEIR_WAY,
    Context,
    Finding,
    State,
    condition,
    created,
    finding_of,
    moment,
    worst,
)
from smarter.kinds.sam.llm_host.view import View, events_by_uid, version_of, view_of
from smarter.models.sam.llm_host import SAMLLMHost
from smarter.render.service import internal_url

_SETTLED_AFTER = timedelta(minutes=5)
"""A trouble this old rarely goes away within seconds, so it need not be looked at every two."""
_BEGINNING = ("Provisioning", "NotCreated")
_HUB = "https://huggingface.co"


def observe(manifest: SAMLLMHost, facts: Facts, live: list[KubernetesObject], now: datetime) -> Observation:
    host = host_of(manifest)
    if not facts.deployed:
        return _inactive(host, facts, any(body["kind"] in ("Pod", "Deployment") for body in live))
    view = view_of(live, block(host.spec.scaling).replicas, now)
    job = bringing.job_under_way(live)
    if job is not None:
        return _before_replicas(host, facts, view, job, live, now)
    if view is None:
        finding = Finding("pending", "NotCreated", "The host is being created on the cluster.")
        return _observation(host, facts, None, finding, in_transition=True)
    finding = _finding(host, view, facts, now)
    return _observation(host, facts, view, finding, in_transition=_moves(host, facts, view, finding, now))


def _before_replicas(
    host: Host,
    facts: Facts,
    view: View | None,
    job: KubernetesObject,
    live: list[KubernetesObject],
    now: datetime,
) -> Observation:
    """The replicas are held back until a Job has brought their weights; those of a version before serve on."""
    context = _context(host, view, facts, now)
    events = [event for event in live if event["kind"] == "Event"]
    finding = _with_progress(bringing.finding_of_job(job, live, context, events), facts)
    finding = volumes.trouble_of(finding, *_claim_of(live, events), host) or finding
    ready = view.count("readyReplicas") if view else 0
    if view and ready:
        finding = bringing.while_serving(finding, ready, view.wanted)
    since = moment(created(job))
    recent = since is None or now - since < _SETTLED_AFTER
    moves = recent or finding.ripens or finding.state in ("downloading", "deploying")
    return _observation(host, facts, view, finding, in_transition=moves, held=True)


def _claim_of(
    live: list[KubernetesObject], events: list[KubernetesObject]
) -> tuple[KubernetesObject | None, list[KubernetesObject]]:
    """The volume's claim, with the events about it; there may be no Deployment yet."""
    claim = next((body for body in live if body["kind"] == "PersistentVolumeClaim"), None)
    return claim, events_by_uid(events).get(str(claim["metadata"].get("uid")), []) if claim else []


def _with_progress(finding: Finding, facts: Facts) -> Finding:
    progress = bringing.progress_of(facts)
    if finding.state != "downloading" or progress is None:
        return finding
    return replace(finding, message=finding.message.replace(WEIGHTS_ON_THEIR_WAY, progress.message()))


def _context(host: Host, view: View | None, facts: Facts, now: datetime) -> Context:
    labels = (view.deployment["spec"]["template"]["metadata"].get("labels") or {}) if view else {}
    check, model = block(host.spec.healthCheck), host.spec.model
    on_the_hub = facts.environment.hub_url == _HUB and str(model.source) == "huggingface"
    return Context(
        compute=labels.get(COMPUTE_LABEL, "its compute"),
        memory=format_bytes(host.need.memory_bytes),
        health_path=check.path or host.engine.health.path or "its port",
        token_secret=model.tokenSecret,
        model_page=f"{_HUB}/{words.clean(model.repository, 200)}" if on_the_hub else "",
        startup_seconds=check.startupTimeoutSeconds,
        now=now,
    )


def _finding(host: Host, view: View, facts: Facts, now: datetime) -> Finding:
    """The one thing that a user should hear first."""
    context = _context(host, view, facts, now)
    found = [_with_progress(finding_of(pod, context, view.events_of(pod)), facts) for pod in view.pods]
    if view.rolled_out:
        return worst(finding for finding in found if finding.reason == "Restarting") or Finding("active", "Ready")
    alive = [finding for finding, pod in zip(found, view.pods, strict=True) if not _has_failed(pod)]
    trouble = worst(finding for finding in alive if finding.state != "active")
    trouble = _by_volume(trouble, view, host) or trouble or _stuck(view) or _without_pods(view, found)
    trouble = _final(_late(trouble, view), view, found)
    ready = view.count("readyReplicas")
    if ready == 0:
        return _with_predecessor(trouble, view, found)
    return _while_serving(trouble, view, ready)


def _by_volume(trouble: Finding | None, view: View, host: Host) -> Finding | None:
    return volumes.trouble_of(trouble, view.claim, view.events_of(view.claim) if view.claim else (), host)


def _has_failed(pod: KubernetesObject) -> bool:
    return (pod.get("status") or {}).get("phase") == "Failed"


def _while_serving(trouble: Finding, view: View, ready: int) -> Finding:
    """Some replicas serve, of this version or of the one before: both that and the trouble are told."""
    serving = f"{ready} of {view.wanted} replicas serve"
    if trouble.state in ("error", "degraded", "pending"):
        which = ", of the version before. The newest does not come up:" if view.mixed else "."
        return replace(trouble, state="degraded", message=f"{serving}{which} {trouble.message}")
    if ready >= view.wanted:
        message = f"The newest version is being rolled out, the one before it serves. {trouble.message}"
        return Finding("deploying", "RollingOut", message.strip())
    return Finding("degraded", trouble.reason, f"{serving}. {trouble.message}".strip())


def _late(trouble: Finding, view: View) -> Finding:
    """What only takes its time is a fault when the time is over. A download tells by itself when it does not get on."""
    if not view.late or trouble.state != "deploying":
        return trouble
    text = "The host did not become ready in the time that healthCheck.startupTimeoutSeconds allows. See the logs."
    return Finding("error", "ProgressDeadlineExceeded", text, final=True)


def _final(trouble: Finding, view: View, found: Sequence[Finding]) -> Finding:
    """Whether the newest version is lost. One replica of it that is ready shows that it can come up, and what an older
    version met says nothing."""
    newest = [finding for finding, pod in zip(found, view.pods, strict=True) if version_of(pod) == view.newest]
    if not view.current or any(finding.state == "active" for finding in newest):
        return replace(trouble, final=False)
    made = view.count("updatedReplicas") > 0
    hopeless = made and any(finding.final for finding in newest)
    overdue = view.late and trouble.state != "downloading"
    from_pods = trouble in found
    return replace(trouble, final=hopeless or overdue or (trouble.final and not from_pods))


def _stuck(view: View) -> Finding | None:
    if not view.stuck:
        return None
    names = ", ".join(str(pod["metadata"]["name"]) for pod in view.stuck[:3])
    text = (
        f"A replica that should be gone is still ending: {names}. The next one waits for it. Most often its node does "
        "not answer any more; when the cluster's operator removes the node, or the pod by force, the host goes on."
    )
    return Finding("pending", "StuckTerminating", text)


def _with_predecessor(trouble: Finding, view: View, found: Sequence[Finding]) -> Finding:
    """A replica that starts because the one before it was put out says so. Only of the same version: what failed
    before a rollout explains nothing."""
    pods = list(zip(found, view.pods, strict=True))
    living = {version_of(pod) for finding, pod in pods if finding.state != "error"}
    bad = worst(finding for finding, pod in pods if finding.state == "error" and version_of(pod) in living)
    if trouble.state not in ("deploying", "downloading") or bad is None or not bad.message:
        return trouble
    return replace(trouble, message=f"{trouble.message} Before: {bad.message}".strip())


def _without_pods(view: View, failed: Sequence[Finding]) -> Finding:
    """Nothing is known from pods that live: the Deployment's own conditions, and pods that failed before, tell more."""
    refused = view.condition("ReplicaFailure")
    if refused.get("status") == "True":
        why = words.refused(str(refused.get("message") or ""))
        return Finding("error", why.reason, why.message, why.for_good)
    bad = worst(finding for finding in failed if finding.state == "error")
    if bad:
        return bad
    if view.pods and all(finding.state == "active" for finding in failed):
        return Finding("deploying", "Settling", "The replicas are ready; the cluster has not counted them yet.")
    state: State = "deploying" if view.late else "pending"
    return Finding(state, "Provisioning", "The cluster is creating the replicas.")


def _moves(host: Host, facts: Facts, view: View, finding: Finding, now: datetime) -> bool:
    """Whether to look again soon. What stays bad for minutes is looked at as rarely as what is good."""
    if finding.state in ("downloading", "deploying") or finding.reason in _BEGINNING or finding.ripens:
        return True
    starts = [moment(created(body)) for body in (*view.pods, view.deployment)]
    if finding.state == "active":
        if publishing.is_settled(publishing.certificate_of(host, facts, view)):
            return False
        starts = [moment(created(view.certificate)) if view.certificate else None]
    return any(start is None or now - start < _SETTLED_AFTER for start in starts)


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


def _observation(
    host: Host, facts: Facts, view: View | None, finding: Finding, *, in_transition: bool, held: bool = False
) -> Observation:
    """`held`: the newest version waits for its weights, so what runs is at best the one before."""
    certificate = publishing.certificate_of(host, facts, view)
    progress = bringing.progress_of(facts)
    ready = finding.state == "active" and publishing.is_settled(certificate) and publishing.is_published(host, view)
    phase = "provisioning" if finding.reason in _BEGINNING else finding.state
    volume = volumes.condition_of(view)
    slow = offload.condition_of(host, facts) if finding.state == "active" else None
    notes = [one.message for one in (certificate, volume, slow) if one and one.message]
    message = words.clean(finding.message or next(iter(notes), ""))
    counted = view.count("readyReplicas") if view else 0
    wanted = block(host.spec.scaling).replicas
    status = {
        **_addresses(host, facts, deployed=True),
        "hostStatus": phase,
        "message": message or None,
        "replicas": wanted,
        "readyReplicas": min(counted, wanted),
        "healthy": counted >= wanted,
    }
    if progress:
        status["progress"] = progress.status()
    conditions = _conditions(finding, view, host, certificate, held=held)
    extra = tuple(one for one in (volume, publishing.ingress_of(host, facts, view), slow) if one)
    return Observation(phase, ready, in_transition, message, status, conditions + extra, failed=finding.final)


def _conditions(
    finding: Finding, view: View | None, host: Host, certificate: Condition, *, held: bool
) -> tuple[Condition, ...]:
    pods = view.pods if view else ()
    statuses = [pod.get("status") or {} for pod in pods]
    placed = [condition(status, "PodScheduled").get("status") == "True" for status in statuses]
    # Whether all init containers have ended well.
    brought = [condition(status, "Initialized").get("status") == "True" for status in statuses]
    scheduled = bool(placed) and all(placed)
    weights = bool(brought) and all(brought) and not held
    wanted = block(host.spec.scaling).replicas
    available = (view.count("availableReplicas") if view else 0) >= wanted
    current = view is not None and view.rolled_out and not held
    found = [
        Condition("Scheduled", truth(scheduled), "Scheduled" if scheduled else "Waiting"),
        Condition("WeightsReady", truth(weights), "Complete" if weights else _weights_reason(finding)),
        Condition("Available", truth(available), "Available" if available else finding.reason, finding.message),
        Condition("UpToDate", truth(current), "RolledOut" if current else finding.reason),
    ]
    if certificate.reason != publishing.NOT_NEEDED:
        found.append(certificate)
    return tuple(found)


def _weights_reason(finding: Finding) -> str:
    return finding.reason if finding.reason.startswith(("Downloading", "Weights")) else "Waiting"
