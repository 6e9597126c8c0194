"""Whatever manifest the rules let through: the same bytes twice, names within limits, the restricted profile, no value
and no text of the user where none may be."""

import json
import re
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smarter.core.problems import errors_of
from smarter.models.sam.base import validate
from smarter.models.sam.llm_host import SAMLLMHost
from tests.llm_hosts import KIND, facts, problems, secret
from tests.restricted import faults

CANARY = "canary"
NAMES = st.from_regex(r"[a-z0-9]{1,12}(?:_[a-z0-9]{1,12}){0,3}", fullmatch=True).filter(lambda name: len(name) <= 50)
WORDS = st.from_regex(r"canary[A-Za-z0-9._/-]{0,20}", fullmatch=True)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def vllm_model(draw: Any) -> dict[str, Any]:
    return {
        "repository": "canary-owner/canary-model",
        "revision": draw(maybe(WORDS)),
        "servedName": draw(maybe(WORDS)),
        "tokenSecret": draw(maybe(st.just("hf_token"))),
        "quantization": draw(st.sampled_from([None, "none", "fp8", "awq", "bf16", "gguf"])),
        "task": draw(st.sampled_from([None, "text-generation", "embedding"])),
        "parameterCount": draw(maybe(st.integers(0, 10**12))),
    }


def llama_model(draw: Any) -> dict[str, Any]:
    source = draw(st.sampled_from(["huggingface", "url", "pvc"]))
    repository = {
        "huggingface": "canary-owner/canary-model",
        "url": "https://canary.example.com/canary.gguf",
        "pvc": "canary/folder",
    }[source]
    return {"source": source, "repository": repository, "file": "canary/a.gguf", "servedName": draw(maybe(WORDS))}


@st.composite
def specs(draw: Any) -> dict[str, Any]:
    name = draw(st.sampled_from(["vllm", "llama_cpp"]))
    model = vllm_model(draw) if name == "vllm" else llama_model(draw)
    access = draw(st.sampled_from([None, "ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"]))
    ingress = draw(st.booleans())
    return {
        "compute": draw(st.sampled_from([None, "gpu_l4_1x", "cpu_medium"])),
        "model": model,
        "engine": {
            "name": name,
            "port": draw(maybe(st.integers(1024, 65535))),
            "contextLength": draw(maybe(st.integers(1, 200_000))),
            "maxConcurrentRequests": draw(maybe(st.integers(1, 500))),
            "args": draw(maybe(st.just(["--canary-flag", "canary $(VLLM_API_KEY)"]))),
            "env": draw(maybe(st.just({"VLLM_CANARY": "canary $(HF_TOKEN)"}))),
        },
        "resources": {
            "cpu": draw(st.sampled_from([None, "500m", "2", "6"])),
            "memory": draw(st.sampled_from([None, "1Gi", "12Gi", "24Gi"])),
            "gpuCount": draw(st.sampled_from([None, 0, 1, 2, 4])),
            "shmSize": draw(st.sampled_from([None, "64Mi", "8Gi"])),
            "nodeSelector": draw(maybe(st.just({"canary.example.com/label": "canary"}))),
            "tolerations": draw(maybe(st.just([{"key": "canary", "operator": "Exists"}]))),
        },
        "storage": {
            "accessMode": access,
            "existingClaim": "canary-claim" if model.get("source") == "pvc" else None,
            "retain": draw(st.booleans()),
        },
        "scaling": {"replicas": draw(st.integers(1, 3))},
        "network": {
            "ingress": ingress,
            "hostname": draw(maybe(st.just("canary.example.org"))),
            "allowUnauthenticated": draw(st.booleans()),
            "apiKeySecret": draw(maybe(st.just("api_key"))),
        },
        "healthCheck": {"path": draw(maybe(st.just("/canary"))), "periodSeconds": draw(st.integers(1, 300))},
    }


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=NAMES, spec=specs())
def test_objects(name: str, spec: dict[str, Any]) -> None:
    document = {"apiVersion": "smarter.sh/v1", "kind": "LLMHost", "metadata": {"name": name}, "spec": spec}
    manifest, wrong = validate(SAMLLMHost, document)
    assert manifest is not None, wrong
    values = {key: secret(key, f"value-of-{key}") for key in facts(manifest).secrets}
    if errors_of(problems(manifest)):
        return
    first = KIND.render(manifest, facts(manifest, secrets=values))
    assert json.dumps(first) == json.dumps(KIND.render(manifest, facts(manifest, secrets=values)))
    for body in first:
        metadata = body["metadata"]
        assert re.fullmatch(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?", metadata["name"])
        assert CANARY not in json.dumps([metadata.get("annotations"), metadata["labels"]])
        if body["kind"] != "Secret":
            assert "value-of-" not in json.dumps(body)
        if body["kind"] == "Deployment":
            template = body["spec"]["template"]
            assert CANARY not in json.dumps(template["metadata"])
            assert faults(template["spec"]) == []
            assert_no_expansion(template["spec"])


def assert_no_expansion(spec: dict[str, Any]) -> None:
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        texts = [*container.get("command", []), *container["args"]]
        texts += [entry["value"] for entry in container["env"] if "value" in entry]
        for text in texts:
            assert not re.search(r"\$\(", text.replace("$$", ""))
