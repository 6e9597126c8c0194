"""The state of the simulated cluster at one moment, inside one transaction of its store.

Everything that lives in the cluster (the API's apply and delete, the scheduler, the controllers, the kubelet) changes
objects through a World and through nothing else. A change puts the object into `queue`, from which `loop.py` lets the
controllers act; `wake` sets a timer, which `loop.py` fires at its own time, however late somebody looks.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any
from uuid import uuid4

import orjson

from smarter.cluster.simulation.schemas import SERVED_BY_KIND
from smarter.cluster.simulation.store import read_meta, write_meta
from smarter.core.objects import KubernetesObject

Key = tuple[str, str, str]
"""kind, namespace (empty for a kind without), name."""

FATE_LABEL = "smarter.sh/test-fate"
DELAY_ANNOTATION = "smarter.sh/test-delay"


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things take in the simulated cluster, in seconds. The defaults are near those of the stages of the real
    control plane for tests."""

    create: float = 0.1
    initialize: float = 0.2
    start: float = 0.3
    crash: float = 0.5
    slow_start: float = 5.0
    download: float = 5.0
    evict: float = 3.0
    complete: float = 1.0
    terminate: float = 0.2
    volume: float = 0.2
    certificate: float = 0.5
    ingress: float = 0.3
    retry: float = 3.0


@dataclass(slots=True)
class World:
    connection: sqlite3.Connection
    now: datetime
    pace: Pace = field(default_factory=Pace)
    features: frozenset[str] = frozenset()
    queue: dict[Key, None] = field(default_factory=dict)
    usage: dict[str, Any] | None = None
    """Filled and kept by the scheduler for the length of the transaction."""
    counted: set[str] = field(default_factory=set)
    """Namespaces in which something was made or ended, so that quotas count again."""
    freed: bool = False
    """Whether something ended that pods may be waiting for."""
    _version: int = -1

    def timestamp(self) -> str:
        return stamp(self.now)

    def get(self, kind: str, namespace: str, name: str) -> KubernetesObject | None:
        row = self.connection.execute(
            "SELECT body FROM objects WHERE kind = ? AND namespace = ? AND name = ?", (kind, namespace, name)
        ).fetchone()
        return orjson.loads(row[0]) if row else None

    def managers(self, key: Key) -> dict[str, list[str]]:
        row = self.connection.execute(
            "SELECT managed FROM objects WHERE kind = ? AND namespace = ? AND name = ?", key
        ).fetchone()
        return orjson.loads(row[0]) if row and row[0] else {}

    def exists(self, kind: str, namespace: str, name: str) -> bool:
        row = self.connection.execute(
            "SELECT 1 FROM objects WHERE kind = ? AND namespace = ? AND name = ?", (kind, namespace, name)
        ).fetchone()
        return row is not None

    def owned_by(self, uid: str, kind: str = "%") -> list[KubernetesObject]:
        return self._bodies("owner = ? AND kind LIKE ?", uid, kind)

    def in_namespace(self, namespace: str, kind: str = "") -> list[KubernetesObject]:
        if kind:
            return self._bodies("kind = ? AND namespace = ?", kind, namespace)
        return self._bodies("namespace = ?", namespace)

    def all_of(self, kind: str) -> list[KubernetesObject]:
        return self._bodies("kind = ?", kind)

    def on_node(self, node: str) -> list[KubernetesObject]:
        return self._bodies("kind = 'Pod' AND node = ?", node)

    def put(self, body: KubernetesObject, managed: Mapping[str, list[str]] | None = None) -> None:
        """Writes the object with a new resourceVersion, and queues it. `managed` None keeps the field managers."""
        metadata = body["metadata"]
        if "resourceVersion" not in metadata:
            self.counted.add(metadata.get("namespace", ""))
        metadata["resourceVersion"] = self._next_version()
        key = key_of(body)
        node = body["spec"].get("nodeName", "") if body["kind"] == "Pod" else ""
        values = (
            metadata["uid"],
            _owner_of(metadata),
            node,
            orjson.dumps(metadata.get("labels") or {}),
            orjson.dumps(body),
            orjson.dumps(managed) if managed is not None else b"",
        )
        self.connection.execute(
            "INSERT INTO objects (kind, namespace, name, uid, owner, node, labels, body, managed)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (kind, namespace, name) DO UPDATE SET uid = excluded.uid, owner = excluded.owner,"
            " node = excluded.node, labels = excluded.labels, body = excluded.body,"
            " managed = CASE WHEN length(excluded.managed) > 0 THEN excluded.managed ELSE managed END",
            (*key, *values),
        )
        self._notice(key, metadata)

    def put_status(self, body: KubernetesObject, status: dict[str, Any]) -> None:
        """Only if the status differs, so that nothing spins."""
        if body.get("status") != status:
            body["status"] = status
            self.put(body)

    def erase(self, body: KubernetesObject) -> None:
        key = key_of(body)
        self._next_version()
        self.connection.execute("DELETE FROM objects WHERE kind = ? AND namespace = ? AND name = ?", key)
        self.connection.execute("DELETE FROM timers WHERE kind = ? AND namespace = ? AND name = ?", key)
        self.counted.add(key[1])
        self._notice(key, body["metadata"])

    def fresh(self, kind: str, namespace: str, name: str, **content: Any) -> KubernetesObject:
        """A new object of the cluster's own making, not yet put."""
        served = SERVED_BY_KIND[kind].kind
        metadata = {"name": name, "namespace": namespace, "uid": str(uuid4()), "creationTimestamp": self.timestamp()}
        if not namespace:
            del metadata["namespace"]
        metadata.update(content.pop("metadata", {}))
        return {"apiVersion": served.api_version, "kind": kind, "metadata": metadata, **content}

    def wake(self, body: KubernetesObject, step: str, seconds: float) -> None:
        """Fires `step` for the object after `seconds`, unless it is gone by then. One timer per object and step."""
        due = (self.now + timedelta(seconds=seconds)).timestamp()
        self.connection.execute(
            "INSERT OR REPLACE INTO timers (kind, namespace, name, step, uid, due) VALUES (?, ?, ?, ?, ?, ?)",
            (*key_of(body), step, body["metadata"]["uid"], due),
        )

    def waiting(self, body: KubernetesObject, step: str) -> bool:
        row = self.connection.execute(
            "SELECT 1 FROM timers WHERE kind = ? AND namespace = ? AND name = ? AND step = ?", (*key_of(body), step)
        ).fetchone()
        return row is not None

    def warn(self, about: KubernetesObject, reason: str, message: str, *, kind: str = "Warning") -> None:
        """An Event, counted up if it says what an earlier one said."""
        metadata = about["metadata"]
        namespace = metadata.get("namespace", "default")
        name = f"{metadata['name']}.{hash_text(reason + message)}"
        event = self.get("Event", namespace, name)
        if event is None:
            reference = {
                "apiVersion": about["apiVersion"],
                "kind": about["kind"],
                "name": metadata["name"],
                "namespace": metadata.get("namespace", ""),
                "uid": metadata["uid"],
            }
            event = self.fresh("Event", namespace, name, involvedObject=reference, reason=reason, message=message)
            event.update(type=kind, count=0, firstTimestamp=self.timestamp())
        event["count"] += 1
        event["lastTimestamp"] = self.timestamp()
        self.put(event)

    def flush(self) -> None:
        if self._version >= 0:
            write_meta(self.connection, "version", str(self._version))

    def _bodies(self, where: str, *values: str) -> list[KubernetesObject]:
        """In the order in which they were made. The plus sign keeps SQLite from reading the table in that order."""
        query = f"SELECT body FROM objects WHERE {where} ORDER BY +rowid"  # noqa: S608 - `where` is a text of this class
        rows = self.connection.execute(query, values)
        return [orjson.loads(body) for (body,) in rows]

    def _notice(self, key: Key, metadata: Mapping[str, Any]) -> None:
        """The object's controllers look at it, and those of its owner."""
        self.queue[key] = None
        self._notice_owner(key[1], metadata)

    def notice_owner(self, body: KubernetesObject) -> None:
        self._notice_owner(key_of(body)[1], body["metadata"])

    def _notice_owner(self, namespace: str, metadata: Mapping[str, Any]) -> None:
        for reference in metadata.get("ownerReferences") or ():
            if reference.get("controller"):
                self.queue[(reference["kind"], namespace, reference["name"])] = None

    def _next_version(self) -> str:
        if self._version < 0:
            self._version = int(read_meta(self.connection, "version", "1"))
        self._version += 1
        return str(self._version)


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment_of(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def key_of(body: KubernetesObject) -> Key:
    return body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"]


def hash_text(text: str) -> str:
    return blake2b(text.encode(), digest_size=5).hexdigest()


def fate_of(body: KubernetesObject) -> str:
    return str((body["metadata"].get("labels") or {}).get(FATE_LABEL, "none"))


def is_leaving(body: KubernetesObject) -> bool:
    return "deletionTimestamp" in body["metadata"]


def controller_of(body: KubernetesObject) -> dict[str, Any] | None:
    references = body["metadata"].get("ownerReferences") or []
    return next((reference for reference in references if reference.get("controller")), None)


def controller_reference(owner: KubernetesObject) -> dict[str, Any]:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def set_condition(
    conditions: list[dict[str, Any]], kind: str, status: str, reason: str, message: str, now: str
) -> None:
    """Changes the list in place; the transition time moves only when the status does."""
    fresh = {"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}
    for index, old in enumerate(conditions):
        if old["type"] == kind:
            if old["status"] == status:
                fresh["lastTransitionTime"] = old.get("lastTransitionTime", now)
            conditions[index] = fresh
            return
    conditions.append(fresh)


def condition_of(body: KubernetesObject, kind: str) -> dict[str, Any] | None:
    conditions = (body.get("status") or {}).get("conditions") or []
    return next((condition for condition in conditions if condition["type"] == kind), None)


def is_true(body: KubernetesObject, kind: str) -> bool:
    return (condition_of(body, kind) or {}).get("status") == "True"


def _owner_of(metadata: Mapping[str, Any]) -> str:
    """The controller, or else the first owner: what the object dies with."""
    references = metadata.get("ownerReferences") or []
    for reference in references:
        if reference.get("controller"):
            return str(reference["uid"])
    return str(references[0]["uid"]) if references else ""
