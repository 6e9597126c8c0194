"""Each known trouble of a cluster is told with its cause and with what to do, and good news only when it is true."""

import dataclasses
import json
from typing import Any

import pytest

from smarter.core.kind import Observation
from smarter.core.objects import KubernetesObject
from tests.llm_hosts import KIND, LLAMA, facts, host, objects, one
from tests.unit.kinds import observed as seen

MANIFEST = host({"model.tokenSecret": "hf_token", "storage.storageClass": "does-not-exist"})
RENDERED = objects(MANIFEST)
POOL = host({"scaling.replicas": 3, "storage.accessMode": "ReadWriteMany"})
POOL_RENDERED = objects(POOL)
PUBLIC = host({"network.ingress": True})
PUBLIC_RENDERED = objects(PUBLIC)


def look(*live: KubernetesObject, manifest: Any = MANIFEST, **changes: Any) -> Observation:
    found: Observation = KIND.observe(manifest, facts(manifest, **changes), list(live), seen.NOW)
    return found


def fetch_error(reason: str, message: str) -> KubernetesObject:
    words = json.dumps({"event": "error", "reason": reason, "message": message})
    return seen.fetching({"terminated": {"exitCode": 3, "message": words + "\n"}})


OOM = {"exitCode": 137, "reason": "OOMKilled"}
TROUBLES: list[tuple[str, KubernetesObject, str, list[str]]] = [
    ("image", seen.waiting("ErrImagePull", "not found"), "error",
     ["example.com/server:1", "not found", "Check its name"]),
    ("image again", seen.waiting("ImagePullBackOff", "Back-off"), "error", ["cannot be pulled", "may pull it"]),
    ("image name", seen.waiting("InvalidImageName"), "error", ["spec.engine.image"]),
    ("config", seen.waiting("CreateContainerConfigError", 'secret "x" not found'), "error", ["Secret", "not found"]),
    ("create", seen.waiting("CreateContainerError", "no command"), "error", ["cannot be created", "no command"]),
    ("run", seen.waiting("RunContainerError", "exec: not found"), "error", ["cannot be started", "no such program"]),
    ("crash", seen.crashed({"exitCode": 1, "message": "ValueError: bad head size\nRuntimeError: engine failed"}),
     "error", ["exit code 1", "5 times", "bad head size"]),
    ("crash once", seen.crashed({"exitCode": 2}, restarts=0, back_off=False), "error", ["exit code 2", "See the logs"]),
    ("gpu memory", seen.crashed({"exitCode": 1, "message": "torch.OutOfMemoryError: CUDA out of memory."}), "error",
     ["contextLength", "larger compute"]),
    ("arguments", seen.crashed({"exitCode": 2, "message": "vllm: error: unrecognized arguments: --x"}), "error",
     ["spec.engine.args"]),
    ("driver", seen.crashed({"exitCode": 1, "message": "RuntimeError: no kernel image is available"}), "error",
     ["another image or compute"]),
    ("memory", seen.crashed(OOM), "error", ["24Gi", "resources.memory higher", "5 times"]),
    ("memory before", seen.running(started=False, restartCount=2, lastState={"terminated": OOM}), "error",
     ["resources.memory higher"]),
    ("gpu", seen.unscheduled(
        "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) didn't match Pod's node affinity/selector. "
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."),
     "pending", ["gpu_l4_1x", "of 3 nodes", "1 with too little free nvidia.com/gpu", "2 with other labels"]),
    ("taint", seen.unscheduled("0/1 nodes are available: 1 node(s) had untolerated taint {a: b}."), "pending",
     ["taints that the host does not tolerate"]),
    ("zone", seen.unscheduled("0/2 nodes are available: 2 node(s) had volume node affinity conflict."), "pending",
     ["volume", "another zone"]),
    ("cordoned", seen.unscheduled("0/1 nodes are available: 1 node(s) were unschedulable."), "pending",
     ["closed for new pods"]),
    ("no claim", seen.unscheduled('persistentvolumeclaim "team-weights" not found'), "pending",
     ["does not exist", "storage.existingClaim"]),
    ("other scheduler words", seen.unscheduled("no nodes", "SchedulerError"), "pending", ["no nodes"]),
    ("evicted", seen.failed("Evicted", "The node was low on resource: memory."), "error", ["memory", "A new one"]),
    ("admission", seen.failed("UnexpectedAdmissionError", "Allocate failed"), "error", ["Allocate failed", "gpuCount"]),
    ("no room", seen.failed("OutOfcpu", "Node didn't have enough resource"), "error", ["no room left"]),
    ("node down", seen.failed("NodeShutdown"), "error", ["shut down"]),
    ("unknown", seen.failed("SomethingNew", "words"), "error", ["words"]),
    ("node lost", seen.pod({"phase": "Running", "conditions": [
        *seen.PLACED, seen.condition("Ready", "False", reason="NodeNotReady")]}), "error", ["no longer answers"]),
    ("unhealthy", seen.running(started=True), "degraded", ["health check at /health"]),
    ("downloading", seen.fetching({"running": {}}), "downloading", ["being brought"]),
    ("preparing", seen.pod({"phase": "Pending", "conditions": seen.PLACED}), "deploying", ["being prepared"]),
    ("loading", seen.running(started=False), "deploying", ["loads the model"]),
    ("gated", fetch_error("unauthorized", "the hub asks for a token"), "error",
     ["Accept the terms", "Secret hf_token was used", "model.tokenSecret"]),
    ("typo", fetch_error("not_found", "no such repository"), "error", ["no such repository", "model.repository"]),
    ("full", fetch_error("disk_full", "the volume has too little room"), "error", ["storage.size"]),
    ("slow", fetch_error("stalled", "nothing came for 60 s"), "error", ["broke too often"]),
    ("private", fetch_error("forbidden_address", "10.0.0.1"), "error", ["public addresses only"]),
    ("damaged", fetch_error("checksum_mismatch", "another file"), "error", ["fetched again"]),
    ("fetch words", seen.fetching({"terminated": {"exitCode": 1, "message": "Traceback\nOSError: odd"}}), "error",
     ["exit code 1", "OSError: odd"]),
    ("fetch silent", seen.fetching({"terminated": {"exitCode": 1}}), "error", ["see the logs"]),
    ("fetch memory", seen.fetching({"terminated": OOM}), "error", ["resources.memory higher"]),
    ("fetch again", seen.fetching(
        {"waiting": {"reason": "CrashLoopBackOff"}},
        lastState={"terminated": {"exitCode": 4, "message": '{"reason": "not_found", "message": "gone"}'}}), "error",
     ["gone"]),
]  # fmt: skip


@pytest.mark.parametrize("row", TROUBLES, ids=[row[0] for row in TROUBLES])
def test_trouble(row: tuple[str, KubernetesObject, str, list[str]]) -> None:
    _, pod, phase, words = row
    found = look(seen.not_ready(RENDERED), pod)
    assert (found.phase, found.ready) == (phase, False)
    for word in words:
        assert word in found.message
    assert found.status["hostStatus"] == phase
    assert found.status["healthy"] is False
    assert found.status["readyReplicas"] == 0
    assert found.message == found.status["message"]


def test_there_are_enough_reasons() -> None:
    assert len({row[0] for row in TROUBLES}) >= 20


@pytest.mark.parametrize(
    ("deployment", "phase", "words"),
    [
        (seen.refused(RENDERED, 'pods "x" is forbidden: exceeded quota: smarter, requested: requests.nvidia.com/gpu=1, '
                                "used: requests.nvidia.com/gpu=16, limited: requests.nvidia.com/gpu=16"),
         "error", ["quota", "requests.nvidia.com/gpu=16", "Stop another host"]),
        (seen.refused(RENDERED, 'violates PodSecurity "restricted:latest"'), "error", ["rules for pods"]),
        (seen.refused(RENDERED, "admission webhook said no"), "error", ["refuses", "said no"]),
        (seen.late(RENDERED), "error", ["startupTimeoutSeconds"]),
        (seen.not_ready(RENDERED, replicas=0), "provisioning", ["creating the replicas"]),
    ],
)  # fmt: skip
def test_without_pods(deployment: KubernetesObject, phase: str, words: list[str]) -> None:
    found = look(deployment)
    assert found.phase == phase
    for word in words:
        assert word in found.message


def test_a_volume_that_does_not_come() -> None:
    pod = seen.unscheduled("0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.")
    found = look(seen.not_ready(RENDERED), pod, seen.claim(RENDERED, "Pending"))
    assert found.phase == "pending"
    assert "storage class does-not-exist" in found.message


def test_a_volume_that_waits_for_its_pod_is_no_trouble() -> None:
    pod = seen.unscheduled("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
    found = look(seen.not_ready(RENDERED), pod, seen.claim(RENDERED, "Pending"))
    assert "nvidia.com/gpu" in found.message


def test_a_lost_volume() -> None:
    found = look(seen.not_ready(RENDERED), seen.unscheduled("no"), seen.claim(RENDERED, "Lost"))
    assert (found.phase, "disk behind the volume" in found.message) == ("error", True)


def test_active() -> None:
    found = look(seen.deployment(RENDERED), seen.ready_pod())
    assert (found.phase, found.ready, found.in_transition, found.message) == ("active", True, False, "")
    assert found.status == {
        "hostStatus": "active",
        "message": None,
        "replicas": 1,
        "readyReplicas": 1,
        "healthy": True,
        "endpoint": f"http://{one(RENDERED, 'Service')['metadata']['name']}"
        f".smarter-1111-2222-3333.svc.cluster.local/v1",
        "publicUrl": None,
        "apiKeySecret": "llmhost_case_host_api_key",
    }
    assert [(one.type, one.status) for one in found.conditions] == [
        ("Scheduled", "True"),
        ("WeightsReady", "True"),
        ("Available", "True"),
        ("UpToDate", "True"),
    ]


def test_counts_of_an_older_template_are_not_believed() -> None:
    found = look(seen.deployment(RENDERED, observedGeneration=2), seen.ready_pod())
    assert not found.ready
    assert found.in_transition
    assert found.phase != "active"


def test_old_pods_serve_while_new_ones_come() -> None:
    counts = {"replicas": 4, "updatedReplicas": 1, "readyReplicas": 3, "availableReplicas": 3}
    loading = look(seen.deployment(POOL_RENDERED, **counts), seen.running(started=False), manifest=POOL)
    assert (loading.phase, loading.ready, loading.status["healthy"]) == ("deploying", False, True)
    assert "the one before it serves" in loading.message
    broken = look(seen.deployment(POOL_RENDERED, **counts), seen.waiting("ErrImagePull", "not found"), manifest=POOL)
    assert (broken.phase, broken.ready, broken.status["healthy"]) == ("degraded", False, True)
    assert "3 of 3 replicas serve" in broken.message
    assert "not found" in broken.message


def test_some_of_the_replicas() -> None:
    live = seen.deployment(POOL_RENDERED, readyReplicas=2, availableReplicas=2)
    found = look(live, seen.ready_pod(), seen.ready_pod(), seen.crashed(OOM), manifest=POOL)
    assert (found.phase, found.ready) == ("degraded", False)
    assert found.status["readyReplicas"] == 2
    assert found.message.startswith("2 of 3 replicas serve.")


def test_leaving_pods_do_not_count() -> None:
    leaving = seen.pod({"phase": "Running", "conditions": seen.STARTED}, leaving=True)
    assert look(seen.deployment(RENDERED), seen.ready_pod(), leaving).phase == "active"


def test_an_evicted_pod_is_forgotten_when_its_successor_loads() -> None:
    found = look(seen.not_ready(RENDERED), seen.failed("Evicted"), seen.running(started=False))
    assert found.phase == "deploying"


def test_nothing_there_yet() -> None:
    found = look()
    assert (found.phase, found.ready, found.in_transition) == ("provisioning", False, True)


@pytest.mark.parametrize("live", [(), (seen.ready_pod(),)])
def test_undeployed(live: tuple[KubernetesObject, ...]) -> None:
    found = look(*live, deployed=False)
    assert (found.phase, found.ready, found.in_transition) == ("inactive", False, bool(live))
    assert found.status["hostStatus"] == "inactive"
    assert found.status["endpoint"] is None


@pytest.mark.parametrize(
    ("conditions", "ready", "moves", "word"),
    [
        ((), False, True, "not issued"),
        ((seen.condition("Ready", "True"),), True, False, ""),
        ((seen.condition("Ready", "False", reason="Failed", message="429 rate limited"),), False, True, "429"),
    ],
)
def test_certificate(conditions: Any, ready: bool, moves: bool, word: str) -> None:
    body = seen.certificate(PUBLIC_RENDERED, *conditions)
    live = (seen.deployment(PUBLIC_RENDERED), seen.ready_pod(), one(PUBLIC_RENDERED, "Ingress"), body)
    found = look(*live, manifest=PUBLIC)
    assert (found.phase, found.ready, found.in_transition) == ("active", ready, moves)
    assert word in found.message
    assert found.status["publicUrl"] == "https://case-host.llmhost.1111-2222-3333.api.localhost/v1"
    assert "CertificateReady" in [one.type for one in found.conditions]


def test_a_cluster_that_issues_no_certificates_is_named_and_not_waited_for() -> None:
    live = (seen.deployment(PUBLIC_RENDERED), seen.ready_pod(), one(PUBLIC_RENDERED, "Ingress"))
    found = look(*live, manifest=PUBLIC, features=frozenset())
    assert (found.phase, found.ready, found.in_transition) == ("active", True, False)
    assert "cert-manager" in found.message
    condition = next(one for one in found.conditions if one.type == "CertificateReady")
    assert (condition.status, condition.reason) == ("False", "CertificateUnavailable")


def test_without_its_ingress_a_public_host_is_not_ready() -> None:
    issued = seen.certificate(PUBLIC_RENDERED, seen.condition("Ready", "True"))
    assert not look(seen.deployment(PUBLIC_RENDERED), seen.ready_pod(), issued, manifest=PUBLIC).ready


def test_trouble_is_looked_at_often_at_first_and_rarely_later() -> None:
    old = seen.waiting("ImagePullBackOff")
    old["metadata"]["creationTimestamp"] = seen.LONG_AGO
    deployment = seen.not_ready(RENDERED)
    deployment["metadata"]["creationTimestamp"] = seen.LONG_AGO
    assert look(seen.not_ready(RENDERED), seen.waiting("ImagePullBackOff")).in_transition
    assert not look(deployment, old).in_transition
    assert look(deployment, seen.fetching({"running": {}})).in_transition
    without_pods = seen.not_ready(RENDERED, replicas=0)
    without_pods["metadata"]["creationTimestamp"] = seen.LONG_AGO
    assert look(without_pods).in_transition, "an old Deployment that is being rolled out has no pods for a moment"


def test_hostile_words_are_cut_and_cleaned() -> None:
    hostile = "\x1b[31mred\x00\n" + "x" * 100_000 + "\u202e"
    for pod in (
        seen.waiting("ErrImagePull", hostile),
        seen.unscheduled(hostile),
        seen.failed("Evicted", hostile),
        seen.crashed({"exitCode": 1, "message": hostile}),
        seen.fetching({"terminated": {"exitCode": 1, "message": hostile}}),
    ):
        message = look(seen.not_ready(RENDERED), pod).message
        assert len(message) <= 1024
        assert message.isprintable()


def test_odd_shapes_do_not_raise() -> None:
    for status in ({}, {"containerStatuses": None}, {"conditions": None, "initContainerStatuses": [{"state": None}]}):
        assert look(seen.not_ready(RENDERED), seen.pod(status)).phase in ("deploying", "pending")


def test_an_observation_is_plain_data() -> None:
    found = look(seen.not_ready(RENDERED), seen.waiting("ErrImagePull"))
    json.dumps(dataclasses.asdict(found)["status"])


@pytest.mark.case("C45")
@pytest.mark.failure("NoOffload", "simulated")
@pytest.mark.parametrize(
    ("log", "slow"),
    [
        ("load_tensors: offloaded 0/29 layers to GPU", True),
        ("warning: no usable GPU found, --gpu-layers option will be ignored", True),
        ("load_tensors: offloaded 29/29 layers to GPU", False),
        ("", False),
    ],
)
def test_a_server_on_processors_although_it_has_a_gpu(log: str, slow: bool) -> None:
    manifest = host({"resources.gpuCount": 1}, LLAMA)
    pod = seen.ready_pod()
    requests = KIND.logs(manifest, [pod])
    assert [(one.pod, one.container) for one in requests] == [("lh-x-1", "engine")]
    found = look(seen.deployment(objects(manifest)), pod, manifest=manifest, logs={("lh-x-1", "engine"): log})
    assert (found.phase, found.ready) == ("active", True)
    assert ("processors" in found.message) is slow
    assert ("NoOffload" in {one.reason for one in found.conditions}) is slow


def test_logs_of_servers_without_gpus_are_not_read() -> None:
    assert KIND.logs(host(base=LLAMA), [seen.ready_pod()]) == ()
    assert KIND.logs(MANIFEST, [seen.ready_pod()]) == ()
