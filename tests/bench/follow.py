"""From the moment that a pod is Ready to the status `active`: the pod's time by a watch of the bench's own, that of the
status by the entry that Smarter writes into the host's timeline in the same breath. One clock, since it is one machine.
"""

import http.client
import json
import threading
import time
from contextlib import suppress
from datetime import datetime

from smarter.core.objects import OWNER_UID_LABEL
from tests.bench import manifests
from tests.bench.client import Call, Connection, drive, wait_for
from tests.bench.figures import Row, percentile
from tests.bench.progress import say
from tests.bench.world import Login, World

PAUSE_SECONDS = 0.37
"""Between two hosts; no divisor of the poll's two seconds, so that pods become Ready at any time of a poll."""
WAIT_SECONDS = 120.0


class ReadyWatch:
    """Notes when each host's pod was first seen Ready."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        self.seen: dict[str, float] = {}
        self._connection, self._namespace = connection, namespace
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        path = f"/api/v1/namespaces/{self._namespace}/pods?watch=1&labelSelector={OWNER_UID_LABEL}"
        # A watch that is silent for long, or is closed at the end, has nothing more to tell.
        with suppress(OSError, ValueError, http.client.HTTPException):
            self._read(path)

    def _read(self, path: str) -> None:
        for line in self._connection.stream(path):
            pod = json.loads(line)["object"]
            conditions = (pod.get("status") or {}).get("conditions") or []
            if any(one["type"] == "Ready" and one["status"] == "True" for one in conditions):
                self.seen.setdefault(pod["metadata"]["labels"][OWNER_UID_LABEL], time.time())


def measure(world: World, login: Login, *, hosts: int) -> list[Row]:
    say(f"from Ready to active: {hosts} hosts, one after another")
    watch = ReadyWatch(world.kubernetes.connect(), login.namespace)
    connection = login.target.connect()
    names = [f"follow_{index:03}" for index in range(hosts)]
    for name in names:
        connection.send(manifests.accept(name, deploy=True))
        time.sleep(PAUSE_SECONDS)
    lags = [_lag(connection, watch, name) for name in names]
    calls = [Call("DELETE", f"/api/v1/llmhosts/{name}", expect=frozenset({200, 202})) for name in names]
    drive(login.target, calls, 4)
    connection.close()
    return [
        Row("pod Ready to status active, p50", "s", percentile(lags, 50), hosts),
        Row("pod Ready to status active, p99", "s", percentile(lags, 99), hosts, note="polls every 2 s"),
    ]


def _lag(connection: Connection, watch: ReadyWatch, name: str) -> float:
    """Of the first `active` after the pod was Ready."""

    def found() -> float | None:
        events = connection.read(f"/api/v1/llmhosts/{name}/events")["items"]
        at = [one for one in events if one["reason"] == "StatusChanged" and "-> active" in one["message"]]
        if not at or at[-1]["uid"] not in watch.seen:
            return None
        return datetime.fromisoformat(at[-1]["at"]).timestamp() - watch.seen[at[-1]["uid"]]

    # A lag of nothing is an answer too.
    lags = wait_for(lambda: None if (lag := found()) is None else [lag], f"{name} is active", WAIT_SECONDS, 0.5)
    return max(0.0, float(lags[0]))
