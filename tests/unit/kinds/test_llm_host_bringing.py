"""What the pods that bring weights tell, and how far they are."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from smarter.core.facts import AccountFact, Facts
from smarter.core.kind import Observation
from smarter.kinds.sam.llm_host import KIND
from smarter.kinds.sam.llm_host.bringing import logs, progress_of
from smarter.models.sam.llm_host import SAMLLMHost

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FACTS = Facts(AccountFact("1234-5678-9012", "a"), "b")
MANIFEST = SAMLLMHost.model_validate_json(
    json.dumps(
        {
            "apiVersion": "smarter.sh/v1",
            "kind": "LLMHost",
            "metadata": {"name": "a"},
            "spec": {
                "model": {"source": "huggingface", "repository": "acme/tiny", "tokenSecret": "hub_token"},
                "engine": {"name": "vllm"},
                "storage": {"accessMode": "ReadWriteMany"},
            },
        }
    )
)
JOB: dict[str, Any] = {
    "kind": "Job",
    "metadata": {"name": "j", "uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z"},
}


def pod(state: dict[str, Any] | None = None, restarts: int = 0, **status: Any) -> dict[str, Any]:
    container = {"name": "fetch", "state": state or {}, "restartCount": restarts}
    scheduled = {"type": "PodScheduled", "status": "True"}
    return {
        "kind": "Pod",
        "metadata": {
            "name": "j-x",
            "uid": "2",
            "labels": {"smarter.sh/weights": "k"},
            "ownerReferences": [{"uid": "1", "kind": "Job"}],
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "status": {"phase": "Running", "conditions": [scheduled], "containerStatuses": [container], **status},
    }


def seen(*pods: dict[str, Any], said: list[dict[str, Any]] | None = None) -> Observation:
    text = "\n".join(json.dumps(record) for record in said or [])
    facts = replace(FACTS, logs={("j-x", "fetch"): text})
    return KIND.observe(MANIFEST, facts, [JOB, *pods], NOW)


RUNNING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def test_a_download_tells_how_far_it_is() -> None:
    found = seen(pod(RUNNING), said=[{"event": "progress", "bytes": 3_100_000_000, "total": 16_400_000_000}])
    assert found.phase == "downloading"
    assert found.message == "Downloading: 3.1 of 16.4 GB, 18 %."
    assert found.status["progress"] == {"bytes": 3_100_000_000, "totalBytes": 16_400_000_000, "percent": 18}
    assert (found.ready, found.in_transition) == (False, True)


def test_a_download_of_unknown_size() -> None:
    found = seen(pod(RUNNING), said=[{"event": "progress", "bytes": 50_000_000, "total": None}])
    assert found.message == "Downloading: 0.05 GB."
    assert found.status["progress"] == {"bytes": 50_000_000, "totalBytes": None, "percent": None}


def test_a_download_that_is_tried_again_says_why() -> None:
    said = [
        {"event": "progress", "bytes": 10**9, "total": 10**10},
        {"event": "retry", "message": "the connection to hub broke"},
    ]
    assert seen(pod(RUNNING), said=said).message.endswith("It is trying again: the connection to hub broke.")


@pytest.mark.parametrize("line", ["", "{", "[1]", '{"event": "progress"}', '{"event": 7}', "x" * 9000, '{"a":' * 2000])
def test_logs_that_say_nothing_are_no_harm(line: str) -> None:
    facts = replace(FACTS, logs={("j-x", "fetch"): line})
    found = progress_of(facts)
    assert found is None or (found.done, found.total) == (0, 0)
    assert KIND.observe(MANIFEST, facts, [JOB, pod(RUNNING)], NOW).phase == "downloading"


def test_amounts_of_a_forged_log_stay_in_bounds() -> None:
    said = [{"event": "progress", "bytes": 10**30, "total": -5}]
    assert seen(pod(RUNNING), said=said).status["progress"] == {"bytes": 0, "totalBytes": None, "percent": None}
    said = [{"event": "progress", "bytes": 20, "total": 10}]
    assert seen(pod(RUNNING), said=said).status["progress"]["percent"] == 100


@pytest.mark.parametrize("state", ["terminated", "waiting"])
def test_a_failure_is_told_in_the_words_of_the_fetch_program(state: str) -> None:
    said = {"event": "error", "reason": "not_found", "message": "acme/tiny does not exist on hub"}
    ended = {"exitCode": 4, "message": json.dumps(said)}
    body = pod({"terminated": ended}, restarts=1)
    if state == "waiting":
        body = pod({"waiting": {"reason": "CrashLoopBackOff"}}, restarts=1)
        body["status"]["containerStatuses"][0]["lastState"] = {"terminated": ended}
    found = seen(body)
    assert found.phase == "error"
    assert "acme/tiny does not exist on hub" in found.message
    assert next(one for one in found.conditions if one.type == "WeightsReady").reason == "WeightsNotFound"
    assert found.failed is True


def test_a_pod_without_a_node_says_so() -> None:
    body = pod()
    body["status"]["conditions"] = [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/2 nodes are available: 2 x.",
        }
    ]
    found = seen(body)
    assert (found.phase, found.conditions[2].reason) == ("pending", "Unschedulable")


def test_only_what_runs_is_asked_for_its_log() -> None:
    leaving = pod(RUNNING)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    init = {
        "kind": "Pod",
        "metadata": {"name": "r"},
        "status": {"initContainerStatuses": [{"name": "fetch", "state": RUNNING}]},
    }
    ended = pod({"terminated": {"exitCode": 0}})
    assert [request.pod for request in logs(MANIFEST, [JOB, pod(RUNNING), leaving, ended, init])] == ["j-x", "r"]
