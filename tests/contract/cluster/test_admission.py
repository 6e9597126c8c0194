"""What a namespace's quota, limits and security level do to what is put into it."""

from collections.abc import Callable

import pytest

from smarter.core.errors import PermanentError
from smarter.core.objects import DEPLOYMENT, NAMESPACE, RESOURCE_QUOTA, KubernetesObject, ObjectRef
from tests.contract.cluster import bodies
from tests.contract.cluster.conftest import Backend
from tests.contract.cluster.watching import await_condition, await_pods, pods_of, refusal

GPU_QUOTA = f"requests.{bodies.GPU}"
ENFORCE = "pod-security.kubernetes.io/enforce"
RESTRICTED = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}


def _await_quota(backend: Backend, namespace: str) -> None:
    """A quota counts from the moment when its status says so."""

    def counted() -> bool:
        found = backend.cluster.get(ObjectRef(RESOURCE_QUOTA, namespace, "account"))
        return found is not None and bool((found.get("status") or {}).get("hard"))

    backend.eventually(counted, "the quota is counted")


def _used(backend: Backend, namespace: str, name: str) -> str:
    found = backend.cluster.get(ObjectRef(RESOURCE_QUOTA, namespace, "account"))
    assert found is not None
    return str(((found.get("status") or {}).get("used") or {}).get(name))


def _refused_in_the_end(backend: Backend, body: Callable[[str], KubernetesObject]) -> str:
    """The quota controller may count once more from an older view after the first object was let in, and then lets in
    another. It catches up, so one of a few is refused; the words of that refusal."""
    names = iter(f"more-{number}" for number in range(100))

    def refused() -> str:
        try:
            backend.cluster.apply(body(next(names)))
        except PermanentError as error:
            assert error.reason == "QuotaExceeded", error.message
            return error.message
        return ""

    message: str = backend.eventually(refused, "the quota refuses")
    return message


def test_gpu_quota_shows_in_the_deployment(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.quota(namespace, **{GPU_QUOTA: 1}))
    _await_quota(backend, namespace)
    backend.cluster.apply(bodies.deployment(namespace, spec=bodies.pod_spec(gpus=2)))
    found = await_condition(backend, namespace, "ReplicaFailure", "True")
    assert bodies.condition_part(found, "ReplicaFailure", "reason") == "FailedCreate"
    assert "exceeded quota: account" in bodies.condition_part(found, "ReplicaFailure", "message")
    assert pods_of(backend, namespace) == []


def test_quota_leaves_what_fits(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.quota(namespace, pods=2))
    _await_quota(backend, namespace)
    backend.cluster.apply(bodies.deployment(namespace, replicas=3))
    await_condition(backend, namespace, "ReplicaFailure", "True")
    await_pods(backend, namespace, 2)
    backend.eventually(lambda: _used(backend, namespace, "pods") == "2", "two pods are counted")


def test_raised_quota_lets_the_rest_in(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.quota(namespace, pods=1))
    _await_quota(backend, namespace)
    backend.cluster.apply(bodies.deployment(namespace, replicas=2))
    await_condition(backend, namespace, "ReplicaFailure", "True")
    backend.cluster.apply(bodies.quota(namespace, pods=5))
    await_pods(backend, namespace, 2)


def test_storage_quota_refuses_a_claim(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.quota(namespace, **{"requests.storage": "15Gi"}))
    _await_quota(backend, namespace)
    backend.cluster.apply(bodies.claim(namespace))
    message = _refused_in_the_end(backend, lambda name: bodies.claim(namespace, name=name))
    assert "requests.storage" in message
    backend.eventually(lambda: _used(backend, namespace, "requests.storage") != "0", "the claim is counted")


def test_count_quota_refuses_objects(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.quota(namespace, **{"count/secrets": "1"}))
    _await_quota(backend, namespace)
    backend.cluster.apply(bodies.secret(namespace, stringData={"a": "b"}))
    _refused_in_the_end(backend, lambda name: bodies.secret(namespace, name=name, stringData={"a": "b"}))
    changed = backend.cluster.apply(bodies.secret(namespace, stringData={"a": "c"}))
    assert changed["metadata"]["name"] == "key"


def test_quota_is_refused_in_a_dry_run_too(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.quota(namespace, **{"count/deployments.apps": "0"}))
    _await_quota(backend, namespace)
    refusal(lambda: backend.cluster.apply(bodies.deployment(namespace), dry_run=True), "QuotaExceeded")


def test_quota_demands_requests(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.quota(namespace, **{"requests.cpu": "4"}))
    _await_quota(backend, namespace)
    backend.cluster.apply(bodies.deployment(namespace))
    found = await_condition(backend, namespace, "ReplicaFailure", "True")
    assert "must specify requests.cpu" in bodies.condition_part(found, "ReplicaFailure", "message")


def test_limit_range_fills_in(backend: Backend, namespace: str) -> None:
    limits = {"default": {"memory": "512Mi", "cpu": "1"}, "defaultRequest": {"memory": "256Mi", "cpu": "100m"}}
    backend.cluster.apply(bodies.limit_range(namespace, **limits))
    backend.cluster.apply(bodies.deployment(namespace))
    pod = await_pods(backend, namespace, 1)[0]
    resources = pod["spec"]["containers"][0]["resources"]
    assert resources == {"limits": {"cpu": "1", "memory": "512Mi"}, "requests": {"cpu": "100m", "memory": "256Mi"}}


def test_limit_range_refuses_too_much(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.limit_range(namespace, max={"memory": "1Gi"}))
    spec = bodies.pod_spec(bodies.container(resources={"limits": {"memory": "2Gi"}}))
    backend.cluster.apply(bodies.deployment(namespace, spec=spec))
    found = await_condition(backend, namespace, "ReplicaFailure", "True")
    assert "maximum memory usage per Container is 1Gi" in bodies.condition_part(found, "ReplicaFailure", "message")


def test_limits_become_requests(backend: Backend, namespace: str) -> None:
    spec = bodies.pod_spec(bodies.container(resources={"limits": {"memory": "64Mi"}}))
    backend.cluster.apply(bodies.deployment(namespace, spec=spec))
    pod = await_pods(backend, namespace, 1)[0]
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"memory": "64Mi"}


def _restrict(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.namespace(namespace, **{ENFORCE: "restricted"}))


def test_restricted_pod_passes(backend: Backend, namespace: str) -> None:
    _restrict(backend, namespace)
    spec = bodies.pod_spec(bodies.restricted_container(), securityContext=RESTRICTED)
    backend.cluster.apply(bodies.deployment(namespace, spec=spec))
    await_pods(backend, namespace, 1)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (bodies.pod_spec(), "allowPrivilegeEscalation != false"),
        (bodies.pod_spec(bodies.restricted_container()), "runAsNonRoot != true"),
        (bodies.pod_spec(bodies.restricted_container(), securityContext={"runAsNonRoot": True}), "seccompProfile"),
        (
            bodies.pod_spec(
                bodies.container(securityContext={"allowPrivilegeEscalation": False}), securityContext=RESTRICTED
            ),
            "unrestricted capabilities",
        ),
        (
            bodies.pod_spec(bodies.restricted_container(), securityContext={**RESTRICTED, "runAsUser": 0}),
            "runAsUser=0",
        ),
        (
            bodies.pod_spec(
                bodies.restricted_container(),
                securityContext=RESTRICTED,
                volumes=[{"name": "host", "hostPath": {"path": "/"}}],
            ),
            "restricted volume types",
        ),
        (
            bodies.pod_spec(bodies.restricted_container(), securityContext=RESTRICTED, hostNetwork=True),
            "host namespaces",
        ),
    ],
    ids=["bare", "root allowed", "no seccomp", "capabilities", "user 0", "host path", "host network"],
)
def test_pod_security_refuses(backend: Backend, namespace: str, spec: KubernetesObject, words: str) -> None:
    _restrict(backend, namespace)
    made = backend.cluster.apply(bodies.deployment(namespace, spec=spec))
    assert made["metadata"]["uid"], "the Deployment is taken; its pods are not"
    found = await_condition(backend, namespace, "ReplicaFailure", "True")
    message = bodies.condition_part(found, "ReplicaFailure", "message")
    assert 'violates PodSecurity "restricted:latest"' in message
    assert words in message
    assert pods_of(backend, namespace) == []


def test_init_containers_are_judged_too(backend: Backend, namespace: str) -> None:
    _restrict(backend, namespace)
    spec = bodies.pod_spec(
        bodies.restricted_container(), securityContext=RESTRICTED, initContainers=[bodies.container("fetch")]
    )
    backend.cluster.apply(bodies.deployment(namespace, spec=spec))
    found = await_condition(backend, namespace, "ReplicaFailure", "True")
    assert '"fetch"' in bodies.condition_part(found, "ReplicaFailure", "message")


def test_mended_deployment_gets_its_pods(backend: Backend, namespace: str) -> None:
    _restrict(backend, namespace)
    backend.cluster.apply(bodies.deployment(namespace))
    await_condition(backend, namespace, "ReplicaFailure", "True")
    spec = bodies.pod_spec(bodies.restricted_container(), securityContext=RESTRICTED)
    backend.cluster.apply(bodies.deployment(namespace, spec=spec))
    await_pods(backend, namespace, 1)
    backend.eventually(
        lambda: (
            not bodies.condition(backend.cluster.get(ObjectRef(DEPLOYMENT, namespace, "host")) or {}, "ReplicaFailure")
        ),
        "the failure is gone from the Deployment",
    )


def test_labels_of_a_namespace_change(backend: Backend, namespace: str) -> None:
    _restrict(backend, namespace)
    found = backend.cluster.get(ObjectRef(NAMESPACE, "", namespace))
    assert found is not None
    assert found["metadata"]["labels"] == {ENFORCE: "restricted", "kubernetes.io/metadata.name": namespace}
