"""A worker is killed at every step of a deploy, between any two of them; a new one brings every deploy to its end."""

import sys
import time
from collections.abc import Callable

import pytest

from smarter.cluster.simulated import Fault, NodeShape
from smarter.core import naming
from tests.db.reconcile.world import World
from tests.faults import invariants
from tests.faults.rig import LEASE_SECONDS, POLL_SECONDS, Rig, applied, deploy, kill, wait_until
from tests.faults.worker import AFTER, STALL_SECONDS

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("faults-live")]

SLACK = 1.0
"""One worker finishes all these deploys one after the other. What that takes is measured on the same machine just
before, and that much is allowed for beside the lease and the polls."""


def steps_of_a_deploy(rig: Rig) -> tuple[list[tuple[str, str]], float]:
    """Kind and name pattern of everything that a deploy applies, as a deploy of the same manifest did; and the seconds
    that it took."""
    deploy(rig)
    begun = time.monotonic()
    rig.work()
    took = time.monotonic() - begun
    assert applied(rig)
    log = [one for one in rig.sim.request_log() if one.manager == "smarter" and one.verb == "apply"]
    uid = str(rig.host().uid)
    bodies = {(body["kind"], body["metadata"]["name"]) for body in rig.objects(uid)}
    found = [(one.kind, "*" if (one.kind, one.name) in bodies else one.name) for one in log]
    return [(kind, "*" if kind == "Namespace" else name) for kind, name in found], took


def stall_at(rig: Rig, world: World, kind: str, name: str, mark: str) -> None:
    space = naming.namespace(world.actor.account.number)
    rig.sim.inject(
        Fault("apply", kind, namespace=space, name=name, status=None, delay_seconds=STALL_SECONDS, message=mark)
    )


def victims(live: Rig, steps: list[tuple[str, str]]) -> dict[str, tuple[World, int]]:
    """One account, host and worker for each step, and each worker stopped at its own: before the apply of each object,
    and after each part of the loop."""
    made: dict[str, tuple[World, int]] = {}
    waiting: dict[str, Callable[[], bool]] = {}
    for index, (kind, name) in enumerate(steps):
        step = f"{kind} {name}"
        world = prepared(live, index)
        mark = f"step-{index}"
        stall_at(live, world, kind, name, mark)
        row = deploy(world)
        made[step] = (world, live.worker(only=row.pk))
        waiting[step] = lambda mark=mark: not live.oracle.is_waiting(mark)
    for index, point in enumerate([*AFTER, "saving"], start=len(steps)):
        world = prepared(live, index)
        row = deploy(world)
        reached = live.folder / f"reached-{point}"
        made[point] = (world, live.worker(only=row.pk, stall=point, mark=str(reached)))
        waiting[point] = reached.exists
    for step, is_reached in waiting.items():
        wait_until(is_reached, f"a worker reaches {step}")
    return made


def prepared(live: Rig, index: int) -> World:
    live.sim.add_node(NodeShape(f"gpu-extra-{index}", "g6.2xlarge", 8, 32, 1, "gpu_l4_1x", "NVIDIA-L4"))
    return live.tenant(f"t{index}")


def test_a_kill_at_any_step_is_made_good_by_the_next_worker(live: Rig) -> None:
    steps, deploy_seconds = steps_of_a_deploy(live)
    made = victims(live, steps)
    assert {"Namespace *", "NetworkPolicy default-deny", "Deployment *", "Certificate *", "saving"} <= set(made)
    kill([pid for _, pid in made.values()])
    begun = time.monotonic()
    live.worker()
    limit = LEASE_SECONDS + 2 * POLL_SECONDS + SLACK * deploy_seconds * len(made)
    while late := {step for step, (world, _) in made.items() if not applied(world)}:
        assert time.monotonic() - begun < limit, f"after {limit:.0f} s not applied: {late}"
        time.sleep(0.1)
    sys.stdout.write(f"{len(made)} kills were made good after {time.monotonic() - begun:.1f} s of {limit:.1f} s\n")
    for step, (world, _) in made.items():
        wait_until(lambda world=world: world.status()["hostStatus"] == "active", f"{step}: active")
        assert len(live.oracle.deployments_ever(world.host().uid)) == 1
        kinds = {body["kind"] for body in world.objects(world.host().uid)}
        assert {"Secret", "PersistentVolumeClaim", "Deployment", "Service", "Ingress", "Certificate", "Pod"} == kinds
    invariants.check(live.sim, live.oracle)
    for world, _ in made.values():
        world.undeploy()
    for step, (world, _) in made.items():
        wait_until(lambda world=world: world.status()["hostStatus"] == "inactive", f"{step}: inactive")
    live.undeploy()
    wait_until(lambda: live.status()["hostStatus"] == "inactive", "inactive")
    invariants.check_soon(live.sim, live.oracle)
