"""What an API server fills in when an object is stored, so that a comparison with a rendered object sees here what it
would see on a real cluster. Each function changes its object in place. `api.py` and the controllers call it.
"""

from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

from smarter.core.objects import KubernetesObject

DEFAULT_STORAGE_CLASS = "standard"
_FILE_MODE = 0o644
_Filler = Callable[[KubernetesObject], None]


def fill(body: KubernetesObject) -> None:
    filler = _FILLERS.get(body["kind"])
    if filler is not None:
        filler(body)


def fill_pod_spec(spec: dict[str, Any]) -> None:
    defaults = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
    }
    for name, value in defaults.items():
        spec.setdefault(name, value)
    spec.setdefault("securityContext", {})
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    for container in [*spec.get("initContainers", ()), *spec.get("containers", ())]:
        _fill_container(container)
    for volume in spec.get("volumes", ()):
        _fill_volume(volume)


def fill_new_pod(spec: dict[str, Any]) -> None:
    """What is added to a pod and not to the template that it comes from."""
    fill_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    spec.setdefault("priority", 0)
    spec.setdefault("serviceAccountName", "default")
    spec["serviceAccount"] = spec["serviceAccountName"]
    tolerations = spec.setdefault("tolerations", [])
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(toleration.get("key") == key for toleration in tolerations):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    for container in [*spec.get("initContainers", ()), *spec["containers"]]:
        resources = container["resources"]
        for name, amount in (resources.get("limits") or {}).items():
            resources.setdefault("requests", {}).setdefault(name, amount)


def _fill_container(container: dict[str, Any]) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("resources", {})
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
    for port in container.get("ports", ()):
        port.setdefault("protocol", "TCP")
    for variable in container.get("env", ()):
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference is not None:
            reference.setdefault("apiVersion", "v1")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name in container:
            _fill_probe(container[name])


def _pull_policy(image: str) -> str:
    name = image.rpartition("/")[2]
    tagged = "@" in name or (":" in name and not name.endswith(":latest"))
    return "IfNotPresent" if tagged else "Always"


def _fill_probe(probe: dict[str, Any]) -> None:
    for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
        if not probe.get(name):
            probe[name] = value
    if "httpGet" in probe:
        probe["httpGet"].setdefault("path", "/")
        probe["httpGet"].setdefault("scheme", "HTTP")


def _fill_volume(volume: dict[str, Any]) -> None:
    for source in ("secret", "configMap", "projected", "downwardAPI"):
        if source in volume:
            volume[source].setdefault("defaultMode", _FILE_MODE)
    for part in (volume.get("projected") or {}).get("sources", ()):
        if "serviceAccountToken" in part:
            part["serviceAccountToken"].setdefault("expirationSeconds", 3600)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    if set(volume) == {"name"}:
        volume["emptyDir"] = {}


def _fill_template(template: dict[str, Any]) -> None:
    template.setdefault("metadata", {})
    fill_pod_spec(template.setdefault("spec", {}))


def _fill_deployment(body: KubernetesObject) -> None:
    spec = body["spec"]
    for name, value in (("replicas", 1), ("revisionHistoryLimit", 10), ("progressDeadlineSeconds", 600)):
        spec.setdefault(name, value)
    strategy = spec.setdefault("strategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    _fill_template(spec.setdefault("template", {}))


def _fill_job(body: KubernetesObject) -> None:
    spec = body["spec"]
    defaults: Mapping[str, Any] = {
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }
    for name, value in defaults.items():
        spec.setdefault(name, value)
    uid = body["metadata"].get("uid")
    if uid and "selector" not in spec:
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    _fill_template(spec.setdefault("template", {}))
    labels = spec["template"]["metadata"].setdefault("labels", {})
    for prefix in ("batch.kubernetes.io/", ""):
        labels[f"{prefix}controller-uid"] = uid
        labels[f"{prefix}job-name"] = body["metadata"]["name"]


def _fill_service(body: KubernetesObject) -> None:
    spec = body.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports", ()):
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    if spec["type"] == "ExternalName":
        return
    spec.setdefault("clusterIP", _address(body["metadata"].get("uid", "")))
    spec["clusterIPs"] = [spec["clusterIP"]]
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    spec.setdefault("internalTrafficPolicy", "Cluster")


def _address(uid: str) -> str:
    digest = blake2b(uid.encode(), digest_size=2).digest()
    return f"10.96.{digest[0]}.{max(digest[1], 1)}"


def _fill_claim(body: KubernetesObject) -> None:
    body["spec"].setdefault("volumeMode", "Filesystem")
    body["spec"].setdefault("storageClassName", DEFAULT_STORAGE_CLASS)


def _fill_network_policy(body: KubernetesObject) -> None:
    spec = body.setdefault("spec", {})
    spec.setdefault("podSelector", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for rule in [*(spec.get("ingress") or ()), *(spec.get("egress") or ())]:
        for port in rule.get("ports", ()):
            port.setdefault("protocol", "TCP")


def _fill_limit_range(body: KubernetesObject) -> None:
    for limit in body["spec"].get("limits", ()):
        if limit.get("type") != "Container":
            continue
        for name, amount in (limit.get("max") or {}).items():
            limit.setdefault("default", {}).setdefault(name, amount)
        for name, amount in (limit.get("default") or {}).items():
            limit.setdefault("defaultRequest", {}).setdefault(name, amount)
        for name, amount in (limit.get("min") or {}).items():
            limit.setdefault("defaultRequest", {}).setdefault(name, amount)


def _fill_secret(body: KubernetesObject) -> None:
    body.setdefault("type", "Opaque")


def _fill_namespace(body: KubernetesObject) -> None:
    body.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
    body["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = body["metadata"]["name"]
    body.setdefault("status", {"phase": "Active"})


def _fill_pod(body: KubernetesObject) -> None:
    fill_new_pod(body["spec"])
    body.setdefault("status", {"phase": "Pending", "qosClass": "BestEffort"})


_FILLERS: Mapping[str, _Filler] = {
    "Deployment": _fill_deployment,
    "Job": _fill_job,
    "Service": _fill_service,
    "PersistentVolumeClaim": _fill_claim,
    "NetworkPolicy": _fill_network_policy,
    "LimitRange": _fill_limit_range,
    "Secret": _fill_secret,
    "Namespace": _fill_namespace,
    "Pod": _fill_pod,
}
