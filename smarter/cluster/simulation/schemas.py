"""Shapes of every kind that the simulated cluster serves; `api.py` looks them up by `served_kind`."""

from collections.abc import Mapping
from dataclasses import dataclass

from smarter.cluster.simulation.schemas_pod import (
    LABEL_SELECTOR,
    LOCAL_REFERENCE,
    POD_SPEC,
    QUANTITIES,
    RESOURCES,
)
from smarter.cluster.simulation.shape import (
    ANYTHING,
    ATOMIC_TEXT_MAP,
    BYTES,
    FLAG,
    TEXT,
    TEXT_MAP,
    TEXTS,
    TIME,
    WHOLE,
    WHOLE_OR_TEXT,
    Map,
    Sequence,
    Shape,
    Struct,
    keyed,
    struct,
)
from smarter.core import objects
from smarter.core.objects import ObjectKind

METADATA = struct(
    name=TEXT,
    generateName=TEXT,
    namespace=TEXT,
    uid=TEXT,
    resourceVersion=TEXT,
    generation=WHOLE,
    creationTimestamp=TIME,
    deletionTimestamp=TIME,
    deletionGracePeriodSeconds=WHOLE,
    labels=TEXT_MAP,
    annotations=TEXT_MAP,
    ownerReferences=keyed(
        struct(
            "apiVersion kind name uid",
            apiVersion=TEXT,
            kind=TEXT,
            name=TEXT,
            uid=TEXT,
            controller=FLAG,
            blockOwnerDeletion=FLAG,
        ),
        uid=None,
    ),
    finalizers=Sequence(TEXT, unique=True),
    selfLink=TEXT,
    managedFields=ANYTHING,
)
_TEMPLATE_METADATA = METADATA
POD_TEMPLATE = struct("spec", metadata=_TEMPLATE_METADATA, spec=POD_SPEC)

_DEPLOYMENT = struct(
    "selector template",
    replicas=WHOLE,
    selector=LABEL_SELECTOR,
    template=POD_TEMPLATE,
    strategy=struct(type=TEXT, rollingUpdate=struct(maxUnavailable=WHOLE_OR_TEXT, maxSurge=WHOLE_OR_TEXT)),
    minReadySeconds=WHOLE,
    revisionHistoryLimit=WHOLE,
    paused=FLAG,
    progressDeadlineSeconds=WHOLE,
)
_REPLICA_SET = struct("selector", replicas=WHOLE, minReadySeconds=WHOLE, selector=LABEL_SELECTOR, template=POD_TEMPLATE)
_JOB = struct(
    "template",
    parallelism=WHOLE,
    completions=WHOLE,
    activeDeadlineSeconds=WHOLE,
    podFailurePolicy=ANYTHING,
    backoffLimit=WHOLE,
    selector=LABEL_SELECTOR,
    manualSelector=FLAG,
    template=POD_TEMPLATE,
    ttlSecondsAfterFinished=WHOLE,
    completionMode=TEXT,
    suspend=FLAG,
    podReplacementPolicy=TEXT,
)
_SERVICE = struct(
    ports=keyed(
        struct(
            "port",
            name=TEXT,
            protocol=TEXT,
            appProtocol=TEXT,
            port=WHOLE,
            targetPort=WHOLE_OR_TEXT,
            nodePort=WHOLE,
        ),
        port=None,
        protocol="TCP",
    ),
    selector=ATOMIC_TEXT_MAP,
    clusterIP=TEXT,
    clusterIPs=TEXTS,
    type=TEXT,
    externalIPs=TEXTS,
    sessionAffinity=TEXT,
    sessionAffinityConfig=ANYTHING,
    loadBalancerClass=TEXT,
    loadBalancerSourceRanges=TEXTS,
    externalName=TEXT,
    externalTrafficPolicy=TEXT,
    healthCheckNodePort=WHOLE,
    publishNotReadyAddresses=FLAG,
    ipFamilies=TEXTS,
    ipFamilyPolicy=TEXT,
    allocateLoadBalancerNodePorts=FLAG,
    internalTrafficPolicy=TEXT,
    trafficDistribution=TEXT,
)
_CLAIM = struct(
    "accessModes resources",
    accessModes=TEXTS,
    selector=LABEL_SELECTOR,
    resources=RESOURCES,
    volumeName=TEXT,
    storageClassName=TEXT,
    volumeMode=TEXT,
    dataSource=ANYTHING,
    dataSourceRef=ANYTHING,
    volumeAttributesClassName=TEXT,
)
_BACKEND = struct(
    "",
    service=struct("name", name=TEXT, port=struct("", True, name=TEXT, number=WHOLE)),
    resource=struct("kind name", True, apiGroup=TEXT, kind=TEXT, name=TEXT),
)
_INGRESS = struct(
    ingressClassName=TEXT,
    defaultBackend=_BACKEND,
    tls=Sequence(struct(hosts=TEXTS, secretName=TEXT)),
    rules=Sequence(
        struct(
            host=TEXT,
            http=struct(
                "paths", paths=Sequence(struct("pathType backend", path=TEXT, pathType=TEXT, backend=_BACKEND))
            ),
        )
    ),
)
_PEERS = Sequence(
    struct(
        podSelector=LABEL_SELECTOR,
        namespaceSelector=LABEL_SELECTOR,
        ipBlock=Struct({"cidr": TEXT, "except": TEXTS}, ("cidr",)),
    )
)
_POLICY_PORTS = Sequence(struct(protocol=TEXT, port=WHOLE_OR_TEXT, endPort=WHOLE))
_NETWORK_POLICY = struct(
    podSelector=LABEL_SELECTOR,
    ingress=Sequence(Struct({"ports": _POLICY_PORTS, "from": _PEERS})),
    egress=Sequence(struct(ports=_POLICY_PORTS, to=_PEERS)),
    policyTypes=TEXTS,
)
_SCOPE = struct("operator scopeName", operator=TEXT, scopeName=TEXT, values=TEXTS)
_QUOTA = struct(hard=QUANTITIES, scopes=TEXTS, scopeSelector=struct("", True, matchExpressions=Sequence(_SCOPE)))
_LIMIT = struct(
    "type",
    type=TEXT,
    max=QUANTITIES,
    min=QUANTITIES,
    default=QUANTITIES,
    defaultRequest=QUANTITIES,
    maxLimitRequestRatio=QUANTITIES,
)
_CERTIFICATE = struct(
    "secretName issuerRef",
    secretName=TEXT,
    issuerRef=struct("name", name=TEXT, kind=TEXT, group=TEXT),
    commonName=TEXT,
    dnsNames=TEXTS,
    duration=TEXT,
    renewBefore=TEXT,
    revisionHistoryLimit=WHOLE,
    usages=TEXTS,
    isCA=FLAG,
    encodeUsagesInRequest=FLAG,
    privateKey=struct(algorithm=TEXT, encoding=TEXT, size=WHOLE, rotationPolicy=TEXT),
    secretTemplate=struct(annotations=TEXT_MAP, labels=TEXT_MAP),
    subject=ANYTHING,
    keystores=ANYTHING,
    ipAddresses=TEXTS,
    uris=TEXTS,
    emailAddresses=TEXTS,
)
_NODE = struct(
    podCIDR=TEXT,
    podCIDRs=Sequence(TEXT, unique=True),
    providerID=TEXT,
    unschedulable=FLAG,
    taints=Sequence(struct("key effect", key=TEXT, value=TEXT, effect=TEXT, timeAdded=TIME)),
)
_VOLUME = struct(
    capacity=QUANTITIES,
    accessModes=TEXTS,
    claimRef=ANYTHING,
    persistentVolumeReclaimPolicy=TEXT,
    storageClassName=TEXT,
    volumeMode=TEXT,
    csi=ANYTHING,
    nodeAffinity=ANYTHING,
)

REPLICA_SET = ObjectKind("apps/v1", "ReplicaSet", "replicasets")
PERSISTENT_VOLUME = ObjectKind("v1", "PersistentVolume", "persistentvolumes", namespaced=False)


@dataclass(frozen=True, slots=True)
class Served:
    kind: ObjectKind
    shape: Struct


def _served(kind: ObjectKind, required: str = "", /, **fields: Shape) -> Served:
    common: dict[str, Shape] = {"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA, "status": ANYTHING}
    return Served(kind, Struct({**common, **fields}, tuple(required.split())))


_ALL = (
    _served(objects.NAMESPACE, spec=struct(finalizers=TEXTS)),
    _served(
        objects.SERVICE_ACCOUNT,
        secrets=keyed(struct(name=TEXT, namespace=TEXT, kind=TEXT, uid=TEXT), name=None),
        imagePullSecrets=Sequence(LOCAL_REFERENCE),
        automountServiceAccountToken=FLAG,
    ),
    _served(objects.RESOURCE_QUOTA, spec=_QUOTA),
    _served(objects.LIMIT_RANGE, spec=struct("limits", limits=Sequence(_LIMIT))),
    _served(objects.NETWORK_POLICY, spec=_NETWORK_POLICY),
    _served(objects.SECRET, data=Map(BYTES), stringData=TEXT_MAP, type=TEXT, immutable=FLAG),
    _served(objects.CONFIG_MAP, data=TEXT_MAP, binaryData=Map(BYTES), immutable=FLAG),
    _served(objects.PERSISTENT_VOLUME_CLAIM, "spec", spec=_CLAIM),
    _served(PERSISTENT_VOLUME, spec=_VOLUME),
    _served(objects.SERVICE, spec=_SERVICE),
    _served(objects.DEPLOYMENT, "spec", spec=_DEPLOYMENT),
    _served(REPLICA_SET, "spec", spec=_REPLICA_SET),
    _served(objects.JOB, "spec", spec=_JOB),
    _served(objects.INGRESS, spec=_INGRESS),
    _served(objects.CERTIFICATE, "spec", spec=_CERTIFICATE),
    _served(objects.POD, "spec", spec=POD_SPEC),
    _served(objects.NODE, spec=_NODE),
    _served(
        objects.EVENT,
        involvedObject=ANYTHING,
        reason=TEXT,
        message=TEXT,
        source=ANYTHING,
        firstTimestamp=TIME,
        lastTimestamp=TIME,
        eventTime=TEXT,
        count=WHOLE,
        type=TEXT,
        action=TEXT,
        related=ANYTHING,
        reportingComponent=TEXT,
        reportingInstance=TEXT,
        series=ANYTHING,
    ),
)
_BY_NAME: Mapping[tuple[str, str], Served] = {(served.kind.api_version, served.kind.kind): served for served in _ALL}
SERVED_BY_KIND: Mapping[str, Served] = {served.kind.kind: served for served in _ALL}


def served_kind(api_version: str, kind: str, features: frozenset[str]) -> Served | None:
    """None for a kind that this cluster does not have, be it unknown or the kind of a feature that is not installed."""
    served = _BY_NAME.get((api_version, kind))
    if served is None or (served.kind.feature is not None and served.kind.feature not in features):
        return None
    return served
