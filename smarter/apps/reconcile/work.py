"""Carrying a plan out on a cluster: the namespace first, then each change in order, deletes last.

Called by the loop, which holds the lease. Every step may be cut off after it; the next pass finds what is there and
goes on.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from smarter.cluster.port import Cluster
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.kind import Kind
from smarter.core.objects import (
    CERTIFICATE_OF_LABEL,
    GENERATION_ANNOTATION,
    OWNER_UID_LABEL,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    SECRET,
    KubernetesObject,
    ObjectKind,
    ObjectRef,
    ref_of,
)
from smarter.core.plan import Change, Plan

VOLUME_NOT_GROWN = "VolumeNotGrown"
"""A refusal after which everything else has been applied, so that it can be observed."""


@dataclass(slots=True)
class Live:
    """The objects of one resource on one cluster, as last seen or as the cluster answered an apply."""

    objects: dict[ObjectRef, KubernetesObject] = field(default_factory=dict)
    pods: list[KubernetesObject] = field(default_factory=list)
    kept: list[KubernetesObject] = field(default_factory=list)
    """What stays while the resource is not deployed, beside volumes, and goes with it."""

    @property
    def owned(self) -> list[KubernetesObject]:
        return list(self.objects.values())

    @property
    def everything(self) -> list[KubernetesObject]:
        return [*self.objects.values(), *self.pods]


def read_live(port: Cluster, kinds: Iterable[ObjectKind], features: frozenset[str], namespace: str, uid: str) -> Live:
    """One list for each kind that the cluster serves, by the owner's label. A namespace that is not there is empty."""
    selector = f"{OWNER_UID_LABEL}={uid}"
    served = [kind for kind in kinds if kind.feature is None or kind.feature in features]
    live = Live()
    for kind in served:
        for body in port.list(kind, label_selector=selector, namespace=namespace):
            live.objects[ref_of(body)] = body
    live.pods = port.list(POD, label_selector=selector, namespace=namespace)
    return live


def read_certificates(port: Cluster, namespace: str, uid: str) -> list[KubernetesObject]:
    """The Secrets of certificates: kept while a resource is away, and removed with it."""
    return port.list(SECRET, label_selector=f"{CERTIFICATE_OF_LABEL}={uid}", namespace=namespace)


def newest_generation(live: Live) -> int:
    """The highest generation that any live object was applied from; 0 for none."""
    marks = [(body["metadata"].get("annotations") or {}).get(GENERATION_ANNOTATION, "0") for body in live.owned]
    return max((int(mark) for mark in marks if mark.isdigit()), default=0)


def carry_out(port: Cluster, plan: Plan, live: Live, still_mine: Callable[[], bool]) -> None:
    """`live` follows each change. TemporaryError LeaseLost when somebody else has taken over. A refusal ends the pass,
    but where the other steps do not build on the refused one they are taken first."""
    refused: list[PermanentError] = []
    for change in plan.changes:
        if not still_mine():
            raise TemporaryError("another worker has taken over", reason="LeaseLost", delay_seconds=0)
        try:
            _carry_out_one(port, change, live)
        except PermanentError as error:
            if not _stands_alone(change):
                raise
            refused.append(_explained(change, error))
    if refused:
        raise PermanentError(" ".join(error.message for error in refused[:3]), reason=refused[0].reason)


def _stands_alone(change: Change) -> bool:
    return change.body is None or (change.action == "update" and change.ref.kind == PERSISTENT_VOLUME_CLAIM)


def _explained(change: Change, error: PermanentError) -> PermanentError:
    if error.reason == "NamespaceMissing":
        return error
    if change.body is None:
        return PermanentError(f"{change.ref} was not deleted: {error.message}", reason=error.reason)
    words = (
        f"The volume cannot be changed: {error.message.rstrip('.')}. Where its storage class does not let it grow, go "
        "back to the old size, or undeploy it with retain: false and deploy it again, which brings the weights anew."
    )
    return PermanentError(words, reason=VOLUME_NOT_GROWN)


def _carry_out_one(port: Cluster, change: Change, live: Live) -> None:
    if change.body is None:
        port.delete(change.ref, uid=change.uid)
        live.objects.pop(change.ref, None)
        return
    # A create does not force: an object of that name that belongs to somebody else is refused, not taken over.
    live.objects[change.ref] = port.apply(change.body, force=change.action == "update")


def objects_left(kind: Kind, live: Live) -> list[str]:
    """What of a resource still exists, and what holds it there, for a deletion that waits."""
    order = {object_kind: index for index, object_kind in enumerate((*kind.object_kinds, POD))}
    left = sorted(live.everything, key=lambda body: (order.get(ref_of(body).kind, 0), ref_of(body).name))
    return [f"{ref_of(body)}{_held(body)}" for body in left]


def _held(body: KubernetesObject) -> str:
    metadata = body["metadata"]
    finalizers = metadata.get("finalizers") or ()
    if not finalizers or not metadata.get("deletionTimestamp"):
        return ""
    return f" (held by {', '.join(finalizers)})"
