"""Pods that fare ill, by the label smarter.sh/test-fate, and what their containers' logs say."""

from typing import Any

import pytest

from smarter.core.errors import PermanentError
from smarter.core.objects import EVENT, KubernetesObject
from tests.contract.cluster import bodies
from tests.contract.cluster.conftest import Backend
from tests.contract.cluster.watching import await_pod, await_pods, pods_of, ready_pods, refusal

INIT = [bodies.container("fetch", image="example.com/fetch:1")]


def _state(pod: KubernetesObject) -> dict[str, Any]:
    states = pod["status"].get("containerStatuses") or [{}]
    found: dict[str, Any] = states[0]
    return found


def _restarts(pod: KubernetesObject) -> int:
    return int(_state(pod).get("restartCount", 0))


def test_slow_start(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, fate="slow-start", delay="2s"))
    pod = await_pod(backend, namespace, "a running pod", lambda pod: pod["status"].get("phase") == "Running")
    if bodies.condition(pod, "Ready") != "True":
        assert _state(pod)["started"] is False
        assert "running" in _state(pod)["state"]
    await_pods(backend, namespace, 1)


def test_slow_start_is_not_ready_before_its_time(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, fate="slow-start", delay="1h"))
    pod = await_pod(backend, namespace, "a running pod", lambda pod: pod["status"].get("phase") == "Running")
    for _ in range(5):
        backend.pause()
    assert bodies.condition(pod, "Ready") == "False"
    assert ready_pods(backend, namespace) == []


def test_download_progress(backend: Backend, namespace: str) -> None:
    spec = bodies.pod_spec(initContainers=INIT)
    backend.cluster.apply(bodies.deployment(namespace, spec=spec, fate="download-progress", delay="2s"))

    def downloading(pod: KubernetesObject) -> bool:
        states = pod["status"].get("initContainerStatuses") or []
        return any("running" in state["state"] for state in states)

    pod = await_pod(backend, namespace, "a running init container", downloading)
    assert pod["status"]["phase"] == "Pending"
    assert bodies.condition(pod, "Initialized") == "False"
    assert _state(pod)["state"]["waiting"]["reason"] == "PodInitializing"
    await_pods(backend, namespace, 1)


def test_image_pull_failure(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, fate="image-pull-failure"))
    pod = await_pod(
        backend, namespace, "a pod that backs off", lambda pod: bodies.waiting_reason(pod) == "ImagePullBackOff"
    )
    assert pod["status"]["phase"] == "Pending"
    assert "example.com/engine:1" in _state(pod)["state"]["waiting"]["message"]
    assert _restarts(pod) == 0


@pytest.mark.parametrize(("fate", "reason", "code"), [("crash-loop", "Error", 1), ("oom-kill", "OOMKilled", 137)])
def test_containers_that_die(backend: Backend, namespace: str, fate: str, reason: str, code: int) -> None:
    backend.cluster.apply(bodies.deployment(namespace, fate=fate))

    def looping(pod: KubernetesObject) -> bool:
        return bodies.waiting_reason(pod) == "CrashLoopBackOff" and _restarts(pod) >= 2

    pod = await_pod(backend, namespace, "a crash loop", looping)
    last = _state(pod)["lastState"]["terminated"]
    assert (last["reason"], last["exitCode"]) == (reason, code)
    assert last["finishedAt"] >= last["startedAt"]
    assert pod["status"]["phase"] == "Running"
    assert bodies.condition(pod, "Ready") == "False"
    assert len(pods_of(backend, namespace)) == 1, "a pod that crashes is restarted, not replaced"


def test_failing_probe(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, fate="failing-probe"))
    pod = await_pod(backend, namespace, "a running pod", lambda pod: "running" in _state(pod).get("state", {}))
    assert _state(pod)["ready"] is False
    for _ in range(5):
        backend.pause()
    assert ready_pods(backend, namespace) == []


def test_eviction_ends_the_pod_and_brings_another(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, fate="evicted", delay="1s"))

    def evicted(pod: KubernetesObject) -> bool:
        return pod["status"].get("reason") == "Evicted"

    pod = await_pod(backend, namespace, "an evicted pod", evicted)
    assert pod["status"]["phase"] == "Failed"
    assert "memory" in pod["status"]["message"]
    assert bodies.condition(pod, "Ready") == "False"
    backend.eventually(lambda: len(pods_of(backend, namespace)) > 1, "another pod")


def test_unschedulable(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, fate="unschedulable"))
    pod = await_pod(
        backend,
        namespace,
        "a pod without a node",
        lambda pod: bodies.condition_part(pod, "PodScheduled", "reason") == "Unschedulable",
    )
    assert not pod["spec"].get("nodeName")


def test_held_pod_waits(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, fate="held"))
    await_pod(backend, namespace, "a pod with a node", lambda pod: pod["spec"].get("nodeName"))
    for _ in range(5):
        backend.pause()
    pod = pods_of(backend, namespace)[0]
    assert pod["status"]["phase"] == "Pending"
    assert "containerStatuses" not in pod["status"]


def test_change_of_fate_heals(backend: Backend, namespace: str) -> None:
    strategy = {"type": "Recreate"}
    backend.cluster.apply(bodies.deployment(namespace, fate="crash-loop", strategy=strategy))
    await_pod(backend, namespace, "a crash", lambda pod: _restarts(pod) >= 1)
    backend.cluster.apply(bodies.deployment(namespace, strategy=strategy))
    await_pods(backend, namespace, 1)


def test_what_went_wrong_is_an_event(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, fate="image-pull-failure"))

    def found() -> list[KubernetesObject]:
        events = backend.cluster.list(EVENT, namespace=namespace)
        return [event for event in events if event["reason"] == "Failed" and event["involvedObject"]["kind"] == "Pod"]

    event = backend.eventually(found, "an event about the pull")[0]
    assert event["type"] == "Warning"
    assert "pull" in event["message"]


def test_events_of_one_object(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, fate="image-pull-failure"))
    pod = await_pod(backend, namespace, "a pod", lambda pod: True)
    uid = pod["metadata"]["uid"]

    def found() -> list[KubernetesObject]:
        return backend.cluster.list(EVENT, namespace=namespace, field_selector=f"involvedObject.uid={uid}")

    events = backend.eventually(found, "events about the pod")
    assert {event["involvedObject"]["uid"] for event in events} == {uid}
    nobody = backend.cluster.list(EVENT, namespace=namespace, field_selector="involvedObject.uid=nobody")
    assert nobody == []


def test_a_field_that_nothing_is_selected_by(backend: Backend, namespace: str) -> None:
    refusal(lambda: backend.cluster.list(EVENT, namespace=namespace, field_selector="spec.odd=1"), "Invalid")


def test_logs_of_a_running_container(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace))
    name = await_pods(backend, namespace, 1)[0]["metadata"]["name"]
    text = backend.eventually(lambda: _logs(backend, namespace, name, 200), "some log")
    assert text.endswith("\n")
    assert _logs(backend, namespace, name, 1).count("\n") == 1


def _logs(backend: Backend, namespace: str, pod: str, lines: int) -> str:
    return backend.cluster.logs(namespace, pod, container="main", tail_lines=lines)


def test_logs_of_what_is_not_there(backend: Backend, namespace: str) -> None:
    refusal(lambda: backend.cluster.logs(namespace, "nothing", container="main"), "Invalid")


def test_logs_of_a_container_that_is_not_there(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace))
    name = await_pods(backend, namespace, 1)[0]["metadata"]["name"]
    refusal(lambda: backend.cluster.logs(namespace, name, container="another"), "Invalid")


def test_logs_of_a_pod_without_a_node(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.deployment(namespace, fate="unschedulable"))
    pod = await_pod(backend, namespace, "a pod", lambda pod: True)
    try:
        text = backend.cluster.logs(namespace, pod["metadata"]["name"], container="main")
    except PermanentError as error:
        assert error.reason == "Invalid"
    else:
        assert text == ""
