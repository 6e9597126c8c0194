"""A Kubernetes cluster that needs no cluster: the port of `port.py` over a SQLite file that processes share.

`apps/clusters` opens it for a cluster of type `simulated`, tests open it with a clock of their own. It keeps time
lazily: every request first lives through what happened since the last one. Beside the port it has a request log,
scripted faults and a clock that can be moved, for tests.
"""

import builtins
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from smarter.cluster.nodes import node_info
from smarter.cluster.port import ClusterInfo
from smarter.cluster.simulation import api, loop, selectors
from smarter.cluster.simulation.faults import (
    Fault,
    Request,
    add_fault,
    any_faults,
    failure_of,
    log_request,
    read_log,
    take_fault,
)
from smarter.cluster.simulation.logs import read_logs
from smarter.cluster.simulation.nodes import DEFAULT_NODES, NodeShape, node_object, ready_condition
from smarter.cluster.simulation.store import Store, read_meta, write_meta
from smarter.cluster.simulation.world import Pace, World
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.objects import FIELD_MANAGER, NAMESPACE, KubernetesObject, ObjectKind, ObjectRef, ref_of

__all__ = ["DEFAULT_FEATURES", "Fault", "NodeShape", "Pace", "Request", "SimulatedCluster", "open_simulated"]

Clock = Callable[[], datetime]
Result = TypeVar("Result")

VERSION = "v1.37.2+simulated"
DEFAULT_FEATURES = frozenset({"cert-manager"})
_LOG_LIMIT = 200_000


def open_simulated(
    path: Path,
    clock: Clock | None = None,
    *,
    field_manager: str = FIELD_MANAGER,
    features: frozenset[str] | None = None,
    nodes: Sequence[NodeShape] = DEFAULT_NODES,
    pace: Pace | None = None,
) -> "SimulatedCluster":
    """`nodes` are put into an empty file only. `features` None keeps those of the file."""
    cluster = SimulatedCluster(path, clock or _wall_clock, field_manager, pace or Pace())
    cluster.prepare(nodes, features)
    return cluster


def _wall_clock() -> datetime:
    return datetime.fromtimestamp(time.time(), UTC)


class SimulatedCluster:
    """Implements `port.Cluster`. Safe to share between threads and to inherit through a fork."""

    def __init__(self, path: Path, clock: Clock, field_manager: str, pace: Pace) -> None:
        self.path = path
        self._clock = clock
        self._manager = field_manager
        self._pace = pace
        self._store = Store(path)

    # The port.

    def apply(self, body: KubernetesObject, *, force: bool = True, dry_run: bool = False) -> KubernetesObject:
        def work(world: World) -> KubernetesObject:
            return api.apply_object(world, body, manager=self._manager, force=force, dry_run=dry_run)

        return self._write("apply", *_identity(body), work, dry_run=dry_run)

    def get(self, ref: ObjectRef) -> KubernetesObject | None:
        return self._read("get", ref.kind.kind, ref.namespace, ref.name, lambda world: api.get_object(world, ref))

    def list(
        self, kind: ObjectKind, *, label_selector: str = "", namespace: str | None = None, field_selector: str = ""
    ) -> list[KubernetesObject]:
        def work(world: World) -> list[KubernetesObject]:
            found = api.list_objects(world, kind, label_selector, namespace)
            return selectors.by_field(kind.kind, field_selector, found)

        return self._read("list", kind.kind, namespace or "", "", work)

    def delete(self, ref: ObjectRef, *, uid: str | None = None) -> bool:
        return self._write("delete", ref.kind.kind, ref.namespace, ref.name, lambda world: api.delete(world, ref, uid))

    def logs(self, namespace: str, pod: str, *, container: str, tail_lines: int = 200, previous: bool = False) -> str:
        def work(world: World) -> str:
            return read_logs(world, namespace, pod, container, tail_lines=tail_lines, previous=previous)

        return self._read("logs", "Pod", namespace, pod, work)

    def info(self) -> ClusterInfo:
        def work(world: World) -> ClusterInfo:
            return ClusterInfo(VERSION, world.features, tuple(node_info(node) for node in world.all_of("Node")))

        return self._read("info", "", "", "", work)

    def close(self) -> None:
        self._store.close()

    # Beside the port, for tests and demonstrations.

    def now(self) -> datetime:
        with self._store.reading() as connection:
            offset = float(read_meta(connection, "offset", "0"))
        return datetime.fromtimestamp(self._clock().timestamp() + offset, UTC)

    def pass_time(self, seconds: float) -> None:
        """Moves the clock of every process that uses the file, and lives through what that brings."""
        with self._store.writing() as connection:
            offset = float(read_meta(connection, "offset", "0"))
            write_meta(connection, "offset", str(offset + seconds))
        self._catch_up()

    def inject(self, fault: Fault) -> None:
        with self._store.writing() as connection:
            add_fault(connection, fault)

    def clear_faults(self) -> None:
        with self._store.writing() as connection:
            connection.execute("DELETE FROM faults")

    def request_log(self) -> "builtins.list[Request]":
        with self._store.reading() as connection:
            return read_log(connection)

    def clear_request_log(self) -> None:
        with self._store.writing() as connection:
            connection.execute("DELETE FROM requests")

    def set_node_ready(self, name: str, ready: bool) -> None:
        with self._store.writing() as connection:
            world = self._world(connection)
            node = world.get("Node", "", name)
            if node is not None:
                node["status"]["conditions"] = [ready_condition(world, ready)]
                world.put(node)
            self._finish(world)

    def add_node(self, shape: NodeShape) -> None:
        with self._store.writing() as connection:
            world = self._world(connection)
            world.put(node_object(world, shape))
            self._finish(world)

    # For the process of a node that runs pods (`smarter/cluster/processes`).

    @contextmanager
    def changing(self) -> "Iterator[World]":
        """One transaction at the present moment; the controllers act on what it changed."""
        with self._store.writing() as connection:
            world = self._world(connection)
            loop.advance(world, world.now)
            yield world
            self._finish(world)

    @contextmanager
    def looking(self) -> "Iterator[World]":
        with self._store.reading() as connection:
            yield self._world(connection)

    def catch_up(self) -> int:
        """Lives through what is due. The number grows with every change of an object, whoever made it."""
        self._catch_up()
        with self._store.reading() as connection:
            return int(read_meta(connection, "version", "0"))

    def prepare(self, nodes: Sequence[NodeShape], features: frozenset[str] | None) -> None:
        """Furnishes an empty file. Safe to call at every start, from several processes at once."""
        with self._store.reading() as connection:
            ready = read_meta(connection, "prepared") == "yes"
        if ready and features is None:
            return
        with self._store.writing() as connection:
            if features is not None or not ready:
                write_meta(connection, "features", " ".join(sorted(DEFAULT_FEATURES if features is None else features)))
            if read_meta(connection, "prepared") == "yes":
                return
            world = self._world(connection)
            for shape in nodes:
                world.put(node_object(world, shape))
            for name in ("default", "kube-system"):
                namespace = {"apiVersion": "v1", "kind": NAMESPACE.kind, "metadata": {"name": name}}
                api.apply_object(world, namespace, manager="kube-apiserver", force=True, dry_run=False)
            self._finish(world)
            write_meta(connection, "prepared", "yes")

    def _write(
        self,
        verb: str,
        kind: str,
        namespace: str,
        name: str,
        work: Callable[[World], Result],
        *,
        dry_run: bool = False,
    ) -> Result:
        fault = self._fault(verb, kind, namespace, name)
        failure: TemporaryError | PermanentError | None = None
        with self._store.writing() as connection:
            world = self._world(connection)
            loop.advance(world, world.now)
            loop.settle(world)
            world.flush()
            connection.execute("SAVEPOINT request")
            try:
                result = work(world)
            except (TemporaryError, PermanentError) as refusal:
                connection.execute("ROLLBACK TO request")
                failure = refusal
            else:
                self._finish(world)
            outcome = failure.reason if failure is not None else "lost" if fault is not None else "ok"
            log_request(connection, Request(world.now, self._manager, verb, kind, namespace, name, dry_run, outcome))
        if failure is not None:
            raise failure
        if fault is not None:
            raise failure_of(fault, f"{verb} {kind} {name}")
        return result

    def _read(self, verb: str, kind: str, namespace: str, name: str, work: Callable[[World], Result]) -> Result:
        fault = self._fault(verb, kind, namespace, name)
        self._catch_up()
        failure: TemporaryError | PermanentError | None = None
        with self._store.reading() as connection:
            world = self._world(connection)
            try:
                result = work(world)
            except (TemporaryError, PermanentError) as refusal:
                failure = refusal
            outcome = failure.reason if failure is not None else "lost" if fault is not None else "ok"
            log_request(connection, Request(world.now, self._manager, verb, kind, namespace, name, False, outcome))
        if failure is not None:
            raise failure
        if fault is not None:
            raise failure_of(fault, f"{verb} {kind} {name}")
        return result

    def _fault(self, verb: str, kind: str, namespace: str, name: str) -> Fault | None:
        """Plays a fault that comes before the work; returns one that comes after it."""
        with self._store.reading() as connection:
            if not any_faults(connection):
                return None
        with self._store.writing() as connection:
            fault = take_fault(connection, verb, kind, namespace, name)
        if fault is None:
            return None
        if fault.delay_seconds:
            time.sleep(fault.delay_seconds)
        if fault.status is None:
            return None
        if fault.moment == "after":
            return fault
        failure = failure_of(fault, f"{verb} {kind} {name}")
        with self._store.writing() as connection:
            log_request(
                connection, Request(self.now(), self._manager, verb, kind, namespace, name, False, failure.reason)
            )
        raise failure

    def _catch_up(self) -> None:
        """Takes the write lock only if something is due."""
        with self._store.reading() as connection:
            world = self._world(connection)
            due = loop.next_due(world)
        if due is None or due > world.now.timestamp():
            return
        with self._store.writing() as connection:
            world = self._world(connection)
            loop.advance(world, world.now)
            self._finish(world)

    def _finish(self, world: World) -> None:
        loop.settle(world)
        world.flush()

    def _world(self, connection: sqlite3.Connection) -> World:
        features = frozenset(read_meta(connection, "features").split())
        offset = float(read_meta(connection, "offset", "0"))
        now = datetime.fromtimestamp(self._clock().timestamp() + offset, UTC)
        return World(connection, now, self._pace, features)


def _identity(body: KubernetesObject) -> tuple[str, str, str]:
    """For the log; a body that is no object has none."""
    try:
        ref = ref_of(body)
    except (KeyError, TypeError, AttributeError):
        return str(body.get("kind", "")), "", ""
    return ref.kind.kind, ref.namespace, ref.name
