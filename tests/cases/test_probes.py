"""Cases of probes: how long they wait, what they ask, and that they need no key."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from smarter.apps.reconcile import answers
from smarter.apps.reconcile.models import AnswerCheck
from smarter.apps.secrets import services as secrets
from smarter.cluster.asking import Reply, Request, ask
from smarter.engines import ENGINES
from tests.cases.conftest import Desk
from tests.cases.manifests import SPECS
from tests.llm_hosts import engine_of, host, objects, one

AVAILABLE = list(SPECS)
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
LEAST_TIMEOUT_SECONDS = 5


@pytest.mark.parametrize("name", AVAILABLE)
@pytest.mark.parametrize("period", [None, 1, 5, 30, 300])
def test_c47_probes_wait_long_enough(name: str, period: int | None) -> None:
    changes = {} if period is None else {"healthCheck.periodSeconds": period}
    found = engine_of(objects(host(changes, SPECS[name])))
    for probe in PROBES:
        timeout = found[probe]["timeoutSeconds"]
        assert timeout >= LEAST_TIMEOUT_SECONDS
        if loads(found[probe]):
            continue
        # An answer that takes long must not be overtaken by the next question.
        assert timeout <= max(found[probe]["periodSeconds"], LEAST_TIMEOUT_SECONDS)


def loads(probe: dict[str, Any]) -> bool:
    """Whether the probe is a command that itself loads the model, and may take all the time that there is."""
    return "exec" in probe and probe["timeoutSeconds"] >= 60


@pytest.mark.parametrize("name", AVAILABLE)
@pytest.mark.parametrize(("timeout", "period"), [(3600, 10), (60, 300), (61, 7), (21600, 1)])
def test_c47_start_may_take_as_long_as_the_manifest_says(name: str, timeout: int, period: int) -> None:
    changes = {"healthCheck.startupTimeoutSeconds": timeout, "healthCheck.periodSeconds": period}
    probe = engine_of(objects(host(changes, SPECS[name])))["startupProbe"]
    if loads(probe):
        assert probe["timeoutSeconds"] >= timeout
    else:
        assert probe["failureThreshold"] * probe["periodSeconds"] >= timeout


# How each engine answers while it loads: no answer or 503 at the path, until the model can be used.
LOADING_IS_SEEN: dict[str, set[str]] = {
    "vllm": {"/health"},
    "sglang": {"/health", "/ready"},
    "tgi": {"/health"},
    "llama_cpp": {"/health"},
    "tei": {"/health"},
}


@pytest.mark.parametrize("name", [name for name in AVAILABLE if name != "custom"])
def test_c49_readiness_asks_for_the_model_and_not_for_the_process(name: str) -> None:
    probe = engine_of(objects(host(base=SPECS[name])))["readinessProbe"]
    if name in LOADING_IS_SEEN:
        assert probe["httpGet"]["path"] in LOADING_IS_SEEN[name]
    else:
        assert SPECS[name]["model"]["repository"] in " ".join(probe["exec"]["command"])


PUBLIC = {"network.ingress": True}
AUTHENTICATING = [name for name in AVAILABLE if ENGINES[name].authenticates]


@pytest.mark.parametrize("name", AUTHENTICATING)
def test_c50_probes_need_no_key_and_hold_none(name: str) -> None:
    rendered = objects(host(PUBLIC, SPECS[name]))
    found = engine_of(rendered)
    exposed = [path["path"] for path in one(rendered, "Ingress")["spec"]["rules"][0]["http"]["paths"]]
    for probe in PROBES:
        asked: dict[str, Any] = found[probe].get("httpGet", {})
        assert "httpHeaders" not in asked
        # What the engine guards is what is exposed; the path of a probe is neither.
        assert not any(asked.get("path", "").startswith(prefix) for prefix in exposed)
    assert "the-value" not in json.dumps([body for body in rendered if body["kind"] != "Secret"])


@pytest.mark.parametrize("name", AUTHENTICATING)
def test_c50_key_reaches_the_engine_by_reference_only(name: str) -> None:
    rendered = objects(host(PUBLIC, SPECS[name]))
    key = one(rendered, "Secret")["metadata"]["name"]
    pod = one(rendered, "Deployment")["spec"]["template"]["spec"]
    assert key in json.dumps(pod), "by a variable or by a file of the Secret"
    assert "the-value" not in json.dumps(pod)


@dataclass
class FakeEngine:
    """Healthy from the first moment; knows its models when it has loaded them; asks for a key below /v1."""

    key: str = ""
    models: list[str] = field(default_factory=list)
    port: int = 0
    refused: int = 0

    def answer(self, authorization: str, wanted: str) -> tuple[int, dict[str, Any]]:
        if self.key and authorization != f"Bearer {self.key}":
            self.refused += 1
            return 401, {"error": "Unauthorized"}
        if wanted not in self.models:
            return 404, {"error": f"The model {wanted} does not exist."}
        return 200, {"choices": [{"text": "a"}]}


@contextmanager
def serving(engine: FakeEngine) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, found = engine.answer(self.headers.get("Authorization", ""), body["model"])
            data = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        engine.port = server.server_port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEngine]:
    """Stands for the server behind every Service of the simulated cluster."""
    made = FakeEngine()

    def redirected(request: Request) -> Reply:
        return ask(replace(request, address="127.0.0.1", port=made.port, allow_loopback=True))

    monkeypatch.setattr(answers, "ask", redirected)
    monkeypatch.setattr(settings.SMARTER, "answer_check_clusters", "default")
    with serving(made):
        yield made


def asked(desk: Desk) -> dict[str, str]:
    """The condition Answers, after one more question."""
    answers.ask_due()
    AnswerCheck.objects.update(next_at=timezone.now())
    assert answers.ask_due() == 1
    desk.world.round()
    (found,) = [one for one in desk.status()["conditions"] if one["type"] == "Answers"]
    return dict(found)


@pytest.mark.django_db(transaction=True)
def test_c49_health_before_the_model_is_not_taken_for_an_answer(desk: Desk, engine: FakeEngine) -> None:
    desk.run({"model.servedName": "qwen"})
    assert asked(desk)["status"] != "True"
    engine.models.append("another")
    assert asked(desk)["status"] != "True"
    engine.models.append("qwen")
    assert asked(desk)["status"] == "True"


@pytest.mark.django_db(transaction=True)
def test_c50_question_carries_the_key(desk: Desk, engine: FakeEngine) -> None:
    desk.run(PUBLIC)
    engine.models.append("case_host")
    name = "llmhost_case_host_api_key"
    engine.key = secrets.use(desk.http.account, [name], "test")[name].value.get_secret_value()
    assert asked(desk)["status"] == "True"
    assert engine.refused == 0
    assert desk.status()["healthy"] is True
    engine.key = "another"
    assert asked(desk)["reason"] == "KeyRefused"
    assert engine.refused > 0
