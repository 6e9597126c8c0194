"""What a cluster refuses, by reason of the port's errors and with words that name the place."""

from collections.abc import Callable
from typing import Any

import pytest

from smarter.cluster.port import Cluster
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.objects import NAMESPACE, POD, KubernetesObject, ObjectKind, ObjectRef
from tests.contract.cluster import bodies
from tests.contract.cluster.conftest import Backend
from tests.contract.cluster.watching import refusal

UNKNOWN_KIND = ObjectKind("nothing.example.com/v1", "Thing", "things")
CANARY = "canary-4711"


def _deployment(**content: Any) -> Callable[[str], KubernetesObject]:
    return lambda namespace: bodies.deployment(namespace, **content)


def _with_container(**content: Any) -> Callable[[str], KubernetesObject]:
    return lambda namespace: bodies.deployment(namespace, spec=bodies.pod_spec(bodies.container(**content)))


def _with_pod(**content: Any) -> Callable[[str], KubernetesObject]:
    return lambda namespace: bodies.deployment(namespace, spec=bodies.pod_spec(**content))


def _mismatched(namespace: str) -> KubernetesObject:
    body = bodies.deployment(namespace)
    body["spec"]["selector"]["matchLabels"]["app"] = "another"
    return body


def _without_image(namespace: str) -> KubernetesObject:
    return bodies.deployment(namespace, spec={"containers": [{"name": "main"}]})


INVALID: dict[str, tuple[Callable[[str], KubernetesObject], str]] = {
    "unknown field at the top": (lambda ns: bodies.config_map(ns) | {"dta": {}}, "dta"),
    "unknown field of a spec": (_deployment(replcas=2), "replcas"),
    "unknown field of a container": (_with_container(comand=["x"]), "comand"),
    "unknown field of a probe": (_with_container(startupProbe={"httpGet": {"port": 1, "paht": "/"}}), "paht"),
    "number where text belongs": (lambda ns: bodies.config_map(ns, data={"a": 1}), "data"),
    "text where a number belongs": (_deployment(replicas="two"), "replicas"),
    "list where a map belongs": (_with_container(resources=[]), "resources"),
    "bad name": (lambda ns: bodies.config_map(ns, name="Bad_name"), "metadata.name"),
    "service name with a dot": (lambda ns: bodies.service(ns, name="a.b"), "metadata.name"),
    "bad label value": (lambda ns: bodies.config_map(ns, labels={"a": "b c"}), "metadata.labels"),
    "bad label key": (lambda ns: bodies.config_map(ns, labels={"a b": "c"}), "metadata.labels"),
    "bad key of data": (lambda ns: bodies.config_map(ns, data={"a/b": "c"}), "data"),
    "bad quantity": (_with_container(resources={"requests": {"memory": "lots"}}), "quantities"),
    "bad size of a claim": (lambda ns: bodies.claim(ns, size="plenty"), "quantities"),
    "claim of nothing": (lambda ns: bodies.claim(ns, size="0"), "storage"),
    "claim without access modes": (lambda ns: bodies.claim(ns, accessModes=[]), "accessModes"),
    "claim with a made-up access mode": (lambda ns: bodies.claim(ns, accessModes=["ReadSometimes"]), "accessModes"),
    "selector that misses the template": (_mismatched, "selector"),
    "container without image": (_without_image, "image"),
    "no containers": (lambda ns: bodies.deployment(ns, spec={"containers": []}), "containers"),
    "negative replicas": (_deployment(replicas=-1), "replicas"),
    "unknown strategy": (_deployment(strategy={"type": "Sometimes"}), "strategy"),
    "rolling update that cannot move": (
        _deployment(strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
        "maxUnavailable",
    ),
    "recreate with rolling figures": (
        _deployment(strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
        "rollingUpdate",
    ),
    "mount of a volume that is not there": (
        _with_container(volumeMounts=[{"name": "models", "mountPath": "/models"}]),
        "volumeMounts",
    ),
    "port out of range": (_with_container(ports=[{"containerPort": 70000}]), "containerPort"),
    "probe without a way to ask": (_with_container(readinessProbe={"periodSeconds": 5}), "readinessProbe"),
    "request above limit": (
        _with_container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
        "requests",
    ),
    "half a GPU": (_with_container(resources={"limits": {bodies.GPU: "500m"}}), bodies.GPU),
    "GPU request without limit": (_with_container(resources={"requests": {bodies.GPU: 1}}), "limits"),
    "GPU request unlike its limit": (
        _with_container(resources={"requests": {bodies.GPU: 1}, "limits": {bodies.GPU: 2}}),
        "requests",
    ),
    "restart policy of a Deployment": (_with_pod(restartPolicy="Never"), "restartPolicy"),
    "made-up pull policy": (_with_container(imagePullPolicy="Maybe"), "imagePullPolicy"),
    "variable with value and source": (
        _with_container(env=[{"name": "A", "value": "1", "valueFrom": {"secretKeyRef": {"name": "k", "key": "a"}}}]),
        "valueFrom",
    ),
    "service without ports": (lambda ns: bodies.service(ns, ports=[]), "ports"),
    "service with two nameless ports": (lambda ns: bodies.service(ns, ports=[{"port": 80}, {"port": 81}]), "name"),
    "ingress with a made-up path type": (lambda ns: bodies.ingress(ns, pathType="Regex"), "pathType"),
    "ingress with a relative path": (lambda ns: bodies.ingress(ns, path="v1"), "path"),
    "certificate without issuer": (lambda ns: bodies.certificate(ns, issuerRef=None), "issuerRef"),
    "certificate with an unknown field": (lambda ns: bodies.certificate(ns, dnsName="a.example.com"), "dnsName"),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid(cluster: Cluster, namespace: str, case: str) -> None:
    build, word = INVALID[case]
    body = build(namespace)
    assert word in refusal(lambda: cluster.apply(body), "Invalid")


def test_all_faults_are_named(cluster: Cluster, namespace: str) -> None:
    container = bodies.container(imagePullPolicy="Maybe", ports=[{"containerPort": 70000}])
    body = bodies.deployment(namespace, spec=bodies.pod_spec(container), replicas=-1)
    message = refusal(lambda: cluster.apply(body), "Invalid")
    assert all(word in message for word in ("imagePullPolicy", "containerPort", "replicas"))


def test_messages_are_short(cluster: Cluster, namespace: str) -> None:
    body = bodies.config_map(namespace, labels={f"label-{number}": "!" * 60 for number in range(60)})
    assert len(refusal(lambda: cluster.apply(body), "Invalid")) <= 1024


@pytest.mark.parametrize(
    "content",
    [
        {"data": {"token": CANARY}},
        {"stringData": {"token": 47114711}},
        {"data": {f"bad key {CANARY}": "YQ=="}},
        {"stringData": {"token": CANARY}, "typ": CANARY},
    ],
    ids=["no base64", "number", "bad key", "unknown field"],
)
def test_refusal_of_a_secret_does_not_quote_it(cluster: Cluster, namespace: str, content: dict[str, Any]) -> None:
    message = refusal(lambda: cluster.apply(bodies.secret(namespace, **content)), "Invalid")
    assert CANARY not in message
    assert "4711" not in message


def test_missing_namespace(cluster: Cluster) -> None:
    refusal(lambda: cluster.apply(bodies.config_map("contract-not-there")), "NamespaceMissing")


def test_namespaced_object_needs_a_namespace(cluster: Cluster) -> None:
    body = bodies.config_map("")
    del body["metadata"]["namespace"]
    refusal(lambda: cluster.apply(body), "Invalid")


def test_unknown_kind(cluster: Cluster, namespace: str) -> None:
    body = {"apiVersion": "nothing.example.com/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": namespace}}
    refusal(lambda: cluster.apply(body), "KindMissing")
    refusal(lambda: cluster.get(ObjectRef(UNKNOWN_KIND, namespace, "a")), "KindMissing")
    refusal(lambda: cluster.list(UNKNOWN_KIND), "KindMissing")
    refusal(lambda: cluster.delete(ObjectRef(UNKNOWN_KIND, namespace, "a")), "KindMissing")


@pytest.mark.parametrize("name", ["..", "a/b", "a?b", "", "A" * 300])
def test_names_never_leave_their_place(cluster: Cluster, namespace: str, name: str) -> None:
    refusal(lambda: cluster.apply(bodies.config_map(namespace, name=name)), "Invalid")


def test_selector_of_a_deployment_never_changes(cluster: Cluster, namespace: str) -> None:
    body = bodies.deployment(namespace, replicas=0)
    cluster.apply(body)
    body["spec"]["selector"]["matchLabels"]["track"] = "b"
    body["spec"]["template"]["metadata"]["labels"]["track"] = "b"
    assert "selector" in refusal(lambda: cluster.apply(body), "Invalid")


def test_template_of_a_job_never_changes(cluster: Cluster, namespace: str) -> None:
    cluster.apply(bodies.job(namespace, suspend=True))
    body = bodies.job(namespace, suspend=True)
    body["spec"]["template"]["spec"]["containers"][0]["image"] = "example.com/engine:2"
    assert "template" in refusal(lambda: cluster.apply(body), "Invalid")


def test_type_of_a_secret_never_changes(cluster: Cluster, namespace: str) -> None:
    cluster.apply(bodies.secret(namespace, stringData={"a": "b"}))
    refusal(lambda: cluster.apply(bodies.secret(namespace, stringData={"a": "b"}, type="example.com/other")), "Invalid")


def test_refused_apply_leaves_the_object_alone(backend: Backend, namespace: str) -> None:
    before = backend.cluster.apply(bodies.config_map(namespace))
    refusal(lambda: backend.cluster.apply(bodies.config_map(namespace, labels={"a": "b c"})), "Invalid")
    ref = ObjectRef(ObjectKind("v1", "ConfigMap", "configmaps"), namespace, "settings")
    assert backend.cluster.get(ref) == before


def test_namespace_that_is_leaving_takes_nothing_new(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, replicas=1))
    backend.eventually(lambda: backend.cluster.list(POD, namespace=namespace), "a pod")
    backend.cluster.delete(ObjectRef(NAMESPACE, "", namespace))
    try:
        backend.cluster.apply(bodies.config_map(namespace, name="late"))
    except (TemporaryError, PermanentError) as refused:
        assert refused.reason in ("Conflict", "NamespaceMissing")
    else:
        raise AssertionError("not refused")
