"""Kubernetes objects as the rest of Smarter names them: kinds, references, owner labels.

Objects themselves are plain dicts. Render writes them, plan compares them, clusters carry them.
"""

from dataclasses import dataclass
from typing import Any

KubernetesObject = dict[str, Any]

FIELD_MANAGER = "smarter"
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "smarter"
OWNER_UID_LABEL = "smarter.sh/owner-uid"
ACCOUNT_LABEL = "smarter.sh/account-number"
COMPUTE_LABEL = "smarter.sh/compute"
CERTIFICATE_OF_LABEL = "smarter.sh/certificate-of"
"""On the Secret that cert-manager writes: the uid of the resource that it serves. It is no owner label, so that the
certificate outlives an undeploy and is not ordered again; the deletion of the resource takes it along."""
DESIRED_HASH_ANNOTATION = "smarter.sh/desired-hash"
GENERATION_ANNOTATION = "smarter.sh/generation"
CHECKSUM_ANNOTATION = "smarter.sh/secret-checksum"
AFTER_ANNOTATION = "smarter.sh/after"
"""On a desired object: the name of a Job in its namespace that must be complete before the object is touched."""
WEIGHTS_LABEL = "smarter.sh/weights"
"""On pods that bring weights for the replicas of a workload, and are none of them."""
MANAGED_SELECTOR = f"{MANAGED_BY_LABEL}={MANAGED_BY}"


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """A kind of Kubernetes object. `feature` names what a cluster must have for the kind to exist at all."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True
    feature: str | None = None

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class ObjectRef:
    kind: ObjectKind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind.kind} {self.name}"


NAMESPACE = ObjectKind("v1", "Namespace", "namespaces", namespaced=False)
SERVICE_ACCOUNT = ObjectKind("v1", "ServiceAccount", "serviceaccounts")
RESOURCE_QUOTA = ObjectKind("v1", "ResourceQuota", "resourcequotas")
LIMIT_RANGE = ObjectKind("v1", "LimitRange", "limitranges")
NETWORK_POLICY = ObjectKind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
SECRET = ObjectKind("v1", "Secret", "secrets")
CONFIG_MAP = ObjectKind("v1", "ConfigMap", "configmaps")
PERSISTENT_VOLUME_CLAIM = ObjectKind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
SERVICE = ObjectKind("v1", "Service", "services")
DEPLOYMENT = ObjectKind("apps/v1", "Deployment", "deployments")
JOB = ObjectKind("batch/v1", "Job", "jobs")
INGRESS = ObjectKind("networking.k8s.io/v1", "Ingress", "ingresses")
CERTIFICATE = ObjectKind("cert-manager.io/v1", "Certificate", "certificates", feature="cert-manager")
POD = ObjectKind("v1", "Pod", "pods")
NODE = ObjectKind("v1", "Node", "nodes", namespaced=False)
EVENT = ObjectKind("v1", "Event", "events")

OBJECT_KINDS: dict[tuple[str, str], ObjectKind] = {
    (kind.api_version, kind.kind): kind
    for kind in (
        NAMESPACE,
        SERVICE_ACCOUNT,
        RESOURCE_QUOTA,
        LIMIT_RANGE,
        NETWORK_POLICY,
        SECRET,
        CONFIG_MAP,
        PERSISTENT_VOLUME_CLAIM,
        SERVICE,
        DEPLOYMENT,
        JOB,
        INGRESS,
        CERTIFICATE,
        POD,
        NODE,
        EVENT,
    )
}


def kind_of(body: KubernetesObject) -> ObjectKind:
    """The kind of an object; KeyError for one that Smarter does not know."""
    return OBJECT_KINDS[(body["apiVersion"], body["kind"])]


def ref_of(body: KubernetesObject) -> ObjectRef:
    metadata = body["metadata"]
    return ObjectRef(kind_of(body), metadata.get("namespace", ""), metadata["name"])


def is_complete(job: KubernetesObject) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(entry.get("type") == "Complete" and entry.get("status") == "True" for entry in conditions)


def owner_uid_of(body: KubernetesObject) -> str | None:
    label: str | None = (body["metadata"].get("labels") or {}).get(OWNER_UID_LABEL)
    return label
