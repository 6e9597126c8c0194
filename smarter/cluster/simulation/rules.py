"""What an API server demands of an object beyond its shape: names, references inside it, and fields that never change.

`faults_of` judges a whole object, `changed_faults` a change of it. `api.py` calls both.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from smarter.cluster import quantity
from smarter.cluster.simulation import selectors
from smarter.core.objects import KubernetesObject

Faults = list[str]

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_ANNOTATIONS_LIMIT = 256 * 1024
_DATA_LIMIT = 1024 * 1024


def faults_of(body: KubernetesObject) -> Faults:
    faults = _metadata_faults(body)
    check = _CHECKS.get(body["kind"])
    if check is not None and not faults:
        faults += check(body)
    return faults


def changed_faults(old: KubernetesObject, new: KubernetesObject) -> Faults:
    check = _CHANGE_CHECKS.get(new["kind"])
    return check(old, new) if check is not None else []


def _metadata_faults(body: KubernetesObject) -> Faults:
    metadata, faults = body["metadata"], []
    name = metadata.get("name", "")
    if not is_name(body["kind"], name):
        faults.append(f'.metadata.name: Invalid value: "{name}": must be a valid name for {body["kind"]}')
    for key, value in (metadata.get("labels") or {}).items():
        if not _is_qualified(key):
            faults.append(
                f'.metadata.labels: Invalid value: "{key}": name part must consist of alphanumeric characters'
            )
        if len(value) > 63 or not _LABEL_VALUE.fullmatch(value):
            faults.append(
                f'.metadata.labels: Invalid value: "{value}": a valid label must be at most 63 plain characters'
            )
    annotations = metadata.get("annotations") or {}
    faults += [
        f'.metadata.annotations: Invalid value: "{key}"' for key in annotations if not _is_qualified(key.lower())
    ]
    if sum(len(key) + len(value) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        faults.append(".metadata.annotations: Too long: may not be more than 262144 bytes")
    return faults


def is_name(kind: str, name: str) -> bool:
    if kind in ("Service", "Namespace"):
        return len(name) <= 63 and _LABEL.fullmatch(name) is not None
    return len(name) <= 253 and all(_LABEL.fullmatch(part) for part in name.split("."))


def _is_qualified(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and not is_name("", prefix):
        return False
    return len(name) <= 63 and _LABEL_NAME.fullmatch(name) is not None


def _deployment_faults(body: KubernetesObject) -> Faults:
    spec = body["spec"]
    faults = _template_faults(spec)
    if spec["replicas"] < 0:
        faults.append(f".spec.replicas: Invalid value: {spec['replicas']}: must be greater than or equal to 0")
    strategy = spec["strategy"]
    if strategy["type"] not in ("Recreate", "RollingUpdate"):
        faults.append(f'.spec.strategy.type: Unsupported value: "{strategy["type"]}"')
    if strategy["type"] == "Recreate" and "rollingUpdate" in strategy:
        faults.append(
            ".spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"
        )
    if strategy["type"] == "RollingUpdate" and all(
        str(value) in ("0", "0%") for value in strategy["rollingUpdate"].values()
    ):
        faults.append(".spec.strategy.rollingUpdate.maxUnavailable: Invalid value: may not be 0 when `maxSurge` is 0")
    if spec["progressDeadlineSeconds"] <= spec.get("minReadySeconds", 0):
        faults.append(".spec.progressDeadlineSeconds: Invalid value: must be greater than minReadySeconds")
    restart = spec["template"]["spec"].get("restartPolicy")
    if restart != "Always":
        faults.append(f'.spec.template.spec.restartPolicy: Unsupported value: "{restart}": supported values: "Always"')
    return faults


def _template_faults(spec: Mapping[str, Any]) -> Faults:
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    requirements = selectors.requirements_of(spec["selector"])
    faults = _pod_faults(spec["template"]["spec"], ".spec.template.spec")
    if not requirements:
        faults.append(".spec.selector: Invalid value: empty selector is invalid for deployment")
    elif not selectors.meets(requirements, labels):
        faults.append(".spec.template.metadata.labels: Invalid value: `selector` does not match template `labels`")
    return faults


def _job_faults(body: KubernetesObject) -> Faults:
    template = body["spec"]["template"]["spec"]
    faults = _pod_faults(template, ".spec.template.spec")
    if template.get("restartPolicy") not in ("Never", "OnFailure"):
        faults.append('.spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"')
    return faults


def _bare_pod_faults(body: KubernetesObject) -> Faults:
    return _pod_faults(body["spec"], ".spec")


def _pod_faults(spec: Mapping[str, Any], path: str) -> Faults:
    faults: Faults = []
    volumes = set()
    for index, volume in enumerate(spec.get("volumes") or ()):
        volumes.add(volume["name"])
        if not _LABEL.fullmatch(volume["name"]) or len(volume["name"]) > 63:
            faults.append(f'{path}.volumes[{index}].name: Invalid value: "{volume["name"]}"')
        if len(volume) > 2:
            faults.append(f"{path}.volumes[{index}]: Forbidden: may not specify more than 1 volume type")
    names: set[str] = set()
    for group in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(group) or ()):
            place = f"{path}.{group}[{index}]"
            if container["name"] in names:
                faults.append(f'{place}.name: Duplicate value: "{container["name"]}"')
            names.add(container["name"])
            faults += _container_faults(container, place, volumes)
    if spec.get("restartPolicy") not in ("Always", "OnFailure", "Never"):
        faults.append(f'{path}.restartPolicy: Unsupported value: "{spec.get("restartPolicy")}"')
    return faults


def _container_faults(container: Mapping[str, Any], path: str, volumes: set[str]) -> Faults:
    faults: Faults = []
    if not _LABEL.fullmatch(container["name"]) or len(container["name"]) > 63:
        faults.append(f'{path}.name: Invalid value: "{container["name"]}"')
    if container["image"] != container["image"].strip():
        faults.append(
            f'{path}.image: Invalid value: "{container["image"]}": must not have leading or trailing whitespace'
        )
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if mount["name"] not in volumes:
            faults.append(f'{path}.volumeMounts[{index}].name: Not found: "{mount["name"]}"')
    for index, port in enumerate(container.get("ports") or ()):
        faults += _port_faults(port["containerPort"], f"{path}.ports[{index}].containerPort")
    for index, variable in enumerate(container.get("env") or ()):
        if variable.get("value") and variable.get("valueFrom"):
            faults.append(
                f"{path}.env[{index}].valueFrom: Invalid value: may not be specified when `value` is not empty"
            )
    if container.get("imagePullPolicy") not in ("Always", "IfNotPresent", "Never"):
        faults.append(f'{path}.imagePullPolicy: Unsupported value: "{container.get("imagePullPolicy")}"')
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        faults += _probe_faults(name, container.get(name), f"{path}.{name}")
    return faults + list(_resource_faults(container.get("resources") or {}, f"{path}.resources"))


def _probe_faults(name: str, probe: Mapping[str, Any] | None, path: str) -> Faults:
    if probe is None:
        return []
    faults = []
    handlers = [handler for handler in ("exec", "httpGet", "tcpSocket", "grpc") if handler in probe]
    if not handlers:
        faults.append(f"{path}: Required value: must specify a handler type")
    if len(handlers) > 1:
        faults.append(f"{path}.{handlers[1]}: Forbidden: may not specify more than 1 handler type")
    if name != "readinessProbe" and probe.get("successThreshold", 1) != 1:
        faults.append(f"{path}.successThreshold: Invalid value: {probe['successThreshold']}: must be 1")
    for number in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold"):
        if probe.get(number, 0) < 0:
            faults.append(f"{path}.{number}: Invalid value: {probe[number]}: must be greater than or equal to 0")
    return faults


def _resource_faults(resources: Mapping[str, Any], path: str) -> Iterator[str]:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name in sorted({*requests, *limits}):
        request, limit = quantity.parse(requests.get(name)), quantity.parse(limits.get(name))
        extended = "/" in name
        if not extended and name not in ("cpu", "memory", "ephemeral-storage") and not name.startswith("hugepages-"):
            yield f'{path}.limits[{name}]: Invalid value: "{name}": must be a standard resource type or fully qualified'
        if any(amount is not None and amount < 0 for amount in (request, limit)):
            yield f"{path}.requests[{name}]: Invalid value: must be greater than or equal to 0"
        if extended and limit is None:
            yield f"{path}.limits: Required value: Limit must be set for non overcommitable resources"
        elif extended and request is not None and request != limit:
            yield f'{path}.requests: Invalid value: "{requests[name]}": must be equal to {name} limit of {limits[name]}'
        elif request is not None and limit is not None and request > limit:
            text = f"must be less than or equal to {name} limit of {limits[name]}"
            yield f'{path}.requests: Invalid value: "{requests[name]}": {text}'
        if extended and limit is not None and limit != int(limit):
            yield f'{path}.limits[{name}]: Invalid value: "{limits[name]}": must be an integer'


def _port_faults(port: Any, path: str) -> Faults:
    if isinstance(port, int) and not 1 <= port <= 65535:
        return [f"{path}: Invalid value: {port}: must be between 1 and 65535, inclusive"]
    return []


def _service_faults(body: KubernetesObject) -> Faults:
    spec = body["spec"]
    ports = spec.get("ports") or []
    faults: Faults = []
    if spec["type"] not in ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"):
        faults.append(f'.spec.type: Unsupported value: "{spec["type"]}"')
    if not ports and spec["type"] != "ExternalName" and spec.get("clusterIP") != "None":
        faults.append(".spec.ports: Required value")
    for index, port in enumerate(ports):
        faults += _port_faults(port["port"], f".spec.ports[{index}].port")
        faults += _port_faults(port.get("targetPort"), f".spec.ports[{index}].targetPort")
        if len(ports) > 1 and not port.get("name"):
            faults.append(f".spec.ports[{index}].name: Required value")
    return faults


def _claim_faults(body: KubernetesObject) -> Faults:
    spec = body["spec"]
    faults = []
    storage = quantity.parse((spec["resources"].get("requests") or {}).get("storage"))
    if storage is None:
        faults.append(".spec.resources[storage]: Required value")
    elif storage <= 0:
        faults.append(".spec.resources[storage]: Invalid value: must be greater than zero")
    known = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
    faults += [f'.spec.accessModes: Unsupported value: "{mode}"' for mode in spec["accessModes"] if mode not in known]
    return faults


def _ingress_faults(body: KubernetesObject) -> Faults:
    spec = body.get("spec") or {}
    faults = []
    if not spec.get("rules") and not spec.get("defaultBackend"):
        faults.append(".spec: Invalid value: either `defaultBackend` or `rules` must be specified")
    for number, rule in enumerate(spec.get("rules") or ()):
        for index, path in enumerate((rule.get("http") or {}).get("paths") or ()):
            place = f".spec.rules[{number}].http.paths[{index}]"
            if path["pathType"] not in ("Exact", "Prefix", "ImplementationSpecific"):
                faults.append(f'{place}.pathType: Unsupported value: "{path["pathType"]}"')
            elif path["pathType"] != "ImplementationSpecific" and not (path.get("path") or "").startswith("/"):
                faults.append(f'{place}.path: Invalid value: "{path.get("path", "")}": must be an absolute path')
    return faults


def _data_faults(body: KubernetesObject) -> Faults:
    faults, size = [], 0
    for group in ("data", "binaryData"):
        for key, value in (body.get(group) or {}).items():
            size += len(value)
            if not _DATA_KEY.fullmatch(key) or len(key) > 253:
                faults.append(
                    f'.{group}[{key}]: Invalid value: "{key}": a valid config key must consist of plain characters'
                )
    limit = _DATA_LIMIT if body["kind"] == "ConfigMap" else _DATA_LIMIT * 4 // 3
    return [*faults, ".data: Too long: may not be more than 1048576 bytes"] if size > limit else faults


def _deployment_changes(old: KubernetesObject, new: KubernetesObject) -> Faults:
    return _immutable(old, new, "selector")


def _job_changes(old: KubernetesObject, new: KubernetesObject) -> Faults:
    return _immutable(old, new, "selector", "template", "completions")


def _claim_changes(old: KubernetesObject, new: KubernetesObject) -> Faults:
    before, after = dict(old["spec"]), dict(new["spec"])
    sizes = [quantity.parse(spec.pop("resources")["requests"]["storage"]) for spec in (before, after)]
    before_volume = before.get("volumeName")
    if before_volume and "volumeName" not in after:
        after["volumeName"] = before_volume
    if before != after:
        return [".spec: Forbidden: spec is immutable after creation except resources.requests for bound claims"]
    if sizes[0] == sizes[1]:
        return []
    if (old.get("status") or {}).get("phase") != "Bound":
        return [".spec: Forbidden: spec is immutable after creation except resources.requests for bound claims"]
    if sizes[0] is not None and sizes[1] is not None and sizes[1] < sizes[0]:
        return [".spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"]
    return []


def _service_changes(old: KubernetesObject, new: KubernetesObject) -> Faults:
    before, after = old["spec"].get("clusterIP"), new["spec"].get("clusterIP")
    return [f'.spec.clusterIPs[0]: Invalid value: ["{after}"]: may not change once set'] if before != after else []


def _secret_changes(old: KubernetesObject, new: KubernetesObject) -> Faults:
    if old.get("type") != new.get("type"):
        return [f'.type: Invalid value: "{new.get("type")}": field is immutable']
    return _data_changes(old, new)


def _data_changes(old: KubernetesObject, new: KubernetesObject) -> Faults:
    if old.get("immutable") and (old.get("data") != new.get("data") or not new.get("immutable")):
        return [".data: Forbidden: field is immutable when `immutable` is set"]
    return []


def _immutable(old: KubernetesObject, new: KubernetesObject, *names: str) -> Faults:
    changed = [name for name in names if old["spec"].get(name) != new["spec"].get(name)]
    return [f".spec.{name}: Invalid value: field is immutable" for name in changed]


_CHECKS: Mapping[str, Callable[[KubernetesObject], Faults]] = {
    "Deployment": _deployment_faults,
    "Job": _job_faults,
    "Pod": _bare_pod_faults,
    "Service": _service_faults,
    "PersistentVolumeClaim": _claim_faults,
    "Ingress": _ingress_faults,
    "Secret": _data_faults,
    "ConfigMap": _data_faults,
}
_CHANGE_CHECKS: Mapping[str, Callable[[KubernetesObject, KubernetesObject], Faults]] = {
    "Deployment": _deployment_changes,
    "Job": _job_changes,
    "PersistentVolumeClaim": _claim_changes,
    "Service": _service_changes,
    "Secret": _secret_changes,
    "ConfigMap": _data_changes,
}
