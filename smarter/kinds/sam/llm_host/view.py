"""The live objects of one LLMHost, sorted out for `observe.py` and what it is made of."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from smarter.core.objects import KubernetesObject
from smarter.kinds.sam.llm_host.bringing import is_bringer
from smarter.kinds.sam.llm_host.pods import condition, moment

_LEAVES_AT_MOST = timedelta(minutes=1)
"""What a pod may take beyond its grace period, which its deletionTimestamp includes."""


@dataclass(frozen=True, slots=True)
class View:
    """`wanted` counts replicas. `pods` are those that stay, `stuck` those that should be gone by now; `events` are by
    the uid of what they are about, the newest last."""

    deployment: KubernetesObject
    pods: tuple[KubernetesObject, ...]
    claim: KubernetesObject | None
    certificate: KubernetesObject | None
    ingress: KubernetesObject | None
    wanted: int
    stuck: tuple[KubernetesObject, ...] = ()
    events: dict[str, list[KubernetesObject]] = field(default_factory=dict)

    @property
    def status(self) -> dict[str, Any]:
        return self.deployment.get("status") or {}

    def count(self, name: str) -> int:
        return int(self.status.get(name) or 0)

    @property
    def current(self) -> bool:
        """Whether the counts speak of the Deployment as it is now."""
        return self.count("observedGeneration") >= int(self.deployment["metadata"].get("generation") or 0)

    @property
    def rolled_out(self) -> bool:
        counts = {self.count(name) for name in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")}
        return self.current and counts == {self.wanted}

    @property
    def mixed(self) -> bool:
        """Whether pods of an older version are still there."""
        return not self.current or self.count("updatedReplicas") < self.count("replicas")

    @property
    def late(self) -> bool:
        """Whether the time that a rollout may take is over without progress."""
        return self.current and self.condition("Progressing").get("reason") == "ProgressDeadlineExceeded"

    @property
    def newest(self) -> str:
        """What marks the pods of the newest version; the last one that was made tells."""
        stamps = [(str(pod["metadata"].get("creationTimestamp")), version_of(pod)) for pod in self.pods]
        return max(stamps, default=("", ""))[1]

    def condition(self, kind: str) -> dict[str, Any]:
        return condition(self.status, kind)

    def events_of(self, body: KubernetesObject) -> list[KubernetesObject]:
        return self.events.get(str(body["metadata"].get("uid")), [])


def view_of(live: list[KubernetesObject], wanted: int, now: datetime) -> View | None:
    """None where there is no Deployment yet."""
    by_kind: dict[str, list[KubernetesObject]] = {}
    for body in live:
        by_kind.setdefault(body["kind"], []).append(body)
    deployment = _one(by_kind, "Deployment")
    if deployment is None:
        return None
    pods = [pod for pod in by_kind.get("Pod", []) if not is_bringer(pod)]
    return View(
        deployment=deployment,
        pods=tuple(pod for pod in pods if not pod["metadata"].get("deletionTimestamp")),
        claim=_one(by_kind, "PersistentVolumeClaim"),
        certificate=_one(by_kind, "Certificate"),
        ingress=_one(by_kind, "Ingress"),
        wanted=wanted,
        stuck=tuple(pod for pod in pods if _is_stuck(pod, now)),
        events=events_by_uid(by_kind.get("Event", [])),
    )


def version_of(pod: KubernetesObject) -> str:
    return str((pod["metadata"].get("labels") or {}).get("pod-template-hash", ""))


def _one(by_kind: dict[str, list[KubernetesObject]], kind: str) -> KubernetesObject | None:
    found = by_kind.get(kind)
    return found[0] if found else None


def _is_stuck(pod: KubernetesObject, now: datetime) -> bool:
    due = moment(pod["metadata"].get("deletionTimestamp"))
    return due is not None and now - due > _LEAVES_AT_MOST


def events_by_uid(events: list[KubernetesObject]) -> dict[str, list[KubernetesObject]]:
    """By the uid of what they are about, the newest last."""
    found: dict[str, list[KubernetesObject]] = {}
    for event in sorted(events, key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or "")):
        found.setdefault(str((event.get("involvedObject") or {}).get("uid")), []).append(event)
    return found
