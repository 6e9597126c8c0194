"""Rules that more than one manifest is needed for. Each rule by its number: see `rules/`."""

from typing import Any

import pytest

from smarter.core.facts import Environment
from tests.llm_hosts import KIND, LLAMA, VLLM, facts, host, problems, secret


def found(base: dict[str, Any], changes: dict[str, Any]) -> list[tuple[str, str]]:
    return [(problem.path, problem.level) for problem in problems(host(changes, base))]


@pytest.mark.parametrize(
    "hostname",
    ["https://llm.example.org", "llm.example.org/v1", "*.example.org", "my_llm.example.org", "10.0.0.1", "a" * 300,
     "localhost", "chat.example.org.", "[::1]", "a..b", "-a.example.org"],
)  # fmt: skip
def test_bad_hostnames(hostname: str) -> None:
    assert ("spec.network.hostname", "error") in found(
        VLLM, {"network.ingress": True, "network.hostname": hostname[:253]}
    )


@pytest.mark.parametrize("hostname", ["LLM.Example.org", "xn--bcher-kva.example", "a.b"])
def test_good_hostnames(hostname: str) -> None:
    assert found(VLLM, {"network.ingress": True, "network.hostname": hostname}) == []


@pytest.mark.parametrize("value", ["", "   ", "a b", "a,b", "a\nb", "Bearer hf_abc", "ключ"])
def test_unusable_keys(value: str) -> None:
    manifest = host({"network.apiKeySecret": "k"})
    from_facts = facts(manifest)
    bad = problems(manifest, secrets={**from_facts.secrets, "k": secret("k", value)})
    assert [problem.path for problem in bad] == ["spec.network.apiKeySecret"]
    assert all(value not in problem.message for problem in bad if value.strip())


def test_a_service_account_that_the_operator_allows() -> None:
    manifest = host({"resources.serviceAccountName": "s3-reader"})
    assert problems(manifest, environment=Environment(service_accounts=("s3-reader",))) == []


def test_a_right_manifest_has_no_problems() -> None:
    assert problems(host()) == []
    assert problems(host(base=LLAMA)) == []


def test_all_faults_are_told_at_once() -> None:
    wrong = {
        "compute": "gpu_nope",
        "engine.args": ["--api-key", "x", "--host=::"],
        "engine.dtype": "int8",
        "model.servedName": "-x",
        "network.hostname": "a b",
        "storage.accessMode": "ReadOnlyMany",
    }
    assert {path for path, level in found(VLLM, wrong) if level == "error"} == {
        "spec.compute",
        "spec.engine.args[0]",
        "spec.engine.args[2]",
        "spec.engine.dtype",
        "spec.model.servedName",
        "spec.network.hostname",
        "spec.storage.accessMode",
    }


def test_labels_help_to_choose_a_node_type() -> None:
    """One that the manifest's own labels rule out is not chosen where another one fits."""
    chosen = {}
    for instance in ("g6.2xlarge", "g5.2xlarge"):
        manifest = host({"resources.nodeSelector": {"node.kubernetes.io/instance-type": instance}})
        assert problems(manifest) == []
        placement = KIND.placement(manifest, facts(manifest))
        assert placement is not None
        chosen[instance] = placement.compute.instance_type
    assert chosen == {instance: instance for instance in chosen}


def test_what_an_engine_cannot_take_names_what_it_can() -> None:
    (problem,) = problems(host({"model.source": "ollama", "model.repository": "llama3.1:8b"}))
    assert "it takes huggingface, s3, url, pvc" in problem.message


def test_a_custom_server_is_told_of_everything_it_lacks_at_once() -> None:
    missing = found({"model": {"repository": "a/b"}, "engine": {"name": "custom"}}, {})
    assert {("spec.engine.image", "error"), ("spec.engine.port", "error")} <= set(missing)


@pytest.mark.parametrize(
    ("image", "right"),
    [("vllm/vllm-openai:v0.33.0", False), ("vllm/vllm-openai:v0.33.0-rocm", True), ("rocm/vllm:v0.33.0", True),
     ("example.com/vllm:1", True)],
)  # fmt: skip
def test_images_for_gpus_of_another_maker(image: str, right: bool) -> None:
    spec = {"resources.gpuResource": "amd.com/gpu", "engine.image": image}
    told = KIND.admit(host(spec), None)
    assert ([problem.path for problem in told] == []) is right
