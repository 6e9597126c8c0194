"""The small controllers: volumes, certificates, ingress addresses, new namespaces, quota figures. For `loop.py`."""

import base64
from datetime import timedelta
from typing import Any

from smarter.cluster import quantity
from smarter.cluster.simulation.admission import used_in, write
from smarter.cluster.simulation.defaults import DEFAULT_STORAGE_CLASS
from smarter.cluster.simulation.fates import MESSAGE_ANNOTATION, told
from smarter.cluster.simulation.world import World, condition_of, fate_of, is_leaving, set_condition, stamp
from smarter.core.objects import KubernetesObject

STORAGE_CLASSES = {DEFAULT_STORAGE_CLASS: False, "kwok-volume": False, "kwok-volume-rwx": True}
"""Name, and whether several nodes may mount a volume at once."""

_SHARED_MODES = ("ReadWriteMany", "ReadOnlyMany")


def reconcile_claim(world: World, claim: KubernetesObject) -> None:
    if is_leaving(claim):
        return
    phase = (claim.get("status") or {}).get("phase")
    if phase is None:
        world.put_status(claim, {"phase": "Pending"})
    if phase in (None, "Pending") and _can_provision(world, claim) and not world.waiting(claim, "bind"):
        world.wake(claim, "bind", world.pace.volume)
    if phase == "Bound" and fate_of(claim) == "resize-failed":
        _refuse_growth(world, claim)


def bind_claim(world: World, claim: KubernetesObject) -> None:
    if (claim.get("status") or {}).get("phase") == "Bound":
        _lose_claim(world, claim)
        return
    spec = claim["spec"]
    name = f"pvc-{claim['metadata']['uid']}"
    size = spec["resources"]["requests"]["storage"]
    volume = world.fresh(
        "PersistentVolume",
        "",
        name,
        spec={
            "accessModes": spec["accessModes"],
            "capacity": {"storage": size},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": spec["storageClassName"],
            "volumeMode": spec["volumeMode"],
            "claimRef": {"kind": "PersistentVolumeClaim", **_name_of(claim)},
        },
        status={"phase": "Bound"},
    )
    if fate_of(claim) == "volume-elsewhere":
        zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["elsewhere"]}
        volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}
    world.put(volume)
    spec["volumeName"] = name
    claim["status"] = {"phase": "Bound", "accessModes": spec["accessModes"], "capacity": {"storage": size}}
    world.put(claim)
    world.freed = True
    if fate_of(claim) == "volume-lost":
        world.wake(claim, "bind", world.pace.volume)


def _lose_claim(world: World, claim: KubernetesObject) -> None:
    """The disk went away behind the claim."""
    volume = world.get("PersistentVolume", "", claim["spec"]["volumeName"])
    if volume is not None:
        world.erase(volume)
    world.put_status(claim, {**claim["status"], "phase": "Lost"})


def _refuse_growth(world: World, claim: KubernetesObject) -> None:
    status = claim["status"]
    if not grown(status["capacity"]["storage"], claim["spec"]["resources"]["requests"]["storage"]):
        return
    conditions = [dict(one) for one in status.get("conditions", [])]
    why = "rpc error: code = OutOfRange desc = no room is left at the storage"
    set_condition(conditions, "ControllerResizeError", "True", "", why, world.timestamp())
    stopped = {"storage": "ControllerResizeInfeasible"}
    world.put_status(claim, {**status, "conditions": conditions, "allocatedResourceStatuses": stopped})


def reconcile_certificate(world: World, certificate: KubernetesObject) -> None:
    if is_leaving(certificate):
        return
    fate = fate_of(certificate)
    if fate in ("certificate-pending", "certificate-failed", "held"):
        if fate != "held" and not condition_of(certificate, "Ready"):
            world.put_status(certificate, {"conditions": _issuing(world, certificate)})
        return
    ready = condition_of(certificate, "Ready") or {}
    current = ready.get("observedGeneration") == certificate["metadata"].get("generation", 1)
    if not (current and ready.get("status") == "True") and not world.waiting(certificate, "issue"):
        world.wake(certificate, "issue", world.pace.certificate)


def issue_certificate(world: World, certificate: KubernetesObject) -> None:
    namespace, name = certificate["metadata"]["namespace"], certificate["metadata"]["name"]
    secret_name = certificate["spec"]["secretName"]
    secret = world.get("Secret", namespace, secret_name)
    if secret is None:
        template = certificate["spec"].get("secretTemplate") or {}
        annotations = {**template.get("annotations", {}), "cert-manager.io/certificate-name": name}
        metadata = {"labels": template.get("labels", {}), "annotations": annotations}
        data = {"tls.crt": _encode(f"certificate of {name}"), "tls.key": _encode(f"key of {name}")}
        secret = world.fresh("Secret", namespace, secret_name, metadata=metadata, data=data, type="kubernetes.io/tls")
        world.put(secret)
    conditions = [
        dict(one) for one in (certificate.get("status") or {}).get("conditions", []) if one["type"] == "Ready"
    ]
    message = "Certificate is up to date and has not expired"
    set_condition(conditions, "Ready", "True", "Ready", message, world.timestamp())
    conditions[0]["observedGeneration"] = certificate["metadata"].get("generation", 1)
    status = {"conditions": conditions, "notBefore": world.timestamp(), "revision": 1}
    status["notAfter"] = stamp(world.now + timedelta(days=90))
    status["renewalTime"] = stamp(world.now + timedelta(days=60))
    world.put_status(certificate, status)


def reconcile_ingress(world: World, ingress: KubernetesObject) -> None:
    addressed = ((ingress.get("status") or {}).get("loadBalancer") or {}).get("ingress")
    if fate_of(ingress) == "ingress-untaken":
        return
    if not is_leaving(ingress) and not addressed and not world.waiting(ingress, "address"):
        world.wake(ingress, "address", world.pace.ingress)


def address_ingress(world: World, ingress: KubernetesObject) -> None:
    world.put_status(ingress, {"loadBalancer": {"ingress": [{"ip": "127.0.0.1"}]}})


def furnish_namespace(world: World, namespace: KubernetesObject) -> None:
    """What every namespace has from its first moment."""
    name = namespace["metadata"]["name"]
    if is_leaving(namespace) or world.exists("ServiceAccount", name, "default"):
        return
    world.put(world.fresh("ServiceAccount", name, "default"))
    world.put(world.fresh("ConfigMap", name, "kube-root-ca.crt", data={"ca.crt": "simulated"}))


def count_quotas(world: World, namespace: str) -> None:
    quotas = world.in_namespace(namespace, "ResourceQuota")
    if not quotas:
        return
    used = used_in(world, namespace)
    for quota in quotas:
        hard: dict[str, Any] = dict(quota["spec"].get("hard") or {})
        figures = {name: write(name, used[name]) if name in used else "0" for name in hard}
        world.put_status(quota, {"hard": hard, "used": figures})


def _can_provision(world: World, claim: KubernetesObject) -> bool:
    spec = claim["spec"]
    storage_class = spec.get("storageClassName")
    if fate_of(claim) == "volume-pending":
        return False
    if storage_class not in STORAGE_CLASSES:
        message = f'storageclass.storage.k8s.io "{storage_class}" not found'
        if not (claim.get("status") or {}).get("warned"):
            world.warn(claim, "ProvisioningFailed", message)
        return False
    shared = any(mode in _SHARED_MODES for mode in spec["accessModes"])
    return STORAGE_CLASSES[storage_class] or not shared


def _issuing(world: World, certificate: KubernetesObject) -> list[dict[str, Any]]:
    message = "Issuing certificate as Secret does not exist"
    conditions: list[dict[str, Any]] = []
    set_condition(conditions, "Ready", "False", "DoesNotExist", message, world.timestamp())
    set_condition(conditions, "Issuing", "True", "DoesNotExist", message, world.timestamp())
    if fate_of(certificate) == "certificate-failed":
        why = told(certificate, MESSAGE_ANNOTATION, "The certificate request has failed")
        set_condition(conditions, "Issuing", "False", "Failed", why, world.timestamp())
    for condition in conditions:
        condition["observedGeneration"] = certificate["metadata"].get("generation", 1)
    return conditions


def _name_of(body: KubernetesObject) -> dict[str, str]:
    return {name: body["metadata"][name] for name in ("name", "namespace", "uid")}


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def grown(before: str, after: str) -> bool:
    return (quantity.parse(after) or 0) > (quantity.parse(before) or 0)
