"""A worker that is held up past its lease and then goes on: it changes nothing, or what it changed is undone."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from smarter.apps.resources.models import ResourceState
from smarter.cluster.simulated import Fault, NodeShape
from smarter.core import naming
from tests.db.reconcile.world import HOST, World
from tests.faults import invariants
from tests.faults.rig import Rig, applied, deploy, is_alive, kill, wait_until
from tests.faults.worker import AFTER

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("faults-live")]

POINTS = tuple(point for point in (*AFTER, "saving") if point != "saved")
PAUSE_SECONDS = 1.0
IN_FLIGHT_SECONDS = 2.0
NEW_IMAGE = HOST.replace("v0.33.0", "v0.34.0")
NOTHING_KEPT = HOST + "  storage:\n    retain: false\n"


def prepared(live: Rig, name: str) -> World:
    live.sim.add_node(NodeShape(f"gpu-{name}", "g6.2xlarge", 8, 32, 1, "gpu_l4_1x", "NVIDIA-L4"))
    return live.tenant(name)


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    state = Path(f"/proc/{pid}/stat")
    wait_until(lambda: state.read_text().rpartition(")")[2].split()[0] == "T", "stopped")


def writes(live: Rig) -> int:
    log = live.sim.request_log()
    return len([one for one in log if one.verb in {"apply", "delete"} and one.manager == "smarter"])


def settled(world: World) -> bool:
    return applied(world) and world.current("a") and world.host().state.phase == "active"


def snapshot(world: World) -> dict[str, Any]:
    row = world.host()
    return {"resource": row.resource_version, **ResourceState.objects.filter(pk=row.pk).values()[0]}


def test_sleepers_wake_to_a_lost_lease_and_write_nothing(live: Rig) -> None:
    """One host and one sleeper for each part of the loop. While they sleep each host is changed, and a successor brings
    the change about; then all sleepers wake."""
    worlds = {point: prepared(live, f"t{index}") for index, point in enumerate(POINTS)}
    marks = {point: live.folder / f"{point}.reached" for point in POINTS}
    sleepers = {}
    for point, world in worlds.items():
        order = {"stall": point, "mark": str(marks[point]), "stall_seconds": PAUSE_SECONDS}
        sleepers[point] = live.worker(only=deploy(world).pk, **order)
        wait_until(marks[point].exists, f"a worker reaches {point}")
        stop(sleepers[point])
    assert not [mark for mark in marks.values() if mark.with_suffix(".woken").exists()]
    for world in worlds.values():
        world.apply(NEW_IMAGE.format(name="a"))
    successor = live.worker()
    for point, world in worlds.items():
        wait_until(lambda world=world: settled(world), f"{point}: a successor finishes")
    wait_until(lambda: not ResourceState.objects.filter(in_transition=True).exists(), "all is calm")
    kill([successor])
    before = {point: snapshot(world) for point, world in worlds.items()}
    count = writes(live)
    for pid in sleepers.values():
        os.kill(pid, signal.SIGCONT)
    for point, mark in marks.items():
        wait_until(mark.with_suffix(".woken").exists, f"the sleeper at {point} goes on")
    time.sleep(PAUSE_SECONDS)
    assert all(is_alive(pid) for pid in sleepers.values()), "a lost lease is no reason to die"
    assert writes(live) == count, "0 stale writes to the cluster"
    assert {point: snapshot(world) for point, world in worlds.items()} == before, "0 stale writes to the database"
    live.stop_workers()
    live.worker()
    for world in worlds.values():
        uid = world.host().uid
        assert len(live.oracle.deployments_ever(uid)) == 1
        assert live.oracle.images_ever(uid)[-1].endswith("v0.34.0")
    invariants.check_soon(live.sim, live.oracle)


def test_a_write_that_arrives_late_is_undone(live: Rig) -> None:
    """The Deployment's write is under way when its worker is stopped. Before it arrives its host is undeployed, deleted
    or changed, and a successor has done so on the cluster."""
    texts = {"kept": HOST, "emptied": NOTHING_KEPT, "deleted": HOST, "changed": HOST}
    worlds = {name: prepared(live, name) for name in texts}
    uids, sleepers = {}, {}
    for name, world in worlds.items():
        space = naming.namespace(world.actor.account.number)
        slow = Fault("apply", "Deployment", namespace=space, status=None, delay_seconds=IN_FLIGHT_SECONDS, message=name)
        live.sim.inject(slow)
        row = deploy(world, text=texts[name])
        uids[name] = row.uid
        sleepers[name] = live.worker(only=row.pk)
        wait_until(lambda name=name: not live.oracle.is_waiting(name), f"the write for {name} is under way")
        stop(sleepers[name])
    worlds["kept"].undeploy()
    worlds["emptied"].undeploy()
    worlds["deleted"].delete()
    worlds["changed"].apply(NEW_IMAGE.format(name="a"))
    live.worker()
    wait_until(lambda: applied(worlds["kept"]) and applied(worlds["emptied"]), "undeployed")
    wait_until(lambda: not worlds["deleted"].exists(), "deleted")
    wait_until(lambda: applied(worlds["changed"]), "changed")
    for name in ("kept", "emptied", "deleted"):
        assert live.oracle.deployments_ever(uids[name]) == [], f"{name}: the successor was first"
    before = live.oracle.versions_of(uids["changed"])
    for pid in sleepers.values():
        os.kill(pid, signal.SIGCONT)
    for name in ("kept", "emptied", "deleted"):
        wait_until(lambda name=name: live.oracle.deployments_ever(uids[name]), f"{name}: the late write arrives")
    wait_until(lambda: "v0.33.0" in live.oracle.images_ever(uids["changed"])[-1], "changed: the late write arrives")
    assert live.oracle.versions_of(uids["changed"]) > before
    wait_until(lambda: "v0.34.0" in live.oracle.images_ever(uids["changed"])[-1], "changed: the late write is undone")
    invariants.check_soon(live.sim, live.oracle, unseen_pods_are_free=True)
    for name in ("kept", "emptied"):
        assert worlds[name].host().state.phase == "inactive"
