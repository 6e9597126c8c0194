"""From a manifest to streamed tokens: the whole stack, the fetch program, and a real llama-server on a node that runs
processes. The weights are random and come from a hub of the test's own.

The stack is started once for the file, which costs about half a minute; so does the drain of the server.
"""

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from smarter.cli.embedded import processes, random_model, serving
from tests.stack import PROGRAM, client_of, execute, running_stack
from tests.tokens import PROPERTY
from tests.unit.fetch.server import REPOSITORY, Site
from tests.unit.fetch.server import serving as hub

PATIENCE_SECONDS = 90.0
FAST = {"SMARTER_POLL_SLOW_SECONDS": "2"}
"""A short crash is over before a look every half minute would see it."""
KEY = "sk-canary-7d20c1"
MODEL = "words.gguf"
COMPUTE = f"""\
apiVersion: smarter.sh/v1
kind: LLMHostCompute
metadata: {{name: {serving.COMPUTE}}}
spec:
  node:
    instanceType: this-machine
    cpu: 4
    memoryGb: 8
    labels: {{smarter.sh/compute: {serving.COMPUTE}}}
    tolerations: [{{key: smarter.sh/compute, operator: Equal, value: {serving.COMPUTE}, effect: NoSchedule}}]
  cost: {{perHour: 0.5, currency: USD, source: test, date: "2026-12-01"}}
---
apiVersion: smarter.sh/v1
kind: Secret
metadata: {{name: words_key}}
spec: {{config: {{value: {KEY}}}}}
"""

pytestmark = [pytest.mark.services, pytest.mark.tokens, pytest.mark.xdist_group("tokens")]


def manifest(name: str, port: int, engine: dict[str, Any] | None = None) -> str:
    """JSON is YAML too."""
    llama = {"name": "llama_cpp", "contextLength": 512, "maxConcurrentRequests": 2}
    spec = {
        "model": {"source": "huggingface", "repository": REPOSITORY, "file": MODEL, "quantization": "gguf"},
        "engine": {**(engine or llama), "port": port},
        "compute": serving.COMPUTE,
        "resources": {"cpu": "100m", "memory": "512Mi"},
        "storage": {"size": "1Gi"},
        "network": {} if engine else {"apiKeySecret": "words_key"},
        "healthCheck": {"periodSeconds": 1},
    }
    return json.dumps({"apiVersion": "smarter.sh/v1", "kind": "LLMHost", "metadata": {"name": name}, "spec": spec})


@dataclass(frozen=True)
class World:
    client: httpx.Client
    state: Path
    site: Site

    def apply(self, text: str, *, deploy: bool = True) -> None:
        query = "?deploy=true" if deploy else ""
        headers = {"Content-Type": "application/yaml"}
        answer = self.client.post(f"/api/v1/apply{query}", content=text, headers=headers)
        assert answer.status_code in {200, 201, 202}, answer.text

    def host(self, name: str, path: str = "") -> Any:
        answer = self.client.get(f"/api/v1/llmhosts/{name}{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.host(name)["status"]
        return found

    def until(self, check: Callable[[], Any], what: str) -> Any:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (answer := check()):
            assert time.monotonic() < deadline, f"not after {PATIENCE_SECONDS:.0f} s: {what}"
            time.sleep(0.1)
        return answer

    def until_status(self, name: str, wanted: str, *, no_error: bool = True) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            status = self.status(name)
            assert not (no_error and status.get("hostStatus") == "error"), status
            return status if status.get("hostStatus") == wanted else None

        try:
            found: dict[str, Any] = self.until(reached, f"{name} is {wanted}")
        except AssertionError as failure:
            raise AssertionError(f"{failure}: {self.status(name)}") from None
        return found

    def until_message(self, name: str, part: str) -> None:
        try:
            self.until(lambda: part in self.status(name).get("message", ""), part)
        except AssertionError as failure:
            raise AssertionError(f"{failure}: {self.status(name)}") from None


@pytest.fixture(scope="module")
def world(model_server: Path) -> Iterator[World]:
    site = Site(files={MODEL: random_model.model()}, lfs={MODEL})
    with hub(site), running_stack("tokens-e2e-", SMARTER_HUB_URL=site.url, **FAST) as folder:
        with client_of(folder) as client:
            made = World(client, folder, site)
            made.apply(COMPUTE, deploy=False)
            yield made
        execute(folder, "-c", PROGRAM, "down")
        assert servers_of(folder) == [], "`smarter down` left model servers running"


def servers_of(state: Path, port: int | None = None) -> list[int]:
    """Model servers whose weights lie in this state directory, of one port or of all."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            argv = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if Path(argv[0]).name == "llama-server" and any(str(state) in part for part in argv):
            if port is not None and argv[argv.index("--port") + 1] != str(port):
                continue
            found.append(int(entry.name))
    return found


def ask(port: int, path: str, key: str | None = KEY, body: Any = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=20, trust_env=False) as client:
        return client.get(path) if body is None else client.post(path, json=body)


def stream(port: int, tokens: int) -> tuple[float, list[str]]:
    """Seconds until the first token, and all of them."""
    body = {"messages": [{"role": "user", "content": "Once upon a time"}], "max_tokens": tokens, "stream": True}
    headers = {"Authorization": f"Bearer {KEY}"}
    address = f"http://127.0.0.1:{port}/v1/chat/completions"
    words: list[str] = []
    first = 0.0
    begun = time.monotonic()
    with (
        httpx.Client(timeout=20, trust_env=False) as client,
        client.stream("POST", address, json=body, headers=headers) as answer,
    ):
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line == "data: [DONE]":
                return first, words
            if line.startswith("data: "):
                choices = json.loads(line.removeprefix("data: "))["choices"]
                word = choices[0]["delta"].get("content") if choices else None
                if word:
                    first = first or time.monotonic() - begun
                    words.append(word)
    raise AssertionError("the stream had no end")


def argv_of(pid: int) -> list[str]:
    return (Path("/proc") / str(pid) / "cmdline").read_bytes().decode().split("\0")


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_from_a_manifest_to_tokens_and_to_nothing(world: World, record_property: Callable[[str, Any], None]) -> None:
    port = processes.free_port()
    world.apply(manifest("words", port))
    status = world.until_status("words", "active")
    assert status["readyReplicas"] == 1
    assert MODEL in " ".join(world.site.paths())

    # Who has no key gets nothing, but may ask whether it is well.
    assert ask(port, "/health", key=None).status_code == 200
    for key, code in ((None, 401), ("sk-wrong", 401), (KEY, 200)):
        assert ask(port, "/v1/models", key).status_code == code
        assert ask(port, "/v1/completions", key, {"prompt": "a", "max_tokens": 1}).status_code == code

    for _ in range(3):
        first, words = stream(port, 16)
        assert len(words) == 16
        assert all(word.strip().isalpha() for word in words)
        record_property(PROPERTY, first)

    # A second host cannot have the same port, and an engine that is not on the machine cannot run.
    world.apply(manifest("rival", port))
    world.apply(manifest("stranger", processes.free_port(), {"name": "custom", "image": "vllm/vllm-openai:v0.33.0"}))
    world.until_message("rival", "1 with the port of the server taken")
    world.until_message("stranger", "the program vllm is not on this machine")
    assert world.client.delete("/api/v1/llmhosts/stranger").status_code in {200, 202, 204}

    # What the pod says is what runs, and no secret is in it.
    weights, pods = set(world.state.glob("node/claims/*")), set(world.state.glob("node/pods/*"))
    (pid,) = servers_of(world.state, port)
    argv = argv_of(pid)
    assert argv[argv.index("--host") + 1] == "127.0.0.1"
    assert argv[argv.index("-c") + 1] == "1024"
    logs = world.host("words", "/logs?tailLines=200")["logs"]
    assert "slot" in logs
    assert KEY not in logs + " ".join(argv)

    assert world.client.delete("/api/v1/llmhosts/rival").status_code in {200, 202, 204}

    # The request of before the end is answered: the server hears of it when its time to drain is over.
    assert world.client.post("/api/v1/llmhosts/words/undeploy").status_code in {200, 202}
    world.until(lambda: world.status("words")["hostStatus"] != "active", "it is leaving")
    assert stream(port, 4)[1] != []
    world.until_status("words", "inactive")
    world.until(lambda: servers_of(world.state, port) == [] and not is_listening(port), "the process has ended")
    assert world.client.delete("/api/v1/llmhosts/words").status_code in {200, 202, 204}
    world.until(lambda: world.client.get("/api/v1/llmhosts/words").status_code == 404, "deleted")
    world.until(lambda: not weights & set(world.state.glob("node/claims/*")), "the weights are gone")
    assert not pods & set(world.state.glob("node/pods/*"))


def test_a_server_that_crashes_comes_back_and_the_status_tells(world: World) -> None:
    port = processes.free_port()
    world.apply(manifest("crashes", port))
    world.until_status("crashes", "active")
    downloads = len(world.site.downloads(MODEL))

    (first,) = servers_of(world.state, port)
    os.kill(first, signal.SIGSEGV)
    (second,) = world.until(lambda: [pid for pid in servers_of(world.state, port) if pid != first], "started again")
    world.until(lambda: is_listening(port), "it listens")
    os.kill(second, signal.SIGSEGV)
    status = world.until(
        lambda: found if (found := world.status("crashes"))["hostStatus"] != "active" else None, "it is told"
    )
    assert status["readyReplicas"] == 0
    world.until(lambda: "139" in world.status("crashes").get("message", ""), "the message says why")
    world.until_status("crashes", "active", no_error=False)
    assert stream(port, 4)[1] != []
    assert len(world.site.downloads(MODEL)) == downloads, "the weights of the volume were fetched again"
    assert world.client.delete("/api/v1/llmhosts/crashes").status_code in {200, 202, 204}
