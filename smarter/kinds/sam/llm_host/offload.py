"""Whether a server that was given a GPU works on it. Some go on on processors where they find none that they can use,
ten times slower, and nothing but their log says so.
"""

from collections.abc import Sequence

from smarter.core.conditions import Condition
from smarter.core.facts import Facts
from smarter.core.kind import LogRequest
from smarter.core.objects import KubernetesObject
from smarter.kinds.sam.llm_host import crashes
from smarter.kinds.sam.llm_host.host import Host, host_of
from smarter.kinds.sam.llm_host.pods import condition
from smarter.models.sam.llm_host import SAMLLMHost
from smarter.render.pod import ENGINE_CONTAINER

_LINES = 400
"""What a server says at its start is among them when it has just become ready."""


def logs(manifest: SAMLLMHost, live: Sequence[KubernetesObject]) -> tuple[LogRequest, ...]:
    """Of the servers that are ready, where the engine is one of those that go on without a GPU."""
    host = host_of(manifest)
    if not _may_fall_back(host):
        return ()
    ready = [body for body in live if body["kind"] == "Pod" and _is_ready(body)]
    return tuple(LogRequest(pod["metadata"]["name"], ENGINE_CONTAINER, _LINES) for pod in ready)


def condition_of(host: Host, facts: Facts) -> Condition | None:
    """None where no log tells."""
    if not _may_fall_back(host):
        return None
    slow = [
        pod for (pod, name), text in facts.logs.items() if name == ENGINE_CONTAINER and crashes.has_no_offload(text)
    ]
    if not slow:
        return None
    text = (
        "The server serves, but on processors: it found no GPU that it can use, so it is many times slower than it "
        "could be. Use an image that is built for this kind of GPU, and see the logs."
    )
    return Condition("UsesGpu", "False", "NoOffload", text)


def _may_fall_back(host: Host) -> bool:
    return host.engine.falls_back and host.need.gpu_count > 0


def _is_ready(pod: KubernetesObject) -> bool:
    status = pod.get("status") or {}
    return not pod["metadata"].get("deletionTimestamp") and condition(status, "Ready").get("status") == "True"
