"""Accept, get and list, each beside the same operation on a raw custom resource, in turns within each round."""

import json
from collections import defaultdict
from collections.abc import Callable

from tests.bench import manifests
from tests.bench.client import BenchError, Call, drive, wait_for
from tests.bench.figures import Row, compared
from tests.bench.progress import say
from tests.bench.world import Login, World

STORED = 1000
PAGE = 100
ACCEPT_GOAL = 3.0
LIST_GOAL = 1.5
SETTLE_SECONDS = 180.0
FILL_CONNECTIONS = 8
RAW_NAMESPACE, RAW_FULL = "bench-raw", "bench-raw-full"

Seconds = dict[str, list[list[float]]]


def measure(world: World, writer: Login, reader: Login, *, rounds: int, size: int) -> list[Row]:
    """`size` is the number of requests of one measurement on one connection."""
    prepare(world, reader)
    ours: Seconds = defaultdict(list)
    raws: Seconds = defaultdict(list)
    for number in range(rounds):
        say(f"accept, get and list: round {number + 1} of {rounds}")
        for name, connections, own, raw in _operations(number, size):
            turns: list[Callable[[], None]] = [
                lambda n=name, c=connections, calls=own: ours[n].append(_drive(writer, reader, n, calls, c)),
                lambda n=name, c=connections, calls=raw: raws[n].append(drive(world.kubernetes, calls, c)),
            ]
            for turn in turns if number % 2 == 0 else reversed(turns):
                turn()
    return _rows(ours, raws)


def prepare(world: World, reader: Login) -> None:
    """The account and the namespace that hold exactly 1,000, with the status that Smarter has found by then."""
    say(f"storing {STORED} manifests, and as many raw custom resources")
    for name in (RAW_NAMESPACE, RAW_FULL):
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        drive(world.kubernetes, [manifests.server_side_apply(body)])
    _define(world)
    names = [f"stored_{number:04}" for number in range(STORED)]
    drive(reader.target, [manifests.accept(name) for name in names], FILL_CONNECTIONS)
    connection = reader.target.connect()
    last = f"/api/v1/llmhosts/{names[-1]}"
    wait_for(
        lambda: connection.read(last)["status"].get("observedGeneration"), "the last one is seen", SETTLE_SECONDS, 1
    )
    connection.close()
    connection = reader.target.connect()
    status = connection.read(last)["status"]
    connection.close()
    calls = [manifests.raw(RAW_FULL, name, status) for name in names]
    drive(world.kubernetes, calls, FILL_CONNECTIONS)


def _define(world: World) -> None:
    body = manifests.definition()
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    connection = world.kubernetes.connect()
    connection.send(Call("POST", path, json.dumps(body).encode()))
    probe = Call("GET", manifests.raw_path(RAW_NAMESPACE))
    wait_for(lambda: connection.exchange(probe)[0] == 200, "the custom resource is served", 30)
    connection.close()


def _operations(number: int, size: int) -> list[tuple[str, int, list[Call], list[Call]]]:
    one = [f"one_{number}_{index:04}" for index in range(size)]
    many = [f"many_{number}_{index:04}" for index in range(4 * size)]
    picked = [f"stored_{(index * 37 + number) % STORED:04}" for index in range(2 * size)]
    listed = Call("GET", f"/api/v1/llmhosts?limit={PAGE}")
    raw_listed = Call("GET", f"{manifests.raw_path(RAW_FULL)}?limit={PAGE}")
    return [
        ("accept c=1", 1, [manifests.accept(n) for n in one], [manifests.raw(RAW_NAMESPACE, n) for n in one]),
        ("accept c=16", 16, [manifests.accept(n) for n in many], [manifests.raw(RAW_NAMESPACE, n) for n in many]),
        ("get", 1, [Call("GET", f"/api/v1/llmhosts/{n}") for n in picked], [_raw_get(n) for n in picked]),
        ("list 100 of 1,000", 1, [listed] * size, [raw_listed] * size),
    ]


def _raw_get(name: str) -> Call:
    return Call("GET", manifests.raw_path(RAW_FULL, name.replace("_", "-")))


def _drive(writer: Login, reader: Login, name: str, calls: list[Call], connections: int) -> list[float]:
    login = writer if name.startswith("accept") else reader
    seconds = drive(login.target, calls, connections)
    if len(seconds) != len(calls):
        raise BenchError(f"{name}: {len(calls) - len(seconds)} requests are missing")
    return seconds


def _rows(ours: Seconds, raws: Seconds) -> list[Row]:
    rows = []
    for name in ours:
        p50_goal = ACCEPT_GOAL if name.startswith("accept") else None
        p99_goal = LIST_GOAL if name.startswith("list") else None
        rows.append(compared(f"{name}, p50", ours[name], raws[name], percent=50, goal=p50_goal))
        rows.append(compared(f"{name}, p99", ours[name], raws[name], percent=99, goal=p99_goal))
    return rows
