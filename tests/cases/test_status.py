"""Cases of the status: it is good news only when that is true, and it turns back when things do."""

from datetime import timedelta
from typing import Any

import pytest

from smarter.apps.costs.queries import spent
from smarter.cluster.simulated import Fault, NodeShape
from smarter.core.facts import Facts
from smarter.core.kind import Observation
from smarter.core.objects import KubernetesObject, ref_of
from tests.cases.conftest import Desk, Fates
from tests.cases.manifests import CPU, manifest
from tests.llm_hosts import KIND, facts, host, objects
from tests.unit.kinds import observed as seen
from tests.unit.kinds.test_llm_host_observe import look

HOST = host()
RENDERED = objects(HOST)
LONG_AVAILABLE = [seen.condition("Available", "True"), seen.condition("Progressing", "True", reason="NewReplicaSet")]
BROKEN: list[tuple[str, KubernetesObject, list[str]]] = [
    (
        "CrashLoopBackOff",
        seen.crashed({"exitCode": 3, "message": "loading\nRuntimeError: bad head size\n"}, restarts=12),
        ["exit code 3", "bad head size", "13 times"],
    ),
    ("OOMKilled", seen.crashed({"exitCode": 137, "reason": "OOMKilled"}, restarts=12), ["memory", "13 times", "24Gi"]),
    ("ImagePullBackOff", seen.waiting("ImagePullBackOff", "not found"), ["example.com/server:1", "not found"]),
    ("ErrImagePull", seen.waiting("ErrImagePull", "unauthorized"), ["example.com/server:1", "unauthorized"]),
    (
        "CreateContainerConfigError",
        seen.waiting("CreateContainerConfigError", 'secret "x" not found'),
        ["cannot be set up", 'secret "x" not found'],
    ),
    ("RunContainerError", seen.waiting("RunContainerError", "exec: no such file"), ["cannot be started", "no such"]),
]


@pytest.mark.parametrize(("pod", "words"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_c77_pods_are_believed_and_not_an_earlier_availability(pod: KubernetesObject, words: list[str]) -> None:
    """The Deployment was available once, and its condition still says so."""
    found = look(seen.not_ready(RENDERED, conditions=LONG_AVAILABLE), pod, manifest=HOST)
    assert (found.phase, found.ready) == ("error", False)
    assert (found.status["healthy"], found.status["readyReplicas"]) == (False, 0)
    for word in words:
        assert word in found.message, found.message


@pytest.mark.django_db
def test_c77_host_that_was_active_and_crashes_is_not_ready(desk: Desk, fates: Fates) -> None:
    desk.run(base=CPU)
    desk.world.undeploy("case_host")
    desk.world.settle("case_host", "inactive")
    fates.fate = "crash-loop"
    desk.apply(base=CPU, deploy=True)
    status = desk.wait("error", "exit code 1")
    assert (status["healthy"], status["readyReplicas"]) == (False, 0)
    assert {one["type"]: one["status"] for one in status["conditions"]}["Ready"] == "False"


@pytest.mark.django_db
def test_c78_waiting_for_a_gpu_says_so_and_costs_nothing(desk: Desk) -> None:
    eight = {"resources.gpuCount": 8, "compute": "gpu_h100_8x", "model.parameterCount": 70_000_000_000}
    desk.run(eight, name="first")
    desk.apply(eight, name="second", deploy=True)
    status = desk.wait("pending", "nvidia.com/gpu", name="second")
    assert "gpu_h100_8x" in status["message"]
    assert "of 7 nodes" in status["message"]
    assert "1 with too little free nvidia.com/gpu" in status["message"]
    uid = desk.world.host("second").uid
    desk.rounds(3, seconds=1200)
    assert uid not in (found := spent(desk.http.account.pk, [uid], desk.world.sim.now())) or found[uid].cost == 0


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["Deployment", "Pod", "Service"])
def test_c79_what_was_removed_behind_our_back_is_seen_in_the_next_poll(desk: Desk, kind: str) -> None:
    desk.run()
    gone = desk.live(kind)
    desk.world.sim.delete(ref_of(gone))
    # What is removed is not made again: no worker gets to the cluster, as if none ran.
    desk.world.sim.inject(Fault(verb="apply", times=1000))
    desk.world.round(0)
    status = desk.status()
    if kind == "Service":
        assert status["hostStatus"] in ("active", "error", "degraded", "provisioning", "pending")
    else:
        assert status["healthy"] is False
        assert status["message"]
    desk.world.sim.clear_faults()
    desk.wait("active")
    assert desk.live(kind)["metadata"]["uid"] != gone["metadata"]["uid"]


SHARED = {"storage.accessMode": "ReadWriteMany", "storage.storageClass": "kwok-volume-rwx"}


@pytest.mark.django_db
def test_c80_new_version_that_does_not_start_while_the_old_one_serves(desk: Desk, fates: Fates) -> None:
    desk.run(SHARED, base=CPU)
    fates.fate = "image-pull-failure"
    changed = {**SHARED, "engine.image": "registry.example.com/team/server:9"}
    desk.apply(changed, base=CPU, deploy=True)
    for _ in range(6):
        desk.world.round()
        status = desk.status()
        conditions = {one["type"]: one for one in status["conditions"]}
        assert status["healthy"] is True, "the old version serves all the time"
        assert conditions["Ready"]["status"] == "False"
    assert status["hostStatus"] in ("degraded", "deploying")
    assert "registry.example.com/team/server:9" in status["message"]
    assert conditions["UpToDate"]["status"] == "False"


def test_c80_counts_of_an_older_generation_are_not_believed() -> None:
    deployment = seen.deployment(RENDERED)
    deployment["metadata"]["generation"], deployment["status"]["observedGeneration"] = 5, 4
    found = look(deployment, seen.ready_pod(), manifest=HOST)
    assert not found.ready
    assert found.phase != "active"
    assert {one.type: one.status for one in found.conditions}["UpToDate"] == "False"


@pytest.mark.django_db
def test_c80_status_of_an_older_manifest_is_never_ready(desk: Desk) -> None:
    desk.run()
    desk.apply({"engine.maxConcurrentRequests": 3}, deploy=True)
    status = desk.status()
    assert status["observedGeneration"] < desk.world.host("case_host").generation
    desk.world.settle("case_host")
    assert desk.status()["observedGeneration"] == desk.world.host("case_host").generation


def after(seconds: float, pod: KubernetesObject, changes: dict[str, Any]) -> Observation:
    manifest = host(changes)
    found: Facts = facts(manifest)
    live = [seen.not_ready(objects(manifest)), pod]
    observed: Observation = KIND.observe(manifest, found, live, seen.NOW + timedelta(seconds=seconds))
    return observed


@pytest.mark.parametrize("timeout", [60, 600])
def test_c81_server_that_does_not_start_is_an_error_when_its_time_is_over(timeout: int) -> None:
    changes = {"healthCheck.startupTimeoutSeconds": timeout}
    assert after(timeout / 2, seen.running(started=False), changes).phase == "deploying"
    late = after(timeout + 60, seen.running(started=False), changes)
    assert (late.phase, late.ready) == ("error", False)
    assert "startupTimeoutSeconds" in late.message


@pytest.mark.django_db
def test_c81_never_starting_for_ever(desk: Desk, fates: Fates) -> None:
    fates.fate, fates.delay = "slow-start", "10h"
    desk.apply({"healthCheck.startupTimeoutSeconds": 60}, base=CPU, deploy=True)
    desk.rounds(4)
    assert desk.status()["hostStatus"] in ("deploying", "downloading")
    desk.rounds(30, seconds=30)
    status = desk.status()
    assert status["hostStatus"] == "error", status["message"]
    assert "startupTimeoutSeconds" in status["message"]


@pytest.mark.django_db
def test_c82_dependency_that_appears_later(desk: Desk) -> None:
    assert set(desk.refuse({"model.tokenSecret": "hf_token"})) == {"spec.model.tokenSecret"}
    desk.secret("hf_token", "hf_abc")
    desk.run({"model.tokenSecret": "hf_token"})


@pytest.mark.django_db
def test_c82_node_that_appears_later(desk: Desk) -> None:
    eight = {"resources.gpuCount": 8, "compute": "gpu_h100_8x"}
    desk.run(eight, name="first")
    desk.apply(eight, name="second", deploy=True)
    desk.wait("pending", name="second")
    desk.world.sim.add_node(NodeShape("more", "p5.48xlarge", 192, 2048, 8, "gpu_h100_8x", "NVIDIA-H100-80GB-HBM3"))
    desk.wait("active", name="second")


@pytest.mark.django_db
def test_c82_storage_that_appears_later_needs_no_touch(desk: Desk) -> None:
    """The cluster was away when the host was applied."""
    desk.world.sim.inject(Fault(times=30))
    desk.apply(deploy=True)
    desk.rounds(2)
    assert desk.status().get("hostStatus") != "active"
    desk.world.sim.clear_faults()
    desk.wait("active")


@pytest.mark.django_db
def test_c83_what_was_accepted_once_can_be_refused_later(desk: Desk) -> None:
    desk.run()
    reconciled = {one["type"]: one for one in desk.status()["conditions"]}["Reconciled"]
    assert reconciled["status"] == "True"
    desk.world.sim.inject(Fault(verb="apply", kind="Deployment", status=403, message="no longer allowed", times=1000))
    desk.apply({"engine.maxConcurrentRequests": 3}, deploy=True)
    desk.rounds(3)
    reconciled = {one["type"]: one for one in desk.status()["conditions"]}["Reconciled"]
    assert (reconciled["status"], bool(reconciled["reason"])) == ("False", True)
    assert "no longer allowed" in reconciled["message"]
    desk.world.sim.clear_faults()
    desk.wait("active")
    reconciled = {one["type"]: one for one in desk.status()["conditions"]}["Reconciled"]
    assert reconciled["status"] == "True"


@pytest.mark.django_db
def test_c84_status_sent_by_a_client_is_not_stored(desk: Desk, other: Desk) -> None:
    lies = {
        "healthy": True,
        "hostStatus": "active",
        "estimatedCost": 0,
        "accountNumber": other.http.account.number,
        "username": "somebody",
        "nonsense": {"x": 1},
    }
    answer = desk.send({**manifest(), "status": lies})
    assert answer.status == 200
    status = desk.status()
    assert status["accountNumber"] == desk.http.account.number
    assert status.get("hostStatus") != "active"
    assert not status.get("healthy")
    assert "nonsense" not in status
    desk.run()
    exported = desk.http.get("/llmhosts/case_host").content
    before = desk.world.host("case_host").resource_version
    assert desk.http.post("/apply", exported).status_code == 200
    assert desk.world.host("case_host").resource_version == before
