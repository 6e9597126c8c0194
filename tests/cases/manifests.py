"""The base manifest of the cases, and what differs from it in each."""

from typing import Any

from tests.llm_hosts import spec_with

BASE: dict[str, Any] = {
    "model": {"source": "huggingface", "repository": "Qwen/Qwen3-8B"},
    "engine": {"name": "vllm"},
    "resources": {"cpu": "4", "memory": "24Gi", "gpuCount": 1},
}
CPU: dict[str, Any] = {
    "model": {"source": "huggingface", "repository": "Qwen/Qwen3-0.6B-GGUF", "file": "Qwen3-0.6B-Q8_0.gguf"},
    "engine": {"name": "llama_cpp"},
    "resources": {"cpu": "2", "memory": "8Gi", "gpuCount": 0},
}


def manifest(
    changes: dict[str, Any] | None = None, *, base: dict[str, Any] = BASE, name: str = "case_host", **metadata: Any
) -> dict[str, Any]:
    """`changes` are dotted paths below spec; None takes the field out."""
    return {
        "apiVersion": "smarter.sh/v1",
        "kind": "LLMHost",
        "metadata": {"name": name, "description": "acceptance case", "version": "1.0.0", **metadata},
        "spec": spec_with(base, changes or {}),
    }


def secret(name: str, value: str) -> dict[str, Any]:
    return {
        "apiVersion": "smarter.sh/v1",
        "kind": "Secret",
        "metadata": {"name": name, "description": "a value", "version": "1.0.0"},
        "spec": {"config": {"value": value}},
    }


def _with(name: str, changes: dict[str, Any], base: dict[str, Any] = BASE) -> dict[str, Any]:
    return spec_with(base, {"engine.name": name, **changes})


# One manifest that each engine accepts, on a GPU.
SPECS: dict[str, dict[str, Any]] = {
    "vllm": BASE,
    "sglang": _with("sglang", {}),
    "tgi": _with("tgi", {}),
    "llama_cpp": _with("llama_cpp", {"resources.gpuCount": 1, "resources.memory": "24Gi"}, CPU),
    "ollama": _with("ollama", {"model.source": "ollama", "model.repository": "llama3.1:8b"}),
    "tei": _with("tei", {"model.repository": "BAAI/bge-base-en-v1.5", "model.task": "embedding"}),
    "custom": _with("custom", {"engine.image": "registry.example.com/team/server:1.2", "engine.port": 9000}),
}
