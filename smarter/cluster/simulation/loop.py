"""Time and cause in the simulated cluster: fires timers at their own time, and lets controllers act until all is quiet.

`simulated.py` calls `advance` before every request and `settle` after every write. Nothing runs between requests: what
would have happened meanwhile is made up for, with the timestamps that it would have had.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from smarter.cluster.simulation import attendants, kubelet, process_nodes, scheduler
from smarter.cluster.simulation.deletion import claim_in_use, delete_object, erase_object, finish_namespace
from smarter.cluster.simulation.deployments import reconcile_deployment
from smarter.cluster.simulation.jobs import reconcile_job
from smarter.cluster.simulation.nodes import ready_condition
from smarter.cluster.simulation.replicas import reconcile_replica_set
from smarter.cluster.simulation.world import Key, World, is_leaving
from smarter.core.objects import KubernetesObject

Handler = Callable[[World, KubernetesObject], None]

_CATCH_UP_SECONDS = {"evict": 60.0, "retry": 60.0, "crash_start": 3600.0, "crash_die": 3600.0}
"""Steps that lead back to themselves for ever, and for how long at most they did so when nobody looked for longer. An
eviction leaves a pod behind each time."""
_BATCH = 100_000
_RESTLESS = 1_000_000
"""So many reactions to one change mean two controllers that never agree."""


def next_due(world: World) -> float | None:
    row = world.connection.execute("SELECT MIN(due) FROM timers").fetchone()
    return row[0] if row else None


def advance(world: World, until: datetime) -> None:
    """Lives through everything that is due by `until`, which is the world's time afterwards."""
    for _ in range(_BATCH):
        due = next_due(world)
        if due is not None and until.timestamp() - due > min(_CATCH_UP_SECONDS.values()):
            _postpone_endless(world, until.timestamp())
            due = next_due(world)
        if due is None or due > until.timestamp():
            break
        world.now = datetime.fromtimestamp(due, UTC)
        _fire(world, due)
        settle(world)
    world.now = until


def _postpone_endless(world: World, until: float) -> None:
    for step, seconds in _CATCH_UP_SECONDS.items():
        floor = until - seconds
        world.connection.execute("UPDATE timers SET due = ? WHERE step = ? AND due < ?", (floor, step, floor))


def settle(world: World) -> None:
    reactions = 0
    while world.queue or world.freed or world.counted:
        while world.queue:
            reactions += 1
            if reactions > _RESTLESS:
                raise RuntimeError(f"the simulated controllers do not come to rest over {next(iter(world.queue))}")
            key = next(iter(world.queue))
            del world.queue[key]
            _handle(world, key)
        if world.freed:
            world.freed = False
            _retry_pending(world)
        counted, world.counted = world.counted, set()
        for namespace in counted:
            attendants.count_quotas(world, namespace)


def _fire(world: World, due: float) -> None:
    """Timers of the same moment fire together, so that the controllers look once."""
    rows = world.connection.execute(
        "SELECT kind, namespace, name, step, uid FROM timers WHERE due <= ? ORDER BY due", (due,)
    ).fetchall()
    world.connection.execute("DELETE FROM timers WHERE due <= ?", (due,))
    for kind, namespace, name, step, uid in rows:
        body = world.get(kind, namespace, name)
        if body is None or body["metadata"]["uid"] != uid:
            continue
        handler = _TIMERS.get((kind, step))
        if handler is None:
            world.queue[(kind, namespace, name)] = None
        elif step == "gone" or not is_leaving(body):
            handler(world, body)


def _handle(world: World, key: Key) -> None:
    kind, namespace, name = key
    body = world.get(*key)
    if body is None:
        _after_end(world, kind, namespace, name)
        return
    handler = _HANDLERS.get(kind)
    if handler is not None:
        handler(world, body)


def _after_end(world: World, kind: str, namespace: str, name: str) -> None:
    if kind in ("Pod", "Node"):
        world.freed = True
    if kind == "Node":
        world.usage = None
        for pod in world.on_node(name):
            kubelet.gone(world, pod)
    if kind == "Pod":
        for claim in world.in_namespace(namespace, "PersistentVolumeClaim"):
            if is_leaving(claim) and not claim_in_use(world, claim):
                erase_object(world, claim)
    holder = world.get("Namespace", "", namespace) if namespace else None
    if holder is not None and is_leaving(holder):
        world.queue[("Namespace", "", namespace)] = None


def _retry_pending(world: World) -> None:
    rows = world.connection.execute("SELECT namespace, name FROM objects WHERE kind = 'Pod' AND node = ''").fetchall()
    for namespace, name in rows:
        world.queue[("Pod", namespace, name)] = None


def _handle_pod(world: World, pod: KubernetesObject) -> None:
    if not is_leaving(pod) and not pod["spec"].get("nodeName") and pod["status"].get("phase") == "Pending":
        scheduler.schedule(world, pod)


def _handle_node(world: World, node: KubernetesObject) -> None:
    """A node is ready from its first moment, unless somebody said otherwise."""
    world.usage = None
    world.freed = True
    status = node.get("status") or {}
    if "conditions" not in status:
        world.put_status(node, {**status, "conditions": [ready_condition(world, True)]})


def _handle_namespace(world: World, namespace: KubernetesObject) -> None:
    attendants.furnish_namespace(world, namespace)
    finish_namespace(world, namespace)


_HANDLERS: Mapping[str, Handler] = {
    "Deployment": reconcile_deployment,
    "ReplicaSet": reconcile_replica_set,
    "Job": reconcile_job,
    "Pod": _handle_pod,
    "Node": _handle_node,
    "Namespace": _handle_namespace,
    "PersistentVolumeClaim": attendants.reconcile_claim,
    "Certificate": attendants.reconcile_certificate,
    "Ingress": attendants.reconcile_ingress,
}
_TIMERS: Mapping[tuple[str, str], Handler] = {
    ("PersistentVolumeClaim", "bind"): attendants.bind_claim,
    ("Certificate", "issue"): attendants.issue_certificate,
    ("Ingress", "address"): attendants.address_ingress,
    ("Job", "expire"): delete_object,
    ("Node", process_nodes.LEASE): process_nodes.lose,
    **{("Pod", step): handler for step, handler in kubelet.STEPS.items()},
}
