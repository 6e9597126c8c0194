"""Weights on a shared volume, on a real control plane: the Job first, the replicas after it, nothing after the host."""

from collections.abc import Iterator

import pytest

from smarter.apps.costs.models import UsageInterval
from smarter.core.objects import WEIGHTS_LABEL
from tests.cluster.harness import ControlPlane
from tests.cluster.host_world import SMALL, RealWorld, real_world

pytestmark = pytest.mark.control_plane

SHARED = SMALL + "    accessMode: ReadWriteMany\n    storageClass: kwok-volume-rwx\n"


@pytest.fixture
def world(db: None, control_plane: ControlPlane) -> Iterator[RealWorld]:
    with real_world(control_plane) as made:
        yield made


def test_one_job_brings_the_weights_and_goes_with_the_host(world: RealWorld) -> None:
    world.apply(SHARED)
    world.until_phase("active")
    (job,) = world.kubectl("jobs")
    assert job["status"]["succeeded"] == 1
    pods = world.kubectl("pods")
    (bringer,) = [pod for pod in pods if WEIGHTS_LABEL in pod["metadata"]["labels"]]
    assert bringer["status"]["phase"] == "Succeeded"
    created = world.kubectl("deployment")[0]["metadata"]["creationTimestamp"]
    assert created >= job["status"]["completionTime"]
    billed = {row.pod_uid for row in UsageInterval.for_account(world.actor.account)}
    assert billed == {pod["metadata"]["uid"] for pod in pods} - {bringer["metadata"]["uid"]}
    uid = world.host().uid

    world.delete()
    world.until(lambda: not world.kinds(uid), "gone")
