"""Weights on their way: the pods that bring them, how far they are, and what that means for the host.

On a volume that many nodes share one Job brings them for all replicas; elsewhere each replica has an init container.
Both run the same program, which tells its progress line by line.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smarter.core.facts import Facts
from smarter.core.kind import LogRequest
from smarter.core.objects import WEIGHTS_LABEL, KubernetesObject, is_complete
from smarter.core.quantities import gigabytes
from smarter.kinds.sam.llm_host import words
from smarter.kinds.sam.llm_host.pods import Context, Finding, finding_of, worst
from smarter.models.sam.llm_host import SAMLLMHost
from smarter.render.pod import FETCH_CONTAINER

_LINES = 5
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Progress:
    """In bytes; `total` is 0 where nobody told it. `trouble` is why the last attempt failed, if nothing came since."""

    done: int
    total: int
    trouble: str = ""

    @property
    def percent(self) -> int | None:
        return min(100, self.done * 100 // self.total) if self.total else None

    def status(self) -> dict[str, Any]:
        return {"bytes": self.done, "totalBytes": self.total or None, "percent": self.percent}

    def message(self) -> str:
        amount = f"{gigabytes(self.done)} GB"
        if self.total:
            amount = f"{gigabytes(self.done)} of {gigabytes(self.total)} GB, {self.percent} %"
        again = f" It is trying again: {words.sentence(self.trouble)}" if self.trouble else ""
        return f"Downloading: {amount}.{again}"


def is_bringer(pod: KubernetesObject) -> bool:
    """Whether a pod is none of the replicas, but brings their weights."""
    return WEIGHTS_LABEL in (pod["metadata"].get("labels") or {})


def job_under_way(live: Iterable[KubernetesObject]) -> KubernetesObject | None:
    """The newest Job that has not brought everything yet. One that is being deleted brings what nobody wants."""
    jobs = [body for body in live if body["kind"] == "Job" and not body["metadata"].get("deletionTimestamp")]
    newest = max(jobs, key=lambda job: str(job["metadata"].get("creationTimestamp")), default=None)
    return None if newest is None or is_complete(newest) else newest


def finding_of_job(
    job: KubernetesObject, live: Sequence[KubernetesObject], context: Context, events: Sequence[KubernetesObject]
) -> Finding:
    """Of what its pods tell; `events` are those about any of them."""
    pods = [pod for pod in live if _belongs(pod, job) and (pod.get("status") or {}).get("phase") not in _ENDED]
    found = worst(finding_of(pod, replace(context, compute="any kind"), events) for pod in pods)
    if found is None or found.reason == "Starting":
        text = "The pod that brings the weights is being prepared; the replicas start after it."
        return Finding("pending", "Starting", text)
    return found


def while_serving(found: Finding, ready: int, wanted: int) -> Finding:
    """The version before serves on until the weights of the newest are there."""
    if found.state == "error":
        serving = f"{ready} of {wanted} replicas serve, of the version before. The newest does not come up:"
        return replace(found, state="degraded", message=f"{serving} {found.message}")
    return Finding("deploying", "RollingOut", f"The version before serves on. {found.message}")


def _belongs(pod: KubernetesObject, job: KubernetesObject) -> bool:
    owners = pod["metadata"].get("ownerReferences") or ()
    staying = not pod["metadata"].get("deletionTimestamp")
    return staying and any(owner.get("uid") == job["metadata"].get("uid") for owner in owners)


def logs(_manifest: SAMLLMHost, live: Sequence[KubernetesObject]) -> tuple[LogRequest, ...]:
    """The last lines of every container that brings weights just now."""
    return tuple(LogRequest(pod["metadata"]["name"], FETCH_CONTAINER, _LINES) for pod in live if _is_bringing(pod))


def _is_bringing(pod: KubernetesObject) -> bool:
    if pod["kind"] != "Pod" or pod["metadata"].get("deletionTimestamp"):
        return False
    status = pod.get("status") or {}
    states = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return any(entry.get("name") == FETCH_CONTAINER and "running" in (entry.get("state") or {}) for entry in states)


def progress_of(facts: Facts) -> Progress | None:
    """Of the download that is furthest behind, since the host waits for all of them."""
    found = [progress for key, text in sorted(facts.logs.items()) if (progress := _read(key, text))]
    return min(found, key=lambda progress: progress.percent or 0, default=None)


def _read(key: tuple[str, str], text: str) -> Progress | None:
    if key[1] != FETCH_CONTAINER:
        return None
    found: Progress | None = None
    for line in text.splitlines():
        record = _record(line)
        if record.get("event") in ("progress", "start"):
            done = _count(record.get("bytes"))
            found = Progress(done or (found.done if found else 0), _count(record.get("total")))
        elif record.get("event") == "retry" and found:
            found = replace(found, trouble=str(record.get("message") or ""))
    return found


def _record(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**60 else 0
