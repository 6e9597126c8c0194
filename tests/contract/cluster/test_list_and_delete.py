"""Lists by label and by page, and what deleting takes with it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from smarter.cluster.port import Cluster
from smarter.core.errors import PermanentError
from smarter.core.objects import (
    CONFIG_MAP,
    DEPLOYMENT,
    NAMESPACE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    SECRET,
    SERVICE_ACCOUNT,
    ObjectKind,
    ObjectRef,
)
from tests.contract.cluster import bodies
from tests.contract.cluster.conftest import Backend
from tests.contract.cluster.watching import await_pods, pods_of

REPLICA_SET = ObjectKind("apps/v1", "ReplicaSet", "replicasets")
PAGE = 500
LABELS = {"a": {"tier": "gold", "zone": "1"}, "b": {"tier": "silver", "zone": "1"}, "c": {"tier": "gold"}, "d": {}}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("", "abcd"),
        ("tier=gold", "ac"),
        ("tier==gold", "ac"),
        ("tier!=gold", "bd"),
        ("tier in (gold, silver)", "abc"),
        ("tier notin (gold)", "bd"),
        ("zone", "ab"),
        ("!zone", "cd"),
        ("tier=gold,zone=1", "a"),
        ("tier=gold,!zone", "c"),
        ("tier in (gold,silver),zone", "ab"),
        ("tier=bronze", ""),
    ],
)
def test_label_selectors(cluster: Cluster, namespace: str, selector: str, expected: str) -> None:
    for name, labels in LABELS.items():
        cluster.apply(bodies.config_map(namespace, name=name, labels=labels))
    found = cluster.list(CONFIG_MAP, label_selector=selector, namespace=namespace)
    assert "".join(sorted(body["metadata"]["name"] for body in found if body["metadata"]["name"] in LABELS)) == expected


def test_bad_selector(cluster: Cluster, namespace: str) -> None:
    with pytest.raises(PermanentError) as refused:
        cluster.list(CONFIG_MAP, label_selector="tier in (gold", namespace=namespace)
    assert refused.value.reason == "Invalid"


def test_list_over_all_namespaces(cluster: Cluster, namespace: str) -> None:
    cluster.apply(bodies.config_map(namespace, labels={"mark": namespace}))
    found = cluster.list(CONFIG_MAP, label_selector=f"mark={namespace}")
    assert [(body["apiVersion"], body["kind"], body["metadata"]["namespace"]) for body in found] == [
        ("v1", "ConfigMap", namespace)
    ]
    assert "managedFields" not in found[0]["metadata"]


def test_list_in_a_namespace_that_is_not_there(cluster: Cluster) -> None:
    assert cluster.list(CONFIG_MAP, namespace="contract-not-there") == []


def test_list_of_several_pages(cluster: Cluster, namespace: str) -> None:
    """Costs a second or three: more objects than fit on a page."""
    wanted = [bodies.config_map(namespace, name=f"n-{number:03}", labels={"page": "yes"}) for number in range(PAGE + 5)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(cluster.apply, wanted))
    found = cluster.list(CONFIG_MAP, label_selector="page=yes", namespace=namespace)
    assert [body["metadata"]["name"] for body in found] == [f"n-{number:03}" for number in range(PAGE + 5)]


def test_get_what_is_not_there(cluster: Cluster, namespace: str) -> None:
    assert cluster.get(ObjectRef(CONFIG_MAP, namespace, "nothing")) is None
    assert cluster.get(ObjectRef(CONFIG_MAP, "contract-not-there", "nothing")) is None
    assert cluster.get(ObjectRef(NAMESPACE, "", "contract-not-there")) is None


def test_delete_what_is_not_there(cluster: Cluster, namespace: str) -> None:
    assert cluster.delete(ObjectRef(CONFIG_MAP, namespace, "nothing")) is False
    assert cluster.delete(ObjectRef(CONFIG_MAP, "contract-not-there", "nothing")) is False


def test_delete(cluster: Cluster, namespace: str) -> None:
    cluster.apply(bodies.config_map(namespace))
    ref = ObjectRef(CONFIG_MAP, namespace, "settings")
    assert cluster.delete(ref) is True
    assert cluster.get(ref) is None
    assert cluster.delete(ref) is False


def test_delete_spares_another_uid(cluster: Cluster, namespace: str) -> None:
    made = cluster.apply(bodies.config_map(namespace))
    ref = ObjectRef(CONFIG_MAP, namespace, "settings")
    assert cluster.delete(ref, uid="00000000-0000-4000-8000-000000000000") is False
    assert cluster.get(ref) == made
    assert cluster.delete(ref, uid=made["metadata"]["uid"]) is True
    assert cluster.get(ref) is None


def test_made_again_is_another_object(cluster: Cluster, namespace: str) -> None:
    first = cluster.apply(bodies.config_map(namespace, data={"size": "big"}))
    cluster.delete(ObjectRef(CONFIG_MAP, namespace, "settings"))
    second = cluster.apply(bodies.config_map(namespace))
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert second["data"] == {"colour": "blue"}


def test_delete_of_a_deployment_takes_its_pods(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, replicas=2))
    await_pods(backend, namespace, 2)
    assert backend.cluster.delete(ObjectRef(DEPLOYMENT, namespace, "host")) is True
    assert backend.cluster.get(ObjectRef(DEPLOYMENT, namespace, "host")) is None
    backend.eventually(lambda: not pods_of(backend, namespace, leaving=True), "no pods")
    backend.eventually(lambda: not backend.cluster.list(REPLICA_SET, namespace=namespace), "no ReplicaSets")


def test_deleted_pod_is_replaced(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, replicas=1))
    first = await_pods(backend, namespace, 1)[0]
    ref = ObjectRef(POD, namespace, first["metadata"]["name"])
    assert backend.cluster.delete(ref, uid=first["metadata"]["uid"]) is True
    second = backend.eventually(
        lambda: [pod for pod in pods_of(backend, namespace) if pod["metadata"]["uid"] != first["metadata"]["uid"]],
        "another pod",
    )[0]
    assert second["metadata"]["name"] != first["metadata"]["name"]
    await_pods(backend, namespace, 1)


def test_namespace_comes_with_an_account(backend: Backend, namespace: str) -> None:
    found = backend.cluster.get(ObjectRef(NAMESPACE, "", namespace))
    assert found is not None
    assert found["metadata"]["labels"]["kubernetes.io/metadata.name"] == namespace
    assert found["status"]["phase"] == "Active"
    assert [body["metadata"]["name"] for body in backend.cluster.list(SERVICE_ACCOUNT, namespace=namespace)] == [
        "default"
    ]


def test_delete_of_a_namespace_takes_everything(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.secret(namespace, stringData={"a": "b"}))
    backend.cluster.apply(bodies.claim(namespace))
    volumes = [{"name": "models", "persistentVolumeClaim": {"claimName": "weights"}}]
    backend.cluster.apply(bodies.deployment(namespace, spec=bodies.pod_spec(volumes=volumes)))
    await_pods(backend, namespace, 1)
    assert backend.cluster.delete(ObjectRef(NAMESPACE, "", namespace)) is True
    backend.eventually(
        lambda: backend.cluster.get(ObjectRef(NAMESPACE, "", namespace)) is None, "the namespace's end", 60
    )
    for kind in (SECRET, PERSISTENT_VOLUME_CLAIM, DEPLOYMENT, POD, SERVICE_ACCOUNT):
        assert backend.cluster.list(kind, namespace=namespace) == []
