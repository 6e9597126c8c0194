"""From 200 manifests to all their objects on the cluster, beside a bare loop that sends the same objects."""

import json
import time
from statistics import median

from smarter.core.naming import namespace as namespace_of
from smarter.core.objects import KubernetesObject, ObjectKind
from tests.bench import manifests
from tests.bench.client import Call, Connection, drive, wait_for
from tests.bench.figures import Row, paired
from tests.bench.progress import say
from tests.bench.world import Login, World

GOAL = 1.5
CONNECTIONS = 16
WAIT_SECONDS = 300.0
GONE = frozenset({200, 202, 404})


def measure(world: World, logins: list[Login], *, hosts: int) -> list[Row]:
    """One round for each login: a fresh account each, so that its namespace has to be made as well."""
    ours, bare, accepted = [], [], []
    for number, login in enumerate(logins):
        names = [f"burst_{number}_{index:03}" for index in range(hosts)]
        say(f"{hosts} manifests at once: round {number + 1} of {len(logins)}")
        turns = [lambda n=names, who=login: _ours(world, who, n), lambda n=names, r=number: _bare(world, r, n)]
        results = [turn() for turn in (turns if number % 2 == 0 else turns[::-1])]
        (seconds, accept_seconds), (bare_seconds, _) = results if number % 2 == 0 else results[::-1]
        say(f"  ours {seconds:.1f} s (accepted after {accept_seconds:.1f} s), bare loop {bare_seconds:.1f} s")
        ours.append(seconds)
        bare.append(bare_seconds)
        accepted.append(accept_seconds)
    return [
        paired(f"{hosts} manifests to all objects", "s", ours, bare, GOAL),
        Row("  of it, until all are accepted", "s", median(accepted), len(accepted)),
    ]


def _ours(world: World, login: Login, names: list[str]) -> tuple[float, float]:
    _, objects = manifests.rendered(login.account, names)
    expected = manifests.kinds_of(objects)
    connection = world.kubernetes.connect()
    began = time.perf_counter()
    drive(login.target, [manifests.accept(name, deploy=True) for name in names], CONNECTIONS)
    accepted = time.perf_counter() - began
    for kind, count in expected.items():
        wait_for(lambda k=kind, c=count: _count(connection, k, login.namespace) >= c, kind.plural, WAIT_SECONDS, 0.1)
    seconds = time.perf_counter() - began
    _clear(world, login, names)
    connection.close()
    return seconds, accepted


def _clear(world: World, login: Login, names: list[str]) -> None:
    """By both ways at once, since removing what was measured is no part of it."""
    connection, ours = world.kubernetes.connect(), login.target.connect()
    drive(login.target, [Call("DELETE", f"/api/v1/llmhosts/{name}", expect=GONE) for name in names], CONNECTIONS)
    _drop(connection, login.namespace)
    wait_for(lambda: ours.read("/api/v1/llmhosts?limit=1")["total"] == 0, "no host is left", WAIT_SECONDS, 1.0)
    # A reconcile that was under way may have made the namespace again.
    _drop(connection, login.namespace)
    connection.close()
    ours.close()


def _bare(world: World, number: int, names: list[str]) -> tuple[float, float]:
    """The namespace with its walls is there beforehand, as a loop that knows nothing of accounts would have it."""
    account = f"9000-0000-{number:04}"
    first, objects = (list(map(_not_ours, bodies)) for bodies in manifests.rendered(account, names))
    drive(world.kubernetes, [manifests.server_side_apply(body) for body in first])
    calls = [manifests.server_side_apply(body) for body in objects]
    began = time.perf_counter()
    drive(world.kubernetes, calls, CONNECTIONS)
    seconds = time.perf_counter() - began
    connection = world.kubernetes.connect()
    _drop(connection, namespace_of(account))
    connection.close()
    return seconds, seconds


def _not_ours(body: KubernetesObject) -> KubernetesObject:
    """Under another manager's name, so that Smarter's observation does not pay for the reference."""
    text = json.dumps(body).replace('managed-by": "smarter"', 'managed-by": "bench"')
    changed: KubernetesObject = json.loads(text)
    return changed


def _drop(connection: Connection, namespace: str) -> None:
    """Removes the namespace and waits, so that the next measurement is alone."""
    path = f"/api/v1/namespaces/{namespace}"
    connection.send(Call("DELETE", path, expect=GONE))
    wait_for(lambda: connection.exchange(Call("GET", path))[0] == 404, f"{namespace} is gone", WAIT_SECONDS, 0.5)


def _count(connection: Connection, kind: ObjectKind, namespace: str) -> int:
    """Without reading the objects: the server says how many follow the first."""
    status, body = connection.exchange(Call("GET", f"{manifests.collection_path(kind, namespace)}?limit=1"))
    if status != 200:
        return 0
    page = json.loads(body)
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount") or 0)
