"""Deployments and Jobs: pods come, change, move and end as the object says."""

from typing import Any

import pytest

from smarter.core.objects import DEPLOYMENT, JOB, KubernetesObject, ObjectKind, ObjectRef
from tests.contract.cluster import bodies
from tests.contract.cluster.conftest import Backend
from tests.contract.cluster.watching import await_condition, await_pod, await_pods, pods_of

REPLICA_SET = ObjectKind("apps/v1", "ReplicaSet", "replicasets")


def _with_image(namespace: str, image: str, **content: Any) -> KubernetesObject:
    spec = bodies.pod_spec(bodies.container(image=image))
    return bodies.deployment(namespace, spec=spec, **content)


def _image_of(pod: KubernetesObject) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def _live(backend: Backend, namespace: str) -> KubernetesObject:
    found = backend.cluster.get(ObjectRef(DEPLOYMENT, namespace, "host"))
    assert found is not None
    return found


def test_pods_become_ready(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, replicas=2))
    pods = await_pods(backend, namespace, 2)
    for pod in pods:
        assert pod["status"]["phase"] == "Running"
        assert pod["spec"]["nodeName"]
        assert pod["status"]["podIP"]
        assert pod["status"]["containerStatuses"][0]["ready"] is True
        assert pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
        assert all(bodies.condition(pod, kind) == "True" for kind in ("PodScheduled", "Initialized", "ContainersReady"))


def test_status_of_a_deployment(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, replicas=2))
    await_pods(backend, namespace, 2)

    def complete() -> KubernetesObject | None:
        found = _live(backend, namespace)
        return found if found.get("status", {}).get("availableReplicas") == 2 else None

    status = backend.eventually(complete, "two available replicas")["status"]
    assert {name: count for name, count in status.items() if isinstance(count, int) and count} == {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
    }

    def finished() -> KubernetesObject | None:
        found = _live(backend, namespace)
        reason = bodies.condition_part(found, "Progressing", "reason")
        return found if reason == "NewReplicaSetAvailable" else None

    found = backend.eventually(finished, "the rollout is complete")
    assert bodies.condition(found, "Available") == "True"
    assert bodies.condition_part(found, "Available", "reason") == "MinimumReplicasAvailable"


def test_pods_belong_to_the_deployment(backend: Backend, namespace: str) -> None:
    made = backend.cluster.apply(bodies.deployment(namespace))
    pod = await_pods(backend, namespace, 1)[0]
    sets = backend.cluster.list(REPLICA_SET, namespace=namespace)
    assert [body["metadata"]["ownerReferences"][0]["uid"] for body in sets] == [made["metadata"]["uid"]]
    owner = pod["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("ReplicaSet", sets[0]["metadata"]["uid"], True)
    assert pod["metadata"]["labels"]["pod-template-hash"] == sets[0]["metadata"]["labels"]["pod-template-hash"]


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (2, 0), (0, 2)])
def test_scale(backend: Backend, namespace: str, before: int, after: int) -> None:
    backend.cluster.apply(bodies.deployment(namespace, replicas=before))
    old = {pod["metadata"]["uid"] for pod in await_pods(backend, namespace, before)} if before else set()
    backend.cluster.apply(bodies.deployment(namespace, replicas=after))
    if after:
        new = {pod["metadata"]["uid"] for pod in await_pods(backend, namespace, after)}
        assert len(old & new) == min(before, after)
    else:
        backend.eventually(lambda: not pods_of(backend, namespace, leaving=True), "no pods")


def test_pods_keep_on_an_equal_apply(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, replicas=2))
    before = {pod["metadata"]["uid"] for pod in await_pods(backend, namespace, 2)}
    live = backend.eventually(
        lambda: _live(backend, namespace) if _live(backend, namespace)["status"].get("readyReplicas") == 2 else None,
        "two ready replicas",
    )
    again = backend.cluster.apply(bodies.deployment(namespace, replicas=2))
    assert again["metadata"]["generation"] == live["metadata"]["generation"]
    for _ in range(5):
        backend.pause()
    assert {pod["metadata"]["uid"] for pod in pods_of(backend, namespace)} == before


def test_rolling_update_replaces_every_pod(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(_with_image(namespace, "example.com/engine:1", replicas=3))
    await_pods(backend, namespace, 3)
    changed = backend.cluster.apply(_with_image(namespace, "example.com/engine:2", replicas=3))
    assert changed["metadata"]["generation"] == 2

    def rolled() -> bool:
        pods = pods_of(backend, namespace, leaving=True)
        return len(pods) == 3 and all(_image_of(pod) == "example.com/engine:2" for pod in pods)

    fewest = 3

    def watched() -> bool:
        nonlocal fewest
        running = [pod for pod in pods_of(backend, namespace) if bodies.condition(pod, "Ready") == "True"]
        fewest = min(fewest, len(running))
        return rolled()

    backend.eventually(watched, "three pods of the new image and no other")
    assert fewest >= 2, "a rolling update keeps three quarters"
    assert len(backend.cluster.list(REPLICA_SET, namespace=namespace)) == 2


def test_recreate_ends_the_old_before_the_new(backend: Backend, namespace: str) -> None:
    strategy = {"type": "Recreate"}
    backend.cluster.apply(_with_image(namespace, "example.com/engine:1", strategy=strategy))
    old = await_pods(backend, namespace, 1)[0]
    backend.cluster.apply(_with_image(namespace, "example.com/engine:2", strategy=strategy))
    together = False

    def replaced() -> bool:
        nonlocal together
        pods = pods_of(backend, namespace, leaving=True)
        uids = {pod["metadata"]["uid"] for pod in pods}
        together = together or (old["metadata"]["uid"] in uids and len(uids) > 1)
        new = [pod for pod in pods if _image_of(pod) == "example.com/engine:2"]
        return len(new) == 1 and bodies.condition(new[0], "Ready") == "True"

    backend.eventually(replaced, "the new pod is ready")
    assert not together


def test_rolling_update_without_surge_ends_one_first(backend: Backend, namespace: str) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    backend.cluster.apply(_with_image(namespace, "example.com/engine:1", replicas=2, strategy=strategy))
    await_pods(backend, namespace, 2)
    backend.cluster.apply(_with_image(namespace, "example.com/engine:2", replicas=2, strategy=strategy))
    most = 0

    def rolled() -> bool:
        nonlocal most
        pods = pods_of(backend, namespace)
        most = max(most, len(pods))
        return len(pods) == 2 and all(
            _image_of(pod) == "example.com/engine:2" and bodies.condition(pod, "Ready") == "True" for pod in pods
        )

    backend.eventually(rolled, "two ready pods of the new image")
    assert most == 2


def test_broken_update_keeps_the_old_pod(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace))
    old = await_pods(backend, namespace, 1)[0]
    backend.cluster.apply(bodies.deployment(namespace, fate="image-pull-failure"))
    await_pod(backend, namespace, "a pod that cannot pull", lambda pod: "Pull" in bodies.waiting_reason(pod))
    assert old["metadata"]["uid"] in {pod["metadata"]["uid"] for pod in pods_of(backend, namespace)}
    backend.cluster.apply(bodies.deployment(namespace))
    assert await_pods(backend, namespace, 1)[0]["metadata"]["uid"] == old["metadata"]["uid"]


def test_paused_deployment_waits(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(_with_image(namespace, "example.com/engine:1"))
    before = await_pods(backend, namespace, 1)[0]["metadata"]["uid"]
    backend.cluster.apply(_with_image(namespace, "example.com/engine:2", paused=True))
    for _ in range(5):
        backend.pause()
    assert [pod["metadata"]["uid"] for pod in pods_of(backend, namespace)] == [before]
    backend.cluster.apply(_with_image(namespace, "example.com/engine:2"))
    backend.eventually(
        lambda: [_image_of(pod) for pod in pods_of(backend, namespace)] == ["example.com/engine:2"], "the new image"
    )


def test_progress_deadline(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, fate="failing-probe", progressDeadlineSeconds=3))
    found = await_condition(backend, namespace, "Progressing", "False")
    assert bodies.condition_part(found, "Progressing", "reason") == "ProgressDeadlineExceeded"
    assert bodies.condition(found, "Available") == "False"


def test_init_containers_end_before_the_others_start(backend: Backend, namespace: str) -> None:
    spec = bodies.pod_spec(initContainers=[bodies.container("fetch"), bodies.container("check")])
    backend.cluster.apply(bodies.deployment(namespace, spec=spec))
    pod = await_pods(backend, namespace, 1)[0]
    states = pod["status"]["initContainerStatuses"]
    assert [state["name"] for state in states] == ["fetch", "check"]
    assert all(state["state"]["terminated"]["exitCode"] == 0 for state in states)


def test_job_runs_to_completion(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.job(namespace))

    def complete() -> KubernetesObject | None:
        job = backend.cluster.get(ObjectRef(JOB, namespace, "fetch"))
        return job if job is not None and bodies.condition(job, "Complete") == "True" else None

    job = backend.eventually(complete, "the Job is complete")
    assert job["status"]["succeeded"] == 1
    assert job["status"]["completionTime"]
    pods = pods_of(backend, namespace, "fetch")
    assert [pod["status"]["phase"] for pod in pods] == ["Succeeded"]


def test_delete_of_a_job_takes_its_pods(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.job(namespace))
    backend.eventually(lambda: pods_of(backend, namespace, "fetch"), "a pod")
    backend.cluster.delete(ObjectRef(JOB, namespace, "fetch"))
    backend.eventually(lambda: not pods_of(backend, namespace, "fetch", leaving=True), "no pods")
