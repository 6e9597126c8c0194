"""Cases of probes: how long they wait, what they ask, and that they need no key."""

import json
from typing import Any

import pytest

from smarter.engines import ENGINES
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
