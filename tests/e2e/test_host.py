"""One host through the HTTP API of the whole stack: web, worker and beat as processes, on the simulated cluster.

The stack is started once for the file, which costs about half a minute.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.stack import ROOT, client_of, running_stack

EXAMPLE = ROOT / "docs" / "examples" / "02-llm-host-gpu.yaml"
NAME = "qwen3_8b"
PATIENCE_SECONDS = 120.0

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("host")]


@dataclass(frozen=True)
class Api:
    client: httpx.Client

    def get(self, path: str = "") -> dict[str, Any]:
        answer = self.client.get(f"/api/v1/llmhosts/{NAME}{path}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def post(self, path: str, content: bytes = b"") -> dict[str, Any]:
        answer = self.client.post(f"/api/v1{path}", content=content, headers={"Content-Type": "application/yaml"})
        assert answer.status_code in {200, 201, 202}, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.get()["status"]
        return found

    def until(self, check: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not check():
            assert time.monotonic() < deadline, f"not after {PATIENCE_SECONDS:.0f} s: {what}"
            time.sleep(0.3)


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with running_stack("host-e2e-") as folder, client_of(folder) as client:
        yield Api(client)


def cost_is_settled(api: Api) -> bool:
    before = api.status()["estimatedCost"]
    time.sleep(2)
    return bool(api.status()["estimatedCost"] == before > 0)


def test_a_host_from_its_manifest_to_nothing(api: Api) -> None:
    applied = api.post("/apply?deploy=true", EXAMPLE.read_bytes())
    result = applied["results"][0]
    assert (result["action"], result["name"]) == ("created", NAME)
    assert float(result["cost"]["perHour"] if "cost" in result else result["pricePerHour"]) > 0

    api.until(lambda: api.status().get("hostStatus") == "active", "active")
    api.until(lambda: api.status()["conditions"][0]["type"] == "Ready", "conditions")
    status = api.status()
    assert status["readyReplicas"] == 1
    assert status["endpoint"].endswith("/v1")
    assert float(status["pricePerHour"]) > 0

    live = api.get("/objects")["live"]
    kinds = {body["kind"] for body in live}
    assert {"Secret", "PersistentVolumeClaim", "Deployment", "Service", "Ingress", "Certificate", "Pod"} <= kinds
    assert "put-the-token-here" not in json.dumps(live)
    assert len(api.get("/logs?tailLines=5")["logs"].splitlines()) >= 1
    reasons = {event["reason"] for event in api.get("/events")["items"]}
    assert {"Launched", "StatusChanged"} <= reasons
    api.until(lambda: api.status()["estimatedCost"] > 0, "money is counted")
    assert api.status()["uptimeHours"] > 0

    again = api.post("/apply?deploy=true", EXAMPLE.read_bytes())
    assert again["results"][0]["action"] == "unchanged"

    api.post(f"/llmhosts/{NAME}/undeploy")
    api.until(lambda: api.status()["hostStatus"] == "inactive" and len(api.get("/objects")["live"]) == 1, "inactive")
    assert [body["kind"] for body in api.get("/objects")["live"]] == ["PersistentVolumeClaim"]
    api.until(lambda: cost_is_settled(api), "the cost grows no more")

    gone = api.client.delete(f"/api/v1/llmhosts/{NAME}")
    assert gone.status_code in {200, 202, 204}, gone.text
    api.until(lambda: api.client.get(f"/api/v1/llmhosts/{NAME}").status_code == 404, "deleted")
    assert "Deleted" in {event["reason"] for event in api.get("/events")["items"]}
