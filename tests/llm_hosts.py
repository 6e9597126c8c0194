"""LLMHosts for tests: a manifest that is right, what is changed in it, and the facts that a worker would have."""

import copy
from collections.abc import Iterable
from typing import Any

from pydantic import SecretStr

from smarter.cli.rendering import built_in_computes
from smarter.core.facts import AccountFact, Facts, SecretFact
from smarter.core.objects import KubernetesObject
from smarter.core.problems import Problem
from smarter.kinds import KINDS
from smarter.models.sam.base import load
from smarter.models.sam.llm_host import SAMLLMHost

KIND = KINDS[("smarter.sh/v1", "LLMHost")]
ACCOUNT = AccountFact("1111-2222-3333", "5b0c7d52-1b1b-4f0e-9f5b-6a4a0d6f5a01")
UID = "0d6cfb0c-6f6e-4a43-8f5f-2f1b8f2f4c11"
VLLM: dict[str, Any] = {
    "model": {"repository": "Qwen/Qwen3-8B"},
    "engine": {"name": "vllm"},
    "resources": {"cpu": "4", "memory": "24Gi", "gpuCount": 1},
}
LLAMA: dict[str, Any] = {
    "model": {"repository": "Qwen/Qwen3-0.6B-GGUF", "file": "Qwen3-0.6B-Q8_0.gguf"},
    "engine": {"name": "llama_cpp"},
}
_GPU = {"cpu": "4", "memory": "24Gi", "gpuCount": 1}
BASES: dict[str, dict[str, Any]] = {
    "vllm": VLLM,
    "llama_cpp": LLAMA,
    "sglang": {"model": {"repository": "Qwen/Qwen3-8B"}, "engine": {"name": "sglang"}, "resources": _GPU},
    "tgi": {"model": {"repository": "Qwen/Qwen3-8B"}, "engine": {"name": "tgi"}, "resources": _GPU},
    "ollama": {"model": {"source": "ollama", "repository": "llama3.1:8b"}, "engine": {"name": "ollama"}},
    "tei": {"model": {"repository": "BAAI/bge-m3", "task": "embedding"}, "engine": {"name": "tei"}},
    "custom": {
        "model": {"repository": "Qwen/Qwen3-0.6B"},
        "engine": {"name": "custom", "image": "registry.example.com/team/server:1.2", "port": 9000},
    },
}
"""One right manifest for each engine."""


def spec_with(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`changes` are dotted paths below spec; None takes the field out."""
    spec = copy.deepcopy(base)
    for path, value in changes.items():
        *parents, last = path.split(".")
        block = spec
        for parent in parents:
            block = block.setdefault(parent, {})
        block[last] = value
        if value is None:
            del block[last]
    return spec


def host(changes: dict[str, Any] | None = None, base: dict[str, Any] = VLLM, name: str = "case_host") -> SAMLLMHost:
    document = {
        "apiVersion": "smarter.sh/v1",
        "kind": "LLMHost",
        "metadata": {"name": name},
        "spec": spec_with(base, changes or {}),
    }
    return load(SAMLLMHost, document)


def secret(name: str, value: str = "the-value") -> SecretFact:
    return SecretFact(name, SecretStr(value), f"checksum-of-{name}")


def facts(manifest: SAMLLMHost, **changes: Any) -> Facts:
    """With every secret that the manifest names, and the one that is made for it."""
    names = [reference.name for reference in KIND.references(manifest) if reference.kind == "Secret"]
    names += KIND.generated_secrets(manifest)
    fields: dict[str, Any] = {
        "account": ACCOUNT,
        "uid": UID,
        "features": frozenset({"cert-manager"}),
        "computes": built_in_computes(),
        "secrets": {name: secret(name) for name in names},
    }
    return Facts(**{**fields, **changes})


def problems(manifest: SAMLLMHost, **changes: Any) -> list[Problem]:
    """All of them, from the rules that need facts too."""
    return [*KIND.admit(manifest, None), *KIND.check(manifest, facts(manifest, **changes))]


def objects(manifest: SAMLLMHost, **changes: Any) -> list[KubernetesObject]:
    return KIND.render(manifest, facts(manifest, **changes))


def one(found: Iterable[KubernetesObject], kind: str) -> KubernetesObject:
    matching = [body for body in found if body["kind"] == kind]
    assert len(matching) == 1, f"{len(matching)} objects of kind {kind}"
    return matching[0]


def kinds_of(found: Iterable[KubernetesObject]) -> list[str]:
    return [body["kind"] for body in found]


def engine_of(found: Iterable[KubernetesObject]) -> dict[str, Any]:
    container: dict[str, Any] = one(found, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    return container
