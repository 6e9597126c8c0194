"""The objects around a workload: Secrets, Services, claims, Ingresses, policies, certificates."""

import base64
from typing import Any

import pytest

from smarter.cluster.port import Cluster
from smarter.core.objects import (
    CERTIFICATE,
    INGRESS,
    PERSISTENT_VOLUME_CLAIM,
    SECRET,
    KubernetesObject,
    ObjectKind,
    ObjectRef,
)
from tests.contract.cluster import bodies
from tests.contract.cluster.conftest import Backend
from tests.contract.cluster.watching import await_pods, pods_of, refusal

PERSISTENT_VOLUME = ObjectKind("v1", "PersistentVolume", "persistentvolumes", namespaced=False)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_secret_text_is_stored_encoded(cluster: Cluster, namespace: str) -> None:
    made = cluster.apply(bodies.secret(namespace, stringData={"token": "hush"}))
    assert made["data"] == {"token": _encoded("hush")}
    assert "stringData" not in made
    assert made["type"] == "Opaque"


def test_secret_data_changes(cluster: Cluster, namespace: str) -> None:
    cluster.apply(bodies.secret(namespace, data={"a": _encoded("1"), "b": _encoded("2")}))
    after = cluster.apply(bodies.secret(namespace, data={"a": _encoded("3")}))
    assert after["data"] == {"a": _encoded("3")}


def test_immutable_secret(cluster: Cluster, namespace: str) -> None:
    cluster.apply(bodies.secret(namespace, data={"a": _encoded("1")}, immutable=True))
    refusal(lambda: cluster.apply(bodies.secret(namespace, data={"a": _encoded("2")}, immutable=True)), "Invalid")


def test_service_gets_an_address_and_keeps_it(cluster: Cluster, namespace: str) -> None:
    made = cluster.apply(bodies.service(namespace))
    spec = made["spec"]
    assert spec["clusterIP"].count(".") == 3
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert (spec["type"], spec["sessionAffinity"], spec["internalTrafficPolicy"]) == ("ClusterIP", "None", "Cluster")
    assert spec["ports"] == [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8000}]
    again = cluster.apply(bodies.service(namespace))
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    changed = cluster.apply(bodies.service(namespace, selector={"app": "another"}))
    assert changed["spec"]["clusterIP"] == spec["clusterIP"]
    assert changed["spec"]["selector"] == {"app": "another"}


def test_port_of_a_service_changes(cluster: Cluster, namespace: str) -> None:
    cluster.apply(bodies.service(namespace))
    after = cluster.apply(bodies.service(namespace, ports=[{"name": "http", "port": 80, "targetPort": 9000}]))
    assert [port["targetPort"] for port in after["spec"]["ports"]] == [9000]


def test_address_of_a_service_never_changes(cluster: Cluster, namespace: str) -> None:
    cluster.apply(bodies.service(namespace))
    refusal(lambda: cluster.apply(bodies.service(namespace, clusterIP="10.96.77.77")), "Invalid")


def _claim(backend: Backend, namespace: str) -> KubernetesObject:
    found = backend.cluster.get(ObjectRef(PERSISTENT_VOLUME_CLAIM, namespace, "weights"))
    assert found is not None
    return found


def _await_bound(backend: Backend, namespace: str) -> KubernetesObject:
    def bound() -> KubernetesObject | None:
        found = _claim(backend, namespace)
        return found if (found.get("status") or {}).get("phase") == "Bound" else None

    claim: KubernetesObject = backend.eventually(bound, "the claim is Bound")
    return claim


def test_claim_is_bound(backend: Backend, namespace: str) -> None:
    made = backend.cluster.apply(bodies.claim(namespace))
    assert made["spec"]["volumeMode"] == "Filesystem"
    assert made["spec"]["storageClassName"]
    claim = _await_bound(backend, namespace)
    assert claim["spec"]["volumeName"]
    assert claim["status"]["capacity"] == {"storage": "10Gi"}
    assert claim["status"]["accessModes"] == ["ReadWriteOnce"]
    volume = backend.cluster.get(ObjectRef(PERSISTENT_VOLUME, "", claim["spec"]["volumeName"]))
    assert volume is not None
    assert volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]


def test_same_claim_changes_nothing_when_bound(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.claim(namespace))
    _await_bound(backend, namespace)

    def unchanged() -> bool:
        before = _claim(backend, namespace)
        return backend.cluster.apply(bodies.claim(namespace)) == before == _claim(backend, namespace)

    # Binding may still add something to the claim for a moment.
    backend.eventually(unchanged, "an apply that changes nothing")


def test_claim_may_grow(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.claim(namespace))
    _await_bound(backend, namespace)
    after = backend.cluster.apply(bodies.claim(namespace, size="20Gi"))
    assert after["spec"]["resources"]["requests"]["storage"] == "20Gi"


def test_claim_never_shrinks(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.claim(namespace))
    _await_bound(backend, namespace)
    assert "storage" in refusal(lambda: backend.cluster.apply(bodies.claim(namespace, size="5Gi")), "Invalid")


@pytest.mark.parametrize(
    "change", [{"storageClassName": "another"}, {"accessModes": ["ReadWriteMany"]}], ids=["class", "access mode"]
)
def test_claim_keeps_class_and_access_modes(backend: Backend, namespace: str, change: dict[str, Any]) -> None:
    backend.cluster.apply(bodies.claim(namespace))
    _await_bound(backend, namespace)
    assert "spec" in refusal(lambda: backend.cluster.apply(bodies.claim(namespace, **change)), "Invalid")


def test_claim_of_an_unknown_class_waits(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.claim(namespace, storageClassName="not-there"))
    for _ in range(5):
        backend.pause()
    assert (_claim(backend, namespace).get("status") or {}).get("phase", "Pending") == "Pending"


def test_claim_outlives_its_deployment(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.claim(namespace))
    volumes = [{"name": "models", "persistentVolumeClaim": {"claimName": "weights"}}]
    backend.cluster.apply(bodies.deployment(namespace, spec=bodies.pod_spec(volumes=volumes)))
    await_pods(backend, namespace, 1)
    backend.cluster.apply(bodies.deployment(namespace, spec=bodies.pod_spec(volumes=volumes), replicas=0))
    backend.eventually(lambda: not pods_of(backend, namespace, leaving=True), "no pods")
    assert _claim(backend, namespace)["status"]["phase"] == "Bound"


def test_claim_in_use_goes_after_its_pod(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.claim(namespace))
    volumes = [{"name": "models", "persistentVolumeClaim": {"claimName": "weights"}}]
    wanted = bodies.deployment(namespace, spec=bodies.pod_spec(volumes=volumes))
    backend.cluster.apply(wanted)
    await_pods(backend, namespace, 1)
    ref = ObjectRef(PERSISTENT_VOLUME_CLAIM, namespace, "weights")
    assert backend.cluster.delete(ref) is True
    for _ in range(5):
        backend.pause()
    assert "deletionTimestamp" in _claim(backend, namespace)["metadata"]
    backend.cluster.apply(bodies.deployment(namespace, spec=bodies.pod_spec(volumes=volumes), replicas=0))
    backend.eventually(lambda: backend.cluster.get(ref) is None, "the claim's end")


def test_ingress_is_stored_as_sent(cluster: Cluster, namespace: str) -> None:
    made = cluster.apply(bodies.ingress(namespace))
    assert made["spec"] == bodies.ingress(namespace)["spec"]
    assert made["metadata"]["generation"] == 1
    assert cluster.apply(bodies.ingress(namespace, path="/v2"))["metadata"]["generation"] == 2
    assert cluster.delete(ObjectRef(INGRESS, namespace, "host")) is True


def test_network_policy_is_stored_as_sent(cluster: Cluster, namespace: str) -> None:
    peers = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "traefik"}}}]
    egress = [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}}], "ports": [{"port": 443}]}]
    made = cluster.apply(bodies.network_policy(namespace, ingress=[{"from": peers}], egress=egress))
    assert made["spec"]["ingress"] == [{"from": peers}]
    assert made["spec"]["egress"][0]["to"] == egress[0]["to"]
    assert made["spec"]["egress"][0]["ports"] == [{"port": 443, "protocol": "TCP"}]


def _certificate(backend: Backend, namespace: str) -> KubernetesObject:
    found = backend.cluster.get(ObjectRef(CERTIFICATE, namespace, "host"))
    assert found is not None
    return found


def test_certificate_becomes_ready_with_its_secret(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.certificate(namespace))
    found = backend.eventually(
        lambda: (
            _certificate(backend, namespace)
            if bodies.condition(_certificate(backend, namespace), "Ready") == "True"
            else None
        ),
        "the Certificate is Ready",
    )
    assert found["status"]["notAfter"] > found["status"]["notBefore"]
    secret = backend.cluster.get(ObjectRef(SECRET, namespace, "host-tls"))
    assert secret is not None
    assert secret["type"] == "kubernetes.io/tls"
    assert set(secret["data"]) == {"tls.crt", "tls.key"}
    unchanged = backend.cluster.apply(bodies.certificate(namespace))
    assert unchanged["metadata"]["generation"] == 1


def test_certificate_that_is_never_issued(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.certificate(namespace, fate="certificate-pending"))
    found = backend.eventually(
        lambda: (
            _certificate(backend, namespace)
            if bodies.condition(_certificate(backend, namespace), "Ready") == "False"
            else None
        ),
        "the Certificate is not Ready",
    )
    assert bodies.condition_part(found, "Ready", "reason") == "DoesNotExist"
    assert bodies.condition(found, "Issuing") == "True"
    assert backend.cluster.get(ObjectRef(SECRET, namespace, "host-tls")) is None
