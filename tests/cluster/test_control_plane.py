"""The test control plane does what its documentation says; without that, no test built on it means anything."""

import copy
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from tests.cluster.harness import ControlPlane, doom, wait_for

pytestmark = pytest.mark.control_plane

IMAGE = "registry.example/engine:1"
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.fixture(scope="module", autouse=True)
def _only_where_fates_work(control_plane: ControlPlane) -> None:
    if not control_plane.has_fates():
        pytest.skip("the cluster of SMARTER_TEST_KUBECONFIG was not made by scripts/control_plane")


@pytest.fixture(scope="module")
def shared_namespace(control_plane: ControlPlane) -> Iterator[str]:
    """For tests that only add objects of their own; a namespace each would cost more than it separates."""
    with control_plane.namespace() as name:
        yield name


def deployment(name: str, namespace: str, **pod: Any) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "engine", "image": IMAGE, "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container], **pod}},
        },
    }


def gpu_deployment(name: str, namespace: str, gpus: int, tolerant: bool = True) -> dict[str, Any]:
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    document = deployment(name, namespace, tolerations=[toleration] if tolerant else [])
    container = document["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
    return document


def claim(name: str, namespace: str, mode: str, storage_class: str | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"accessModes": [mode], "resources": {"requests": {"storage": "10Gi"}}}
    if storage_class:
        spec["storageClassName"] = storage_class
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def certificate(name: str, namespace: str, **labels: str) -> dict[str, Any]:
    spec = {
        "secretName": f"{name}-tls",
        "dnsNames": ["a.example"],
        "issuerRef": {"name": "any", "kind": "ClusterIssuer"},
    }
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": metadata, "spec": spec}


def pods(plane: ControlPlane, namespace: str, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = plane.get("pods", "-n", namespace, "-l", f"app={name}")
    return found


def pod_that(
    plane: ControlPlane, namespace: str, name: str, check: Callable[[dict[str, Any]], bool], seconds: float = 20
) -> dict[str, Any]:
    def first() -> dict[str, Any] | None:
        return next((pod for pod in pods(plane, namespace, name) if check(pod)), None)

    found: dict[str, Any] = wait_for(first, f"a pod of {name} in the expected state", seconds)
    return found


def condition(thing: dict[str, Any], kind: str) -> dict[str, Any]:
    return next((each for each in thing.get("status", {}).get("conditions", []) if each["type"] == kind), {})


def is_ready(thing: dict[str, Any]) -> bool:
    return condition(thing, "Ready").get("status") == "True"


def container_status(pod: dict[str, Any]) -> dict[str, Any]:
    statuses = pod["status"].get("containerStatuses", [])
    return statuses[0] if statuses else {"state": {}, "restartCount": 0}


def waits_for(reason: str) -> Callable[[dict[str, Any]], bool]:
    return lambda pod: container_status(pod)["state"].get("waiting", {}).get("reason") == reason


def seconds_between(first: str, second: str) -> float:
    return (datetime.fromisoformat(second) - datetime.fromisoformat(first)).total_seconds()


def test_a_normal_pod_runs_its_init_containers_in_turn_and_becomes_ready(
    control_plane: ControlPlane, shared_namespace: str
) -> None:
    inits = [{"name": "fetch", "image": IMAGE}, {"name": "check", "image": IMAGE}]
    control_plane.apply(deployment("normal", shared_namespace, initContainers=inits))
    pod = pod_that(control_plane, shared_namespace, "normal", is_ready)
    ends = [status["state"]["terminated"] for status in pod["status"]["initContainerStatuses"]]
    assert [end["reason"] for end in ends] == ["Completed", "Completed"]
    assert seconds_between(ends[0]["finishedAt"], ends[1]["startedAt"]) >= 0
    assert container_status(pod)["ready"] and "running" in container_status(pod)["state"]
    assert pod["spec"]["nodeName"].startswith("cpu-")


def test_a_deleted_deployment_leaves_no_pod(control_plane: ControlPlane, shared_namespace: str) -> None:
    control_plane.apply(deployment("gone", shared_namespace))
    pod_that(control_plane, shared_namespace, "gone", is_ready)
    control_plane.kubectl("delete", "deployment", "gone", "-n", shared_namespace)
    wait_for(lambda: not pods(control_plane, shared_namespace, "gone"), "all pods gone")


def test_slow_start_runs_before_it_is_ready(control_plane: ControlPlane, shared_namespace: str) -> None:
    control_plane.apply(doom(deployment("slow", shared_namespace), "slow-start", delay="3s"))
    pod = pod_that(control_plane, shared_namespace, "slow", lambda pod: "running" in container_status(pod)["state"])
    started = container_status(pod)["state"]["running"]["startedAt"]
    ready = pod_that(control_plane, shared_namespace, "slow", is_ready)
    assert seconds_between(started, condition(ready, "Ready")["lastTransitionTime"]) >= 2


def test_download_progress_keeps_the_init_container_running(control_plane: ControlPlane, shared_namespace: str) -> None:
    inits = [{"name": "fetch", "image": IMAGE}]
    control_plane.apply(
        doom(deployment("fetching", shared_namespace, initContainers=inits), "download-progress", delay="3s")
    )

    def is_fetching(pod: dict[str, Any]) -> bool:
        return any("running" in status["state"] for status in pod["status"].get("initContainerStatuses", []))

    pod = pod_that(control_plane, shared_namespace, "fetching", is_fetching)
    assert pod["status"]["phase"] == "Pending"
    assert waits_for("PodInitializing")(pod)
    ready = pod_that(control_plane, shared_namespace, "fetching", is_ready)
    end = ready["status"]["initContainerStatuses"][0]["state"]["terminated"]
    assert seconds_between(end["startedAt"], end["finishedAt"]) >= 2


def test_image_pull_failure_backs_off(control_plane: ControlPlane, shared_namespace: str) -> None:
    control_plane.apply(doom(deployment("no-image", shared_namespace), "image-pull-failure"))
    pod = pod_that(control_plane, shared_namespace, "no-image", waits_for("ImagePullBackOff"))
    assert IMAGE in container_status(pod)["state"]["waiting"]["message"]
    assert pod["status"]["phase"] == "Pending"


@pytest.mark.parametrize(("fate", "reason", "exit_code"), [("crash-loop", "Error", 1), ("oom-kill", "OOMKilled", 137)])
def test_crashes_back_off_and_count(
    control_plane: ControlPlane, shared_namespace: str, fate: str, reason: str, exit_code: int
) -> None:
    control_plane.apply(doom(deployment(fate, shared_namespace), fate))
    first = pod_that(control_plane, shared_namespace, fate, waits_for("CrashLoopBackOff"))
    last = container_status(first)["lastState"]["terminated"]
    assert (last["reason"], last["exitCode"]) == (reason, exit_code)
    count = container_status(first)["restartCount"]
    assert count >= 1
    later = pod_that(control_plane, shared_namespace, fate, lambda pod: container_status(pod)["restartCount"] > count)
    assert later["metadata"]["uid"] == first["metadata"]["uid"]
    assert not is_ready(later)


def test_failing_probe_runs_and_is_never_ready(control_plane: ControlPlane, shared_namespace: str) -> None:
    """Several pods, because kwok would choose by chance if a general stage claimed them too."""
    document = doom(deployment("sick", shared_namespace), "failing-probe")
    document["spec"]["replicas"] = 8
    control_plane.apply(document)

    def all_running() -> list[dict[str, Any]]:
        found = pods(control_plane, shared_namespace, "sick")
        running = [pod for pod in found if pod["status"]["phase"] == "Running"]
        return running if len(running) == 8 else []

    for pod in wait_for(all_running, "eight pods are running"):
        assert "running" in container_status(pod)["state"]
        assert (condition(pod, "Ready")["status"], condition(pod, "Ready")["reason"]) == ("False", "ContainersNotReady")
    status = control_plane.get("deployment", "sick", "-n", shared_namespace)["status"]
    assert status.get("availableReplicas", 0) == 0


def test_unschedulable_is_refused_by_the_real_scheduler(control_plane: ControlPlane, shared_namespace: str) -> None:
    control_plane.apply(doom(deployment("nowhere", shared_namespace), "unschedulable"))

    def is_refused(pod: dict[str, Any]) -> bool:
        return condition(pod, "PodScheduled").get("reason") == "Unschedulable"

    pod = pod_that(control_plane, shared_namespace, "nowhere", is_refused)
    assert "didn't match Pod's node affinity/selector" in condition(pod, "PodScheduled")["message"]


def test_evicted_pods_fail_and_are_replaced(control_plane: ControlPlane, shared_namespace: str) -> None:
    control_plane.apply(doom(deployment("evicted", shared_namespace), "evicted", delay="2s"))
    pod = pod_that(control_plane, shared_namespace, "evicted", lambda pod: pod["status"].get("reason") == "Evicted")
    assert pod["status"]["phase"] == "Failed"
    wait_for(lambda: len(pods(control_plane, shared_namespace, "evicted")) >= 2, "a pod that replaces the evicted one")
    control_plane.kubectl("delete", "deployment", "evicted", "-n", shared_namespace)


def test_held_pods_are_left_alone(control_plane: ControlPlane, shared_namespace: str) -> None:
    control_plane.apply(doom(deployment("held", shared_namespace), "held"), deployment("free", shared_namespace))
    pod_that(control_plane, shared_namespace, "free", is_ready)
    pod = pod_that(control_plane, shared_namespace, "held", lambda pod: "nodeName" in pod["spec"])
    assert "containerStatuses" not in pod["status"]


def test_a_job_completes_and_its_pod_goes_with_it(control_plane: ControlPlane, shared_namespace: str) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "work", "image": IMAGE}]}}
    metadata = {"name": "work", "namespace": shared_namespace}
    control_plane.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}})
    wait_for(
        lambda: condition(control_plane.get("job", "work", "-n", shared_namespace), "Complete").get("status") == "True",
        "the Job is complete",
    )
    control_plane.kubectl("delete", "job", "work", "-n", shared_namespace)
    wait_for(
        lambda: not control_plane.get("pods", "-n", shared_namespace, "-l", "batch.kubernetes.io/job-name=work"),
        "the pod of the Job is gone",
    )


def test_certificates_become_ready_with_their_secret(control_plane: ControlPlane, shared_namespace: str) -> None:
    control_plane.apply(certificate("good", shared_namespace))
    wait_for(lambda: is_ready(control_plane.get("certificate", "good", "-n", shared_namespace)), "Ready")
    secret = control_plane.get("secret", "good-tls", "-n", shared_namespace)
    assert secret["type"] == "kubernetes.io/tls"


def test_a_pending_certificate_stays_so(control_plane: ControlPlane, shared_namespace: str) -> None:
    pending = certificate("pending", shared_namespace, **{"smarter.sh/test-fate": "certificate-pending"})
    control_plane.apply(pending, certificate("other", shared_namespace))
    wait_for(lambda: is_ready(control_plane.get("certificate", "other", "-n", shared_namespace)), "the other is Ready")
    state = condition(control_plane.get("certificate", "pending", "-n", shared_namespace), "Ready")
    assert (state["status"], state["reason"]) == ("False", "DoesNotExist")


def test_eight_gpus_are_found_on_one_node_only(control_plane: ControlPlane, kube_namespace: str) -> None:
    control_plane.apply(gpu_deployment("eight", kube_namespace, 8))
    pod = pod_that(control_plane, kube_namespace, "eight", is_ready)
    node = control_plane.get("node", pod["spec"]["nodeName"])
    assert node["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert node["metadata"]["labels"]["smarter.sh/compute"] == "gpu_h100_8x"
    control_plane.apply(gpu_deployment("too-many", kube_namespace, 9))
    message = refusal(control_plane, kube_namespace, "too-many")
    assert "Insufficient nvidia.com/gpu" in message


def test_the_gpu_taint_keeps_others_away(control_plane: ControlPlane, kube_namespace: str) -> None:
    control_plane.apply(gpu_deployment("intolerant", kube_namespace, 1, tolerant=False))
    assert "untolerated taint" in refusal(control_plane, kube_namespace, "intolerant")


def refusal(plane: ControlPlane, namespace: str, name: str) -> str:
    pod = pod_that(plane, namespace, name, lambda pod: condition(pod, "PodScheduled").get("reason") == "Unschedulable")
    return str(condition(pod, "PodScheduled")["message"])


def test_every_promised_node_is_there(control_plane: ControlPlane) -> None:
    found: dict[str, int] = {}
    for node in control_plane.get("nodes"):
        kind = node["metadata"]["labels"].get("smarter.sh/compute", "cpu")
        found[kind] = found.get(kind, 0) + 1
        assert is_ready(node)
        assert node["status"]["allocatable"]["pods"] == "500"
    expected = {"cpu": 2, "gpu_l4_1x": 2, "gpu_l4_4x": 1, "gpu_h100_8x": 1}
    assert {kind: found.get(kind, 0) >= count for kind, count in expected.items()} == dict.fromkeys(expected, True)


def test_volumes_are_provisioned_and_removed(control_plane: ControlPlane, kube_namespace: str) -> None:
    control_plane.apply(
        claim("plain", kube_namespace, "ReadWriteOnce"),
        claim("shared", kube_namespace, "ReadWriteMany", "kwok-volume-rwx"),
        claim("refused", kube_namespace, "ReadWriteMany"),
    )

    def phases() -> dict[str, str]:
        return {
            each["metadata"]["name"]: each["status"]["phase"] for each in control_plane.get("pvc", "-n", kube_namespace)
        }

    wait_for(lambda: phases() == {"plain": "Bound", "shared": "Bound", "refused": "Pending"}, "two claims are bound")
    volume = control_plane.get("pvc", "plain", "-n", kube_namespace)["spec"]["volumeName"]
    control_plane.kubectl("delete", "pvc", "plain", "-n", kube_namespace)
    wait_for(lambda: control_plane.try_kubectl("get", "pv", volume).returncode != 0, "the volume is gone")


@pytest.mark.parametrize(
    ("path", "make", "field"),
    [
        ("/apis/apps/v1/namespaces/{}/deployments", deployment, "replicaz"),
        ("/apis/cert-manager.io/v1/namespaces/{}/certificates", certificate, "secretNam"),
    ],
)
def test_the_server_refuses_unknown_fields(
    control_plane: ControlPlane, shared_namespace: str, path: str, make: Callable[..., dict[str, Any]], field: str
) -> None:
    """As raw requests, because kubectl would find the fault before the server sees it."""
    address = path.format(shared_namespace) + "?fieldValidation=Strict"
    document = make("strict", shared_namespace)
    control_plane.kubectl("create", "--raw", address, "-f", "-", stdin=json.dumps(document))
    wrong = make("wrong", shared_namespace)
    wrong["spec"][field] = 2
    with pytest.raises(AssertionError, match=f'unknown field "spec.{field}"'):
        control_plane.kubectl("create", "--raw", address, "-f", "-", stdin=json.dumps(wrong))


def test_pod_security_is_enforced(control_plane: ControlPlane) -> None:
    with control_plane.namespace(**{"pod-security.kubernetes.io/enforce": "restricted"}) as namespace:
        lax = pod_document("lax", namespace)
        with pytest.raises(AssertionError, match="violates PodSecurity"):
            control_plane.apply(lax)
        strict = copy.deepcopy(lax)
        strict["spec"]["containers"][0]["securityContext"] = RESTRICTED
        control_plane.apply(strict)


def pod_document(name: str, namespace: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    container = {"name": "engine", "image": IMAGE}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def test_quotas_and_limit_ranges_are_enforced(control_plane: ControlPlane, kube_namespace: str) -> None:
    limit = {"type": "Container", "default": {"memory": "128Mi"}, "max": {"memory": "1Gi"}}
    metadata = {"name": "limits", "namespace": kube_namespace}
    control_plane.apply(
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": [limit]}},
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {"count/secrets": "1"}}},
    )
    control_plane.apply(pod_document("small", kube_namespace))
    small = control_plane.get("pod", "small", "-n", kube_namespace)
    assert small["spec"]["containers"][0]["resources"]["limits"]["memory"] == "128Mi"
    large = pod_document("large", kube_namespace)
    large["spec"]["containers"][0]["resources"] = {"limits": {"memory": "2Gi"}}
    with pytest.raises(AssertionError, match="maximum memory usage per Container is 1Gi"):
        control_plane.apply(large)

    def has_counted() -> bool:
        status = control_plane.get("resourcequota", "limits", "-n", kube_namespace).get("status", {})
        return "used" in status

    wait_for(has_counted, "the quota is counted")
    control_plane.kubectl("create", "secret", "generic", "first", "-n", kube_namespace)
    with pytest.raises(AssertionError, match="exceeded quota: limits"):
        control_plane.kubectl("create", "secret", "generic", "second", "-n", kube_namespace)


def test_logs_can_be_read(control_plane: ControlPlane, shared_namespace: str) -> None:
    control_plane.apply(deployment("talks", shared_namespace))
    pod = pod_that(control_plane, shared_namespace, "talks", is_ready)["metadata"]["name"]
    lines = control_plane.kubectl("logs", pod, "-n", shared_namespace).splitlines()
    assert len(lines) >= 3
    assert control_plane.kubectl("logs", pod, "-n", shared_namespace, "--tail=1").splitlines() == lines[-1:]


def test_service_accounts_have_tokens_and_no_rights(control_plane: ControlPlane, kube_namespace: str) -> None:
    token = control_plane.kubectl("create", "token", "default", "-n", kube_namespace).strip()
    answer = control_plane.try_kubectl("--token", token, "auth", "can-i", "list", "pods", "-n", kube_namespace)
    assert answer.stdout.strip() == "no"
    assert control_plane.kubectl("auth", "can-i", "list", "pods", "-n", kube_namespace).strip() == "yes"
