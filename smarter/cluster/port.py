"""The port to a Kubernetes API. `kubernetes.py` is the real one, `simulated.py` the one that needs no cluster; one
contract suite holds both to the same behaviour. The reconciler and the API's logs are its callers.

Every method raises TemporaryError or PermanentError and nothing else. Reasons: ClusterUnavailable, CredentialsInvalid,
TooManyRequests, Conflict (temporary); Forbidden, Invalid, KindMissing, NamespaceMissing, NameTaken, QuotaExceeded
(permanent until somebody acts).
"""

from dataclasses import dataclass, field
from typing import Protocol

from smarter.core.objects import KubernetesObject, ObjectKind, ObjectRef


@dataclass(frozen=True, slots=True)
class NodeInfo:
    name: str
    labels: dict[str, str]
    cpu_millis: int
    memory_bytes: int
    gpus: int
    ready: bool


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """`features` are names like `cert-manager`, found by the API groups that the cluster serves."""

    version: str
    features: frozenset[str]
    nodes: tuple[NodeInfo, ...] = field(default=())


class Cluster(Protocol):
    def apply(self, body: KubernetesObject, *, force: bool = True, dry_run: bool = False) -> KubernetesObject:
        """Server-side apply as FIELD_MANAGER with strict field validation. Without `force` a field that somebody else
        owns with another value is a PermanentError NameTaken."""

    def get(self, ref: ObjectRef) -> KubernetesObject | None:
        """None where it does not exist."""

    def list(
        self, kind: ObjectKind, *, label_selector: str = "", namespace: str | None = None, field_selector: str = ""
    ) -> list[KubernetesObject]:
        """All pages. Objects come without managedFields. A kind that the cluster does not serve is KindMissing. Of
        field selectors, `involvedObject.uid=…` of Events can be counted on."""

    def delete(self, ref: ObjectRef, *, uid: str | None = None) -> bool:
        """Background propagation, with the uid as precondition. False where it did not exist (or has another uid)."""

    def logs(self, namespace: str, pod: str, *, container: str, tail_lines: int = 200, previous: bool = False) -> str:
        """At most 1 MiB."""

    def info(self) -> ClusterInfo: ...

    def close(self) -> None: ...
