"""The last log lines that a kind wants to see for its status, within bounds: a log that cannot be read is nothing that
a look at a cluster may fail on, and reading them must not make it slow. `loop` and `observe` call it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from smarter.cluster.port import Cluster
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.kind import Kind, Manifest
from smarter.core.objects import KubernetesObject

MAX_READS = 20
"""Of one pass over a whole cluster. Those that come later are told again without progress, and have their turn as soon
as others are done."""
MAX_SECONDS = 3.0
_MAX_CHARACTERS = 64_000


@dataclass(slots=True)
class Budget:
    """What is left of one pass."""

    reads: int = MAX_READS
    until: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)

    def take(self) -> bool:
        self.reads -= 1
        return self.reads >= 0 and time.monotonic() < self.until


def tails(
    port: Cluster, kind: Kind, manifest: Manifest, live: Sequence[KubernetesObject], budget: Budget
) -> dict[tuple[str, str], str]:
    """By the names of pod and container."""
    found: dict[tuple[str, str], str] = {}
    namespaces = {body["metadata"]["name"]: body["metadata"].get("namespace", "") for body in live}
    for request in kind.logs(manifest, live):
        if not budget.take():
            break
        try:
            text = port.logs(
                namespaces.get(request.pod, ""), request.pod, container=request.container, tail_lines=request.lines
            )
        except (TemporaryError, PermanentError):
            continue
        found[(request.pod, request.container)] = text[-_MAX_CHARACTERS:]
    return found
