"""What one look at a cluster gets to see: everything that Smarter manages there, by the resource that owns it.

A kind of object that the cluster does not let Smarter list hides what owns such objects, and nothing else: the others
are judged as ever. `observe.py` calls it.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import structlog

from smarter.apps.resources.models import ResourceState
from smarter.cluster.port import Cluster
from smarter.core.errors import PermanentError
from smarter.core.objects import MANAGED_SELECTOR, POD, KubernetesObject, ObjectKind, owner_uid_of
from smarter.kinds import KINDS

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Seen:
    """Live objects of one resource."""

    owned: list[KubernetesObject] = field(default_factory=list)
    pods: list[KubernetesObject] = field(default_factory=list)


@dataclass(slots=True)
class Sight:
    """`by_owner` is by the uid of a resource, `hidden` are kinds that may not be listed."""

    by_owner: dict[str, Seen] = field(default_factory=lambda: defaultdict(Seen))
    hidden: set[str] = field(default_factory=set)

    def hides(self, state: ResourceState) -> bool:
        """Whether the resource had objects, at its last apply, that cannot be seen now."""
        return any(ref.partition(" ")[0] in self.hidden for ref in state.fingerprint)


def look(port: Cluster, features: frozenset[str]) -> Sight:
    """One list for each kind. Pods must be seen: without them nothing can be said about money."""
    sight = Sight()
    for kind in _object_kinds(features):
        for body in _list(port, kind, sight):
            owner = owner_uid_of(body)
            if owner:
                target = sight.by_owner[owner]
                (target.pods if kind == POD else target.owned).append(body)
    return sight


def _list(port: Cluster, kind: ObjectKind, sight: Sight) -> list[KubernetesObject]:
    try:
        return port.list(kind, label_selector=MANAGED_SELECTOR)
    except PermanentError as error:
        if error.reason != "Forbidden" or kind == POD:
            raise
        log.warning("kind_hidden", kind=kind.kind, message=error.message)
        sight.hidden.add(kind.kind)
        return []


def _object_kinds(features: frozenset[str]) -> Iterable[ObjectKind]:
    kinds = {kind: None for entry in KINDS.values() if entry.deployable for kind in entry.object_kinds}
    return [kind for kind in (*kinds, POD) if kind.feature is None or kind.feature in features]
