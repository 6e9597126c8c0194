"""Manifests that are right, one for each engine and source that rules speak of."""

from tests.llm_hosts import LLAMA, VLLM
from tests.unit.kinds.rules.rule import Changes, Spec

__all__ = [
    "COMMIT",
    "CPU",
    "CUSTOM",
    "LLAMA",
    "OLLAMA",
    "OLLAMA_HUB",
    "PVC",
    "S3",
    "SGLANG",
    "TEI",
    "TGI",
    "URL",
    "VLLM",
]

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SGLANG: Spec = {
    "model": {"repository": "Qwen/Qwen3-8B"},
    "engine": {"name": "sglang"},
    "resources": {"cpu": "4", "memory": "24Gi", "gpuCount": 1},
}
TGI: Spec = {**SGLANG, "engine": {"name": "tgi"}}
OLLAMA: Spec = {"model": {"source": "ollama", "repository": "llama3.1:8b"}, "engine": {"name": "ollama"}}
OLLAMA_HUB: Spec = {
    "model": {"repository": "Qwen/Qwen3-8B-GGUF", "file": "Q4_K_M"},
    "engine": {"name": "ollama"},
}
TEI: Spec = {"model": {"repository": "BAAI/bge-small-en-v1.5", "task": "embedding"}, "engine": {"name": "tei"}}
CUSTOM: Spec = {
    "model": {"repository": "Qwen/Qwen3-8B"},
    "engine": {"name": "custom", "image": "registry.example.com/server:1.2", "port": 8000},
    "healthCheck": {"path": "/health"},
}
# Changes.
PVC: Changes = {"model.source": "pvc", "model.repository": "qwen3", "storage.existingClaim": "team-weights"}
URL: Changes = {"model.source": "url", "model.repository": "https://example.com/m.gguf", "model.file": None}
S3: Changes = {"model.source": "s3", "model.repository": "s3://models/qwen3", "model.tokenSecret": "keys"}
CPU: Changes = {"resources.gpuCount": 0, "resources.cpu": "2", "resources.memory": "12Gi"}
