"""The pod's specification as a shape: shared by Pod, Deployment, ReplicaSet and Job."""

from smarter.cluster.simulation.shape import (
    ANYTHING,
    ATOMIC_TEXT_MAP,
    FLAG,
    QUANTITY,
    TEXT,
    TEXT_MAP,
    TEXTS,
    WHOLE,
    WHOLE_OR_TEXT,
    Map,
    Sequence,
    keyed,
    struct,
)

QUANTITIES = Map(QUANTITY)
REQUIREMENT = struct("key operator", key=TEXT, operator=TEXT, values=TEXTS)
LABEL_SELECTOR = struct("", True, matchLabels=TEXT_MAP, matchExpressions=Sequence(REQUIREMENT))
LOCAL_REFERENCE = struct("", True, name=TEXT)
KEY_REFERENCE = struct("key", True, name=TEXT, key=TEXT, optional=FLAG)
FIELD_REFERENCE = struct("fieldPath", True, apiVersion=TEXT, fieldPath=TEXT)
RESOURCE_REFERENCE = struct("resource", True, containerName=TEXT, resource=TEXT, divisor=QUANTITY)

_KEY_TO_PATH = struct("key path", key=TEXT, path=TEXT, mode=WHOLE)
_DOWNWARD_ITEM = struct("path", path=TEXT, fieldRef=FIELD_REFERENCE, resourceFieldRef=RESOURCE_REFERENCE, mode=WHOLE)
_HTTP_GET = struct(
    "port",
    path=TEXT,
    port=WHOLE_OR_TEXT,
    host=TEXT,
    scheme=TEXT,
    httpHeaders=Sequence(struct("name", name=TEXT, value=TEXT)),
)
_HANDLER = {
    "exec": struct(command=TEXTS),
    "httpGet": _HTTP_GET,
    "tcpSocket": struct("port", port=WHOLE_OR_TEXT, host=TEXT),
}
PROBE = struct(
    **_HANDLER,
    grpc=struct("port", port=WHOLE, service=TEXT),
    initialDelaySeconds=WHOLE,
    timeoutSeconds=WHOLE,
    periodSeconds=WHOLE,
    successThreshold=WHOLE,
    failureThreshold=WHOLE,
    terminationGracePeriodSeconds=WHOLE,
)
_LIFECYCLE = struct(**_HANDLER, sleep=struct("seconds", seconds=WHOLE))
_SECCOMP = struct("type", type=TEXT, localhostProfile=TEXT)
_SELINUX = struct(user=TEXT, role=TEXT, type=TEXT, level=TEXT)
CONTAINER_SECURITY = struct(
    capabilities=struct(add=TEXTS, drop=TEXTS),
    privileged=FLAG,
    seLinuxOptions=_SELINUX,
    runAsUser=WHOLE,
    runAsGroup=WHOLE,
    runAsNonRoot=FLAG,
    readOnlyRootFilesystem=FLAG,
    allowPrivilegeEscalation=FLAG,
    procMount=TEXT,
    seccompProfile=_SECCOMP,
    appArmorProfile=_SECCOMP,
)
POD_SECURITY = struct(
    seLinuxOptions=_SELINUX,
    runAsUser=WHOLE,
    runAsGroup=WHOLE,
    runAsNonRoot=FLAG,
    supplementalGroups=Sequence(WHOLE),
    supplementalGroupsPolicy=TEXT,
    fsGroup=WHOLE,
    fsGroupChangePolicy=TEXT,
    sysctls=Sequence(struct("name value", name=TEXT, value=TEXT)),
    seccompProfile=_SECCOMP,
    appArmorProfile=_SECCOMP,
)
_ENVIRONMENT = struct(
    "name",
    name=TEXT,
    value=TEXT,
    valueFrom=struct(
        fieldRef=FIELD_REFERENCE,
        resourceFieldRef=RESOURCE_REFERENCE,
        configMapKeyRef=KEY_REFERENCE,
        secretKeyRef=KEY_REFERENCE,
    ),
)
_NAMED = struct(name=TEXT, optional=FLAG)
RESOURCES = struct(
    limits=QUANTITIES,
    requests=QUANTITIES,
    claims=keyed(struct("name", name=TEXT, request=TEXT), name=None),
)
CONTAINER = struct(
    "name image",
    name=TEXT,
    image=TEXT,
    command=TEXTS,
    args=TEXTS,
    workingDir=TEXT,
    ports=keyed(
        struct("containerPort", name=TEXT, hostPort=WHOLE, containerPort=WHOLE, protocol=TEXT, hostIP=TEXT),
        containerPort=None,
        protocol="TCP",
    ),
    envFrom=Sequence(struct(prefix=TEXT, configMapRef=_NAMED, secretRef=_NAMED)),
    env=keyed(_ENVIRONMENT, name=None),
    resources=RESOURCES,
    resizePolicy=Sequence(struct("resourceName restartPolicy", resourceName=TEXT, restartPolicy=TEXT)),
    restartPolicy=TEXT,
    volumeMounts=keyed(
        struct(
            "name mountPath",
            name=TEXT,
            readOnly=FLAG,
            recursiveReadOnly=TEXT,
            mountPath=TEXT,
            subPath=TEXT,
            subPathExpr=TEXT,
            mountPropagation=TEXT,
        ),
        mountPath=None,
    ),
    livenessProbe=PROBE,
    readinessProbe=PROBE,
    startupProbe=PROBE,
    lifecycle=struct(postStart=_LIFECYCLE, preStop=_LIFECYCLE, stopSignal=TEXT),
    terminationMessagePath=TEXT,
    terminationMessagePolicy=TEXT,
    imagePullPolicy=TEXT,
    securityContext=CONTAINER_SECURITY,
    stdin=FLAG,
    stdinOnce=FLAG,
    tty=FLAG,
)
_PROJECTION = struct(
    secret=struct(name=TEXT, items=Sequence(_KEY_TO_PATH), optional=FLAG),
    configMap=struct(name=TEXT, items=Sequence(_KEY_TO_PATH), optional=FLAG),
    downwardAPI=struct(items=Sequence(_DOWNWARD_ITEM)),
    serviceAccountToken=struct("path", audience=TEXT, expirationSeconds=WHOLE, path=TEXT),
)
VOLUME = struct(
    "name",
    name=TEXT,
    emptyDir=struct(medium=TEXT, sizeLimit=QUANTITY),
    hostPath=struct("path", path=TEXT, type=TEXT),
    secret=struct(secretName=TEXT, items=Sequence(_KEY_TO_PATH), defaultMode=WHOLE, optional=FLAG),
    configMap=struct(name=TEXT, items=Sequence(_KEY_TO_PATH), defaultMode=WHOLE, optional=FLAG),
    downwardAPI=struct(items=Sequence(_DOWNWARD_ITEM), defaultMode=WHOLE),
    projected=struct(sources=Sequence(_PROJECTION), defaultMode=WHOLE),
    persistentVolumeClaim=struct("claimName", claimName=TEXT, readOnly=FLAG),
    image=struct(reference=TEXT, pullPolicy=TEXT),
    nfs=struct("server path", server=TEXT, path=TEXT, readOnly=FLAG),
    csi=struct(
        "driver",
        driver=TEXT,
        readOnly=FLAG,
        fsType=TEXT,
        volumeAttributes=TEXT_MAP,
        nodePublishSecretRef=LOCAL_REFERENCE,
    ),
    ephemeral=ANYTHING,
)
_NODE_TERM = struct("", True, matchExpressions=Sequence(REQUIREMENT), matchFields=Sequence(REQUIREMENT))
_POD_TERM = struct(
    "topologyKey",
    labelSelector=LABEL_SELECTOR,
    namespaces=TEXTS,
    topologyKey=TEXT,
    namespaceSelector=LABEL_SELECTOR,
    matchLabelKeys=TEXTS,
    mismatchLabelKeys=TEXTS,
)
_WEIGHTED_POD_TERM = struct("weight podAffinityTerm", weight=WHOLE, podAffinityTerm=_POD_TERM)
_POD_AFFINITY = struct(
    requiredDuringSchedulingIgnoredDuringExecution=Sequence(_POD_TERM),
    preferredDuringSchedulingIgnoredDuringExecution=Sequence(_WEIGHTED_POD_TERM),
)
AFFINITY = struct(
    nodeAffinity=struct(
        requiredDuringSchedulingIgnoredDuringExecution=struct(
            "nodeSelectorTerms", True, nodeSelectorTerms=Sequence(_NODE_TERM)
        ),
        preferredDuringSchedulingIgnoredDuringExecution=Sequence(
            struct("weight preference", weight=WHOLE, preference=_NODE_TERM)
        ),
    ),
    podAffinity=_POD_AFFINITY,
    podAntiAffinity=_POD_AFFINITY,
)
TOLERATION = struct(key=TEXT, operator=TEXT, value=TEXT, effect=TEXT, tolerationSeconds=WHOLE)
POD_SPEC = struct(
    "containers",
    volumes=keyed(VOLUME, name=None),
    initContainers=keyed(CONTAINER, name=None),
    containers=keyed(CONTAINER, name=None),
    restartPolicy=TEXT,
    terminationGracePeriodSeconds=WHOLE,
    activeDeadlineSeconds=WHOLE,
    dnsPolicy=TEXT,
    nodeSelector=ATOMIC_TEXT_MAP,
    serviceAccountName=TEXT,
    serviceAccount=TEXT,
    automountServiceAccountToken=FLAG,
    nodeName=TEXT,
    hostNetwork=FLAG,
    hostPID=FLAG,
    hostIPC=FLAG,
    hostUsers=FLAG,
    shareProcessNamespace=FLAG,
    securityContext=POD_SECURITY,
    imagePullSecrets=keyed(struct(name=TEXT), name=""),
    hostname=TEXT,
    subdomain=TEXT,
    affinity=AFFINITY,
    schedulerName=TEXT,
    tolerations=Sequence(TOLERATION),
    hostAliases=keyed(struct("ip", ip=TEXT, hostnames=TEXTS), ip=None),
    priorityClassName=TEXT,
    priority=WHOLE,
    preemptionPolicy=TEXT,
    dnsConfig=struct(nameservers=TEXTS, searches=TEXTS, options=Sequence(struct(name=TEXT, value=TEXT))),
    readinessGates=Sequence(struct("conditionType", conditionType=TEXT)),
    runtimeClassName=TEXT,
    enableServiceLinks=FLAG,
    overhead=QUANTITIES,
    topologySpreadConstraints=keyed(
        struct(
            "maxSkew topologyKey whenUnsatisfiable",
            maxSkew=WHOLE,
            topologyKey=TEXT,
            whenUnsatisfiable=TEXT,
            labelSelector=LABEL_SELECTOR,
            minDomains=WHOLE,
            nodeAffinityPolicy=TEXT,
            nodeTaintsPolicy=TEXT,
            matchLabelKeys=TEXTS,
        ),
        topologyKey=None,
        whenUnsatisfiable=None,
    ),
    setHostnameAsFQDN=FLAG,
    os=struct("name", name=TEXT),
    schedulingGates=keyed(struct("name", name=TEXT), name=None),
)
