"""The configuration of kwok: its options, the stages of this folder, and the logs of pods; written by `up`."""

import json
from pathlib import Path
from typing import Any

from tests.cluster.control_plane import versions

FATES = (
    "slow-start",
    "download-progress",
    "image-pull-failure",
    "crash-loop",
    "oom-kill",
    "failing-probe",
    "unschedulable",
    "evicted",
    "held",
    "container-waiting",
    "fetch-waiting",
    "fetch-crash",
    "pod-failed",
    "node-lost",
    "liveness-restarts",
    "multi-attach",
    "attach-failed",
    "mount-failed",
    "sandbox-failed",
    "stuck-terminating",
)
LOG_LINES = (
    "starting",
    "loading weights from the local path",
    "server is listening on port 8000",
)


def write(folder: Path, port: int) -> Path:
    """A configuration file replaces all of kwok's defaults, so every option that must not be zero is set."""
    logs = folder / "pod.log"
    logs.write_text("".join(f"2026-01-01T00:00:{index:02d}Z stdout F {line}\n" for index, line in enumerate(LOG_LINES)))
    previous = folder / "pod-previous.log"
    previous.write_text("2026-01-01T00:00:00Z stderr F the container before this one ended\n")
    documents = [options(port), pod_logs(logs, previous)]
    stages = [path.read_text() for path in sorted((versions.HERE / "stages").glob("*.yaml"))]
    path = folder / "kwok.yaml"
    path.write_text("\n---\n".join([*(json.dumps(document) for document in documents), *stages]))
    return path


def options(port: int) -> dict[str, Any]:
    return {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokConfiguration",
        "metadata": {"name": "kwok"},
        "options": {
            "cidr": "10.64.0.0/12",
            "nodePort": port,
            "manageAllNodes": True,
            "enableDebuggingHandlers": True,
            "enablePodsOnNodeSyncStreamWatch": True,
            "podPlayStageParallelism": 16,
            "nodePlayStageParallelism": 4,
            "nodeLeaseParallelism": 4,
            "nodeLeaseDurationSeconds": 40,
        },
    }


def pod_logs(logs: Path, previous: Path) -> dict[str, Any]:
    """All containers share one file in CRI format; it is read anew at each request, so a test may add lines."""
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterLogs",
        "metadata": {"name": "all"},
        "spec": {"logs": [{"logsFile": str(logs), "previousLogsFile": str(previous), "follow": True}]},
    }
