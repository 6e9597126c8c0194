"""What is tried for each field: a value, and what must stand beside it so that the value can mean something."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from smarter.models.sam.llm_host import SAMLLMHostSpec

Spec = dict[str, Any]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
_INGRESS = {"network.ingress": True, "network.allowUnauthenticated": True}

# One right manifest for each engine, on one of four GPUs. What an engine needs beside this is its own row here.
_USUAL: Spec = {
    "model": {"repository": "owner/model", "parameterCount": 600_000_000},
    "resources": {"cpu": "2", "memory": "12Gi", "gpuCount": 1},
    "compute": "gpu_l4_4x",
}
_OF_ENGINE: dict[str, dict[str, Any]] = {
    "llama_cpp": {"model.file": "model-Q8_0.gguf"},
    "ollama": {"model.source": "ollama", "model.repository": "name:tag"},
    "tei": {"model.task": "embedding"},
    "custom": {"engine.image": "registry.example.com/server:1.2", "engine.port": 8000, "healthCheck.path": "/health"},
}


@dataclass(frozen=True, slots=True)
class Sample:
    """`beside` holds before and after; `title` is for a row that is better called otherwise than by field and value."""

    path: str
    value: Any
    beside: dict[str, Any] = field(default_factory=dict)
    title: str = ""


SAMPLES: tuple[Sample, ...] = (
    Sample("model.revision", COMMIT),
    Sample("model.file", "other-Q4_0.gguf"),
    Sample("model.servedName", "chat"),
    Sample("model.task", "embedding"),
    Sample("model.task", "text-generation"),
    Sample("model.tokenSecret", "hub_token"),
    Sample("model.parameterCount", 900_000_000),
    Sample("model.contextWindow", 4096, {"engine.contextLength": 8192}),
    Sample("model.architecture", "qwen3"),
    Sample("model.license", "apache-2.0"),
    Sample("model.embeddingDimensions", 1024),
    *(Sample(f"model.capabilities.{name}", value) for name, value in (
        ("functionCalling", True), ("reasoning", True), ("vision", True), ("streaming", False))),
    Sample("engine.contextLength", 4096),
    Sample("engine.maxConcurrentRequests", 8, {"engine.contextLength": 4096}),
    Sample("engine.tensorParallelSize", 4, {"resources.gpuCount": 4}),
    Sample("engine.tensorParallelSize", 2, {"resources.gpuCount": 4}),
    Sample("engine.gpuMemoryUtilization", 0.8),
    Sample("engine.trustRemoteCode", True, {"model.revision": COMMIT}),
    Sample("engine.port", 9000),
    Sample("engine.image", "registry.example.com/other:2.0"),
    Sample("engine.command", ["/bin/serve"]),
    Sample("engine.args", ["--sample-flag", "1"]),
    Sample("engine.env", {"SAMPLE_VARIABLE": "1"}),
    *(Sample("engine.apiFormat", name, _INGRESS)
      for name in ("openai_compatible", "huggingface", "ollama_native", "custom")),
    Sample("healthCheck.path", "/other"),
    Sample("healthCheck.periodSeconds", 60),
    Sample("healthCheck.startupTimeoutSeconds", 1200),
    Sample("resources.cpu", "3"),
    Sample("resources.memory", "13Gi"),
    Sample("resources.gpuCount", 2),
    Sample("resources.gpuCount", 0, {"engine.image": "registry.example.com/for-both:1.0", "compute": None}),
    Sample("resources.gpuCount", 0, {"compute": None}),
    Sample("resources.gpuResource", "amd.com/gpu",
           {"engine.image": "registry.example.com/for-both:1.0", "compute": None}),
    Sample("resources.gpuResource", "amd.com/gpu", {"compute": None}),
    Sample("resources.shmSize", "4Gi"),
    Sample("resources.nodeSelector", {"zone": "a"}),
    Sample("resources.tolerations", [{"key": "reserved", "operator": "Exists"}]),
    Sample("resources.serviceAccountName", "bucket-reader"),
    Sample("resources.vramRequiredGb", 40),
    Sample("compute", "gpu_l40s_1x"),
    Sample("scaling.replicas", 2, {"storage.accessMode": "ReadWriteMany"}),
    Sample("network.ingress", True),
    Sample("network.ingress", True, {"network.allowUnauthenticated": True}),
    Sample("network.hostname", "chat.example.com", _INGRESS),
    Sample("network.apiKeySecret", "my_key"),
    Sample("network.allowUnauthenticated", True, {"network.ingress": True}),
    Sample("storage.size", "60Gi"),
    Sample("storage.storageClass", "fast"),
    Sample("storage.accessMode", "ReadWriteMany"),
    Sample("storage.existingClaim", "team-weights"),
    Sample("storage.retain", False),
)  # fmt: skip

FORMATS: tuple[Sample, ...] = (
    *(Sample("model.quantization", name)
      for name in ("none", "fp32", "fp16", "bf16", "fp8", "mxfp4", "int8", "int4", "gguf", "awq", "gptq")),
    *(Sample("engine.dtype", name) for name in ("auto", "float16", "bfloat16", "float32")),
)  # fmt: skip

# The fields of a model's place, for the table of sources: the right ones, and then one more.
PLACES: dict[str, dict[str, Any]] = {
    "huggingface": {"model.repository": "owner/model"},
    "ollama": {"model.source": "ollama", "model.repository": "name:tag"},
    "s3": {"model.source": "s3", "model.repository": "s3://bucket/prefix"},
    "url": {"model.source": "url", "model.repository": "https://example.com/model.gguf"},
    "pvc": {"model.source": "pvc", "model.repository": "folder", "storage.existingClaim": "team-weights"},
}
OF_PLACES: tuple[Sample, ...] = (
    Sample("model.revision", COMMIT),
    Sample("model.file", "other-Q4_0.gguf"),
    Sample("model.tokenSecret", "hub_token"),
    Sample("resources.serviceAccountName", "bucket-reader"),
    Sample("engine.env", {"AWS_REGION": "eu-central-1"}, title="engine.env.AWS_REGION: eu-central-1"),
    Sample(
        "engine.env",
        {"AWS_ENDPOINT_URL": "https://s3.example.com"},
        title="engine.env.AWS_ENDPOINT_URL: https://s3.example.com",
    ),
    Sample("storage.accessMode", "ReadWriteMany"),
    Sample("storage.accessMode", "ReadOnlyMany"),
)

# Fields that clients read, and that change nothing in how a model is served.
INFORMATION = frozenset(
    {
        "model.architecture",
        "model.license",
        "model.embeddingDimensions",
        "model.capabilities.functionCalling",
        "model.capabilities.reasoning",
        "model.capabilities.vision",
        "model.capabilities.streaming",
    }
)
# What the tables are about, rather than a row of them.
COLUMNS = frozenset({"engine.name", "model.source", "model.repository"})


def base_of(engine: str) -> Spec:
    changes = {"engine.name": engine, **_OF_ENGINE.get(engine, {})}
    return with_changes(_USUAL, changes)


def with_changes(base: Spec, changes: dict[str, Any]) -> Spec:
    """Dotted paths below spec, set one after the other in a copy."""
    spec = {name: dict(value) if isinstance(value, dict) else value for name, value in base.items()}
    for path, value in changes.items():
        *parents, last = path.split(".")
        block = spec
        for parent in parents:
            block[parent] = dict(block.get(parent) or {})
            block = block[parent]
        block[last] = value
    return spec


def fields(model: type[BaseModel] = SAMLLMHostSpec, prefix: str = "") -> Iterator[str]:
    """Every field of a spec that holds a value, dotted."""
    for name, info in model.model_fields.items():
        block = _block(info.annotation)
        if block is None:
            yield f"{prefix}{name}"
        else:
            yield from fields(block, f"{prefix}{name}.")


def _block(annotation: Any) -> type[BaseModel] | None:
    choices = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return next((one for one in choices if isinstance(one, type) and issubclass(one, BaseModel)), None)
