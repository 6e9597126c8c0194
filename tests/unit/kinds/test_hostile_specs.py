"""Rules answer, whatever stands in a field: no exception, no slow pattern, no text that a message repeats at length."""

import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smarter.models.sam.base import validate
from smarter.models.sam.llm_host import SAMLLMHost
from tests.llm_hosts import KIND, LLAMA, VLLM, facts, spec_with

TEXT_FIELDS = (
    "compute", "model.repository", "model.revision", "model.file", "model.servedName", "model.tokenSecret",
    "model.architecture", "engine.image", "engine.dtype", "resources.cpu", "resources.memory", "resources.shmSize",
    "resources.gpuResource", "resources.serviceAccountName", "storage.size", "storage.storageClass",
    "storage.existingClaim", "network.hostname", "network.apiKeySecret", "healthCheck.path",
)  # fmt: skip
NASTY = st.one_of(
    st.text(max_size=40),
    st.from_regex(r"[-./:@%$(){}\[\]a-z0-9 ]{0,40}", fullmatch=True),
    st.sampled_from(
        ["", " ", "-", "--", ".", "..", "/", "0", "1e9", "9" * 30, "\u0661Gi", "$(X)", "a" * 120, "https://"]
    ),
)


@st.composite
def hostile(draw: Any) -> dict[str, Any]:
    changes: dict[str, Any] = {field: draw(NASTY) for field in draw(st.sets(st.sampled_from(TEXT_FIELDS), max_size=6))}
    changes["model.source"] = draw(st.sampled_from(["huggingface", "url", "pvc", "s3", "ollama"]))
    changes["engine.args"] = draw(st.lists(NASTY, max_size=4))
    changes["engine.env"] = draw(st.dictionaries(NASTY, NASTY, max_size=3))
    changes["resources.nodeSelector"] = draw(st.dictionaries(NASTY, NASTY.map(lambda text: text[:63]), max_size=2))
    values = st.one_of(NASTY, st.integers(), st.none(), st.booleans(), st.lists(NASTY, max_size=2))
    keys = st.sampled_from(["key", "operator", "value", "effect", "tolerationSeconds", "other"])
    changes["resources.tolerations"] = draw(st.lists(st.dictionaries(keys, values, max_size=4), max_size=2))
    return spec_with(draw(st.sampled_from([VLLM, LLAMA])), changes)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(spec=hostile())
def test_rules_answer(spec: dict[str, Any]) -> None:
    document = {"apiVersion": "smarter.sh/v1", "kind": "LLMHost", "metadata": {"name": "a"}, "spec": spec}
    manifest, _ = validate(SAMLLMHost, document)
    if manifest is None:
        return
    problems = [*KIND.admit(manifest, None), *KIND.check(manifest, facts(manifest))]
    KIND.hostnames(manifest, facts(manifest))
    for problem in problems:
        assert problem.path.startswith("spec.")
        assert len(problem.message) < 1500
    if not [problem for problem in problems if problem.level == "error"]:
        KIND.render(manifest, facts(manifest))
        KIND.placement(manifest, facts(manifest))


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("network.hostname", "a." * 126 + "!"),
        ("network.hostname", "a-" * 126),
        ("model.repository", "a/" * 1000),
        ("model.repository", "https://" + "a." * 900 + "/"),
        ("model.file", "a-00001-of-" * 90),
        ("engine.image", "a/" * 250 + "!"),
        ("engine.image", "a__" * 170 + "!"),
        ("healthCheck.path", "/a" * 500 + "!"),
        ("storage.existingClaim", "a." * 126 + "!"),
        ("storage.existingClaim", "lh-" + "0" * 250),
        ("resources.gpuResource", "a." * 100 + "!"),
    ],
)
def test_patterns_are_quick(field: str, text: str) -> None:
    for source in ("huggingface", "url", "pvc"):
        spec = spec_with(VLLM, {field: text, "model.source": source, "network.ingress": True})
        document = {"apiVersion": "smarter.sh/v1", "kind": "LLMHost", "metadata": {"name": "a"}, "spec": spec}
        manifest, faults = validate(SAMLLMHost, document)
        assert manifest is not None, faults
        start = time.process_time()
        assert KIND.admit(manifest, None)
        assert time.process_time() - start < 0.05
