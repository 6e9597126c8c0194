"""Weights on a volume that many nodes share: one Job brings them, and replicas come after it."""

import json
from dataclasses import replace

import pytest

from smarter.apps.costs.models import UsageInterval
from smarter.core.objects import (
    DEPLOYMENT,
    JOB,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    WEIGHTS_LABEL,
    KubernetesObject,
    ObjectKind,
)
from tests.db.reconcile.world import HOST, World

SHARED = HOST.format(name="a") + "  storage:\n    accessMode: ReadWriteMany\n    storageClass: kwok-volume-rwx\n"
OTHER = SHARED.replace("Qwen/Qwen3-8B", "Qwen/Qwen3-4B")


def found(world: World, kind: ObjectKind) -> list[KubernetesObject]:
    return [body for body in world.objects(world.host().uid) if body["kind"] == kind.kind]


def bringers(world: World) -> list[KubernetesObject]:
    return [pod for pod in found(world, POD) if WEIGHTS_LABEL in pod["metadata"]["labels"]]


def slow_down(world: World, seconds: float) -> None:
    """Downloads of this cluster take so long."""
    world.sim._pace = replace(world.sim._pace, complete=seconds, download=seconds)


def test_progress_is_told_while_weights_come(world: World) -> None:
    slow_down(world, 100)
    world.apply(SHARED)
    for _ in range(10):
        world.round(3)
    status = world.status()
    assert status["hostStatus"] == "downloading"
    assert 5 < status["progress"]["percent"] < 60
    assert status["progress"]["totalBytes"] == 16_400_000_000
    assert status["progress"]["bytes"] * 100 // 16_400_000_000 == status["progress"]["percent"]
    assert f"of 16.4 GB, {status['progress']['percent']} %" in status["message"]
    weights = next(one for one in status["conditions"] if one["type"] == "WeightsReady")
    assert (weights["status"], weights["reason"]) == ("False", "Downloading")
    before = status["progress"]["bytes"]

    world.round(10)
    assert world.status()["progress"]["bytes"] > before
    for _ in range(20):
        world.round(10)
    world.settle()
    assert "progress" not in world.status()


def test_replicas_start_when_the_weights_are_there(world: World) -> None:
    world.apply(SHARED)
    world.round(0)
    assert len(found(world, JOB)) == 1
    assert found(world, DEPLOYMENT) == []
    assert world.host().state.phase in ("pending", "downloading", "provisioning")

    world.settle()

    (deployment,) = found(world, DEPLOYMENT)
    (look,) = deployment["spec"]["template"]["spec"]["initContainers"]
    assert "--verify" in look["args"]
    assert [entry["name"] for entry in look["env"]] == ["HOME"]
    assert "smarter.sh/fetches" not in deployment["spec"]["template"]["metadata"]["labels"]
    assert world.status()["replicas"] == 1


def test_the_pod_that_brings_weights_has_no_gpu_and_no_price(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    (pod,) = bringers(world)
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    assert set(requests) == {"cpu", "memory"}
    billed = set(UsageInterval.all_accounts.values_list("pod_name", flat=True))
    replicas = {body["metadata"]["name"] for body in found(world, POD)} - {pod["metadata"]["name"]}
    assert billed == replicas


def test_another_model_is_brought_while_the_one_before_serves(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    (old_job,), (before,) = found(world, JOB), found(world, DEPLOYMENT)

    world.apply(OTHER)
    world.round(0)

    (job,) = [one for one in found(world, JOB) if not one["metadata"].get("deletionTimestamp")]
    assert job["metadata"]["name"] != old_job["metadata"]["name"]
    assert found(world, DEPLOYMENT)[0]["spec"] == before["spec"]
    assert world.host().state.ready is False
    world.settle()
    assert found(world, DEPLOYMENT)[0]["spec"] != before["spec"]
    assert [one["metadata"]["name"] for one in found(world, JOB)] == [job["metadata"]["name"]]
    assert {pod["metadata"]["labels"]["job-name"] for pod in bringers(world)} == {job["metadata"]["name"]}


def test_a_change_that_needs_no_other_weights_does_not_wait(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    (job,) = found(world, JOB)
    world.apply(SHARED.replace("v0.33.0", "v0.33.1"))
    world.settle()
    assert [one["metadata"]["uid"] for one in found(world, JOB)] == [job["metadata"]["uid"]]
    assert "v0.33.1" in json.dumps(found(world, DEPLOYMENT)[0]["spec"])


@pytest.mark.parametrize("how", ["delete", "undeploy"])
def test_what_ends_during_the_download_leaves_nothing(world: World, how: str) -> None:
    world.apply(SHARED)
    world.round(1)
    uid = world.host().uid
    assert [body for body in world.objects(uid) if body["kind"] == "Job"]
    world.delete() if how == "delete" else world.undeploy()
    kept = set() if how == "delete" else {PERSISTENT_VOLUME_CLAIM.kind}
    for _ in range(20):
        world.round()
    assert {body["kind"] for body in world.objects(uid)} == kept


def test_c57_a_finished_job_does_not_hold_the_claim(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    uid = world.host().uid
    assert found(world, PERSISTENT_VOLUME_CLAIM)
    assert bringers(world)
    world.delete()
    for _ in range(20):
        world.round()
    assert world.objects(uid) == []
