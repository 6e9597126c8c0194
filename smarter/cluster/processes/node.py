"""The kubelet of a process node: takes the pods that the scheduler gave to this node, runs them, and tells the cluster
how they do. `__main__.py` calls `step` in a loop; there is one such process for each cluster file.
"""

import os
import platform
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smarter.cluster.processes import volumes
from smarter.cluster.processes.container import Moment
from smarter.cluster.processes.launch import Lookup, Programs
from smarter.cluster.processes.pod import PodRun, Site, pod_run
from smarter.cluster.processes.status import status_of
from smarter.cluster.simulated import SimulatedCluster
from smarter.cluster.simulation import process_nodes, scheduler
from smarter.cluster.simulation.nodes import NodeShape, node_object
from smarter.cluster.simulation.world import Key, World, is_leaving, key_of
from smarter.core.objects import COMPUTE_LABEL, KubernetesObject

TAINT = "smarter.sh/compute"
_MOST_PODS = 20
_THREADS = 8
_FAREWELL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """`compute` is the label and the taint of the node, so that only pods come that were meant for it."""

    name: str
    compute: str
    folder: Path
    lease_seconds: float = 40.0


class ProcessNode:
    def __init__(self, cluster: SimulatedCluster, settings: NodeSettings, programs: Programs) -> None:
        self._cluster = cluster
        self._settings = settings
        self._site = Site(settings.folder, programs, ThreadPoolExecutor(_THREADS, thread_name_prefix="probe"))
        self._runs: dict[str, PodRun] = {}
        self._mark = -1
        self._renew_at = 0.0

    def join(self) -> None:
        """Makes the node, or takes it over from an earlier process."""
        self._settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._cluster.changing() as world:
            fresh = node_object(world, _shape(self._settings))
            known = world.get("Node", "", self._settings.name)
            node = known or fresh
            node["metadata"]["labels"] = fresh["metadata"]["labels"]
            node["metadata"]["annotations"] = {process_nodes.FOLDER_ANNOTATION: str(self._settings.folder)}
            node["spec"] = {"taints": [{"key": TAINT, "value": self._settings.compute, "effect": "NoSchedule"}]}
            node["status"]["capacity"] = node["status"]["allocatable"] = _capacity()
            process_nodes.renew(world, node, self._settings.lease_seconds)

    def step(self) -> None:
        """A look at the cluster if it changed, a step of each pod, and what there is to tell."""
        mark = self._cluster.catch_up()
        if mark != self._mark:
            self._mark = mark
            self._take_orders()
        now = self._moment()
        for run in self._runs.values():
            run.step(now)
        self._report(now)
        if now.seconds >= self._renew_at:
            self._renew_at = now.seconds + self._settings.lease_seconds / 4
            self._renew()

    def leave(self) -> None:
        """Ends every process and tells that the node is away. The pods stay, and run again when the node comes back."""
        now = self._moment()
        for run in self._runs.values():
            for container in run.all():
                if container.process is not None:
                    container.process.terminate()
        deadline = now.seconds + _FAREWELL_SECONDS
        left = [one for run in self._runs.values() for one in run.all() if one.process is not None]
        while left and time.monotonic() < deadline:
            left = [one for one in left if one.process is not None and one.process.exit_code() is None]
            time.sleep(0.02)
        for run in self._runs.values():
            run.kill()
        with self._cluster.changing() as world:
            node = world.get("Node", "", self._settings.name)
            if node is not None:
                process_nodes.lose(world, node)
        self._site.pool.shutdown(wait=False, cancel_futures=True)

    def _moment(self) -> Moment:
        with self._cluster.looking() as world:
            return Moment(time.monotonic(), world.timestamp())

    def _take_orders(self) -> None:
        with self._cluster.looking() as world:
            pods = {pod["metadata"]["uid"]: pod for pod in world.on_node(self._settings.name)}
            claims = [claim["metadata"]["uid"] for claim in world.all_of("PersistentVolumeClaim")]
        now = self._moment()
        for uid, pod in pods.items():
            if uid not in self._runs and (is_leaving(pod) or not _is_over(pod)):
                self._runs[uid] = pod_run(pod, self._site, self._lookup(pod["metadata"]["namespace"]), now.stamp)
            if uid in self._runs and is_leaving(pod) and not self._runs[uid].leaving:
                self._runs[uid].leave(now, float(pod["metadata"].get("deletionGracePeriodSeconds", 30)))
        for uid, run in self._runs.items():
            if uid not in pods:
                run.kill()
        volumes.remove_others(self._settings.folder, "pods", [*pods, *self._runs])
        volumes.remove_others(self._settings.folder, "claims", claims)

    def _lookup(self, namespace: str) -> Lookup:
        def find(kind: str, name: str) -> KubernetesObject | None:
            with self._cluster.looking() as world:
                return world.get(kind, namespace, name)

        return find

    def _report(self, now: Moment) -> None:
        """One transaction for all pods whose picture changed."""
        news: dict[str, tuple[PodRun, dict[str, Any]]] = {}
        for uid, run in self._runs.items():
            status = status_of(run, now.stamp)
            if run.ended or status != run.told or any(one.notices for one in run.all()):
                news[uid] = (run, status)
        if not news:
            return
        with self._cluster.changing() as world:
            for run, status in news.values():
                self._tell(world, run, status)
        for uid, (run, status) in news.items():
            run.told = status
            if run.ended:
                del self._runs[uid]
            if run.ended and run.leaving:
                volumes.remove_pod(self._settings.folder, uid)
        self._mark = -1

    def _tell(self, world: World, run: PodRun, status: dict[str, Any]) -> None:
        pod = world.get(*_key(run))
        if pod is None or pod["metadata"]["uid"] != run.uid:
            run.take_notices()
            return
        for notice in run.take_notices():
            world.warn(pod, notice.reason, notice.message, kind=notice.kind)
        if run.ended:
            scheduler.release(world, pod)
            world.freed = True
            world.counted.add(pod["metadata"]["namespace"])
        if run.ended and is_leaving(pod):
            world.erase(pod)
            return
        scheduled = [one for one in pod["status"].get("conditions", ()) if one["type"] == "PodScheduled"]
        kept = [one for one in status["conditions"] if one["type"] != "PodScheduled"]
        world.put_status(pod, {**status, "conditions": [*scheduled, *kept]})

    def _renew(self) -> None:
        with self._cluster.changing() as world:
            node = world.get("Node", "", self._settings.name)
            if node is not None:
                process_nodes.renew(world, node, self._settings.lease_seconds)
        if node is None:
            self.join()


def _key(run: PodRun) -> Key:
    return key_of(run.body)


def _is_over(pod: KubernetesObject) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _shape(settings: NodeSettings) -> NodeShape:
    labels = {COMPUTE_LABEL: settings.compute, "kubernetes.io/arch": platform.machine()}
    return NodeShape(settings.name, "this-machine", 0, 0, pods=_MOST_PODS, labels=labels)


def _capacity() -> Mapping[str, str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": str(os.cpu_count() or 1),
        "memory": f"{memory // 1024}Ki",
        "ephemeral-storage": "1Ti",
        "pods": str(_MOST_PODS),
    }
