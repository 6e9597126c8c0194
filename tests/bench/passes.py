"""One observe pass over a cluster with thousands of pods: seconds, peak memory, and whether both grow linearly."""

import json
from typing import Any

from smarter.render.pod import SERVICE_ACCOUNT
from tests.bench import manifests
from tests.bench.client import Call, drive, wait_for
from tests.bench.figures import Row, slope
from tests.bench.progress import say
from tests.bench.world import Login, World

NAMESPACE = "bench-observed"
REPLICAS = 10
SECONDS_GOAL, MEMORY_GOAL, LINEAR_GOAL = 1.0, 350.0, 1.2
WAIT_SECONDS = 600.0
MIB = 1024 * 1024


def measure(world: World, login: Login, *, sizes: tuple[int, ...]) -> list[Row]:
    """`sizes` are numbers of pods, rising; ten pods belong to one host."""
    world.stop_workers()
    for body in (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": SERVICE_ACCOUNT, "namespace": NAMESPACE}},
    ):
        drive(world.kubernetes, [manifests.server_side_apply(body)])
    found, done = [], 0
    for size in sizes:
        _grow(world, login, done, size)
        done = size
        found.append(world.inside("observe"))
        say(f"  {size} pods: {found[-1]}")
    return _rows(sizes, found)


def _grow(world: World, login: Login, done: int, size: int) -> None:
    say(f"observe: up to {size} pods")
    arguments = (str(done // REPLICAS), str((size - done) // REPLICAS), str(REPLICAS), NAMESPACE)
    objects = world.inside("hosts", login.account, *arguments)["objects"]
    drive(world.kubernetes, [manifests.server_side_apply(one) for one in objects], 8)
    connection = world.kubernetes.connect()

    def ready() -> bool:
        text = connection.send(Call("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"))
        items = json.loads(text)["items"]
        return sum((item.get("status") or {}).get("readyReplicas") or 0 for item in items) >= size

    wait_for(ready, f"{size} pods are Ready", WAIT_SECONDS, 2.0)
    connection.close()


def _rows(sizes: tuple[int, ...], found: list[dict[str, Any]]) -> list[Row]:
    rows = []
    for size, one in zip(sizes, found, strict=True):
        last = size == sizes[-1]
        rows += [
            Row(f"observe pass, {size} pods", "s", one["steady"], 3, goal=SECONDS_GOAL if last else None,
                note=f"{one['statements']} statements"),
            Row(f"  first pass, {size // REPLICAS} hosts new", "s", one["first"], 1),
            Row("  peak memory of the process", "MiB", one["peak"] / MIB, 1, goal=MEMORY_GOAL if last else None,
                note=f"{one['before'] / MIB:.0f} MiB before the passes"),
        ]  # fmt: skip
    if len(sizes) > 1:
        growth = slope(sizes, [one["steady"] for one in found])
        rows.append(Row("  growth against linear", "x", growth, len(sizes), goal=LINEAR_GOAL))
    return rows
