"""What really happened on the simulated cluster, written down by its own database whatever Smarter saw of it.

Triggers in the cluster's file note every version of every pod and Deployment, from all processes.
"""

import json
import sqlite3
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from smarter.core.objects import OWNER_UID_LABEL

_TRIGGERS = """
CREATE TABLE IF NOT EXISTS history (
  id INTEGER PRIMARY KEY, kind TEXT, uid TEXT, gone INTEGER, body BLOB
);
CREATE TRIGGER IF NOT EXISTS note_made AFTER INSERT ON objects WHEN NEW.kind IN ('Pod', 'Deployment')
BEGIN INSERT INTO history (kind, uid, gone, body) VALUES (NEW.kind, NEW.uid, 0, NEW.body); END;
CREATE TRIGGER IF NOT EXISTS note_changed AFTER UPDATE ON objects WHEN NEW.kind IN ('Pod', 'Deployment')
BEGIN INSERT INTO history (kind, uid, gone, body) VALUES (NEW.kind, NEW.uid, 0, NEW.body); END;
CREATE TRIGGER IF NOT EXISTS note_gone AFTER DELETE ON objects WHEN OLD.kind IN ('Pod', 'Deployment')
BEGIN INSERT INTO history (kind, uid, gone, body) VALUES (OLD.kind, OLD.uid, 1, OLD.body); END;
"""


@dataclass(frozen=True)
class PodLife:
    uid: str
    owner: str
    started_at: datetime
    ended_at: datetime | None


class Oracle:
    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(file, timeout=30, isolation_level=None)
        self._connection.executescript(_TRIGGERS)

    def close(self) -> None:
        self._connection.close()

    def deployments_ever(self, owner: object) -> list[str]:
        """Uids of all Deployments that ever were for a resource, in the order of their creation."""
        found = {uid: None for uid, _, body in self._bodies("Deployment") if _owner(body) == str(owner)}
        return list(found)

    def versions_of(self, owner: object) -> int:
        """How often the Deployments of a resource were written, by whomever."""
        return len([body for _, _, body in self._bodies("Deployment") if _owner(body) == str(owner)])

    def images_ever(self, owner: object) -> list[str]:
        """The image of each version of the Deployment of a resource, without repetition."""
        images: list[str] = []
        for _, _, body in self._bodies("Deployment"):
            if _owner(body) == str(owner):
                image = body["spec"]["template"]["spec"]["containers"][0]["image"]
                images += [] if images[-1:] == [image] else [image]
        return images

    def pods(self) -> list[PodLife]:
        """Of every pod that a node took in: when that was, and when its end was asked for or came."""
        lives: dict[str, list[tuple[bool, dict[str, Any]]]] = defaultdict(list)
        for uid, gone, body in self._bodies("Pod"):
            lives[uid].append((gone, body))
        found = [_life(uid, versions) for uid, versions in lives.items()]
        return [life for life in found if life is not None]

    def waiting_faults(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM faults").fetchone()[0])

    def is_waiting(self, mark: str) -> bool:
        """Whether the fault with this message has not hit yet."""
        query = "SELECT count(*) FROM faults WHERE json_extract(script, '$.message') = ?"
        return bool(self._connection.execute(query, [mark]).fetchone()[0])

    def _bodies(self, kind: str) -> list[tuple[str, bool, dict[str, Any]]]:
        rows = self._connection.execute("SELECT uid, gone, body FROM history WHERE kind = ? ORDER BY id", [kind])
        return [(uid, bool(gone), json.loads(body)) for uid, gone, body in rows]


def _owner(body: dict[str, Any]) -> str:
    return str((body["metadata"].get("labels") or {}).get(OWNER_UID_LABEL, ""))


def _life(uid: str, versions: list[tuple[bool, dict[str, Any]]]) -> PodLife | None:
    starts = [body["status"]["startTime"] for _, body in versions if body["status"].get("startTime")]
    if not starts:
        return None
    ends = [_end(body) for _, body in versions]
    return PodLife(
        uid, _owner(versions[0][1]), _moment(starts[0]), next((end for end in ends if end is not None), None)
    )


def _end(body: dict[str, Any]) -> datetime | None:
    metadata, status = body["metadata"], body["status"]
    if "deletionTimestamp" in metadata:
        grace = timedelta(seconds=metadata.get("deletionGracePeriodSeconds", 0))
        return _moment(metadata["deletionTimestamp"]) - grace
    if status.get("phase") in {"Failed", "Succeeded"}:
        states = [one.get("state", {}).get("terminated", {}) for one in status.get("containerStatuses", [])]
        ends = [_moment(state["finishedAt"]) for state in states if "finishedAt" in state]
        return max(ends, default=None)
    return None


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
