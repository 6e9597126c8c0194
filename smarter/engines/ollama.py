"""Ollama: serves models of its own registry, and GGUF repositories, from a store of blobs and manifests.

Facts are those of Ollama 0.32. It has no flags, only variables, and it never asks for a key. It loads a model at the
first request for it, so a command that asks for nothing is the startup probe: it ends when the model is in memory, and
no client waits for that. The store is filled before the server starts, which reads it and writes to its home alone.
"""

from typing import Any

from smarter.core.engine import Engine, Launch, Probe, Termination, User
from smarter.core.formats import no_dtype_problems, quantization_problems
from smarter.core.images import images_of
from smarter.core.parallel import no_code_problems, spread_problems
from smarter.core.problems import Problem
from smarter.core.source import Weights

_LOADABLE = ("none", "fp16", "bf16", "mxfp4", "int8", "int4", "gguf")
_PRE_STOP_SECONDS = 30
_SHOW_SECONDS = 10


def launch(spec: Any, weights: Weights, served_name: str) -> Launch:
    engine = spec.engine
    env = {
        "HOME": "/tmp/ollama",
        "OLLAMA_HOST": f"0.0.0.0:{engine.port}",
        "OLLAMA_KEEP_ALIVE": "-1",
        "OLLAMA_LOAD_TIMEOUT": f"{spec.healthCheck.startupTimeoutSeconds}s",
        "OLLAMA_MAX_LOADED_MODELS": "1",
        "OLLAMA_MODELS": weights.folder,
        # Some of its models are answered by servers of its maker, and requests would leave the cluster.
        "OLLAMA_NO_CLOUD": "1",
        # The store may hold models of other hosts, and is mounted for reading only.
        "OLLAMA_NOPRUNE": "1",
    }
    if engine.contextLength is not None:
        env["OLLAMA_CONTEXT_LENGTH"] = str(engine.contextLength)
    if engine.maxConcurrentRequests is not None:
        env["OLLAMA_NUM_PARALLEL"] = str(engine.maxConcurrentRequests)
    if spec.resources.gpuCount > 1:
        env["OLLAMA_SCHED_SPREAD"] = "1"
    return Launch((), ("serve",), env)


def model_name(weights: Weights, served_name: str) -> str:
    return weights.name or served_name


def startup(spec: Any, weights: Weights) -> Probe:
    """Loads the model: an empty prompt does no more. Embedding models take none, and are loaded at the first request.
    The server gives loading up when the one that asks for it leaves, so the probe has all the time that there is."""
    if spec.model.task == "embedding":
        return _shows(weights)
    return Probe(
        command=("ollama", "run", str(weights.name), ""), timeout_seconds=spec.healthCheck.startupTimeoutSeconds
    )


def readiness(_spec: Any, weights: Weights) -> Probe:
    return _shows(weights)


def _shows(weights: Weights) -> Probe:
    """The server answers before it has a model; this looks whether it has this one."""
    return Probe(command=("ollama", "show", str(weights.name)), timeout_seconds=_SHOW_SECONDS)


def termination(_spec: Any) -> Termination:
    """On a signal all connections are cut, so requests get their time before it."""
    return Termination(2 * _PRE_STOP_SECONDS, pre_stop_sleep_seconds=_PRE_STOP_SECONDS)


def check(spec: Any) -> list[Problem]:
    return [
        *quantization_problems(spec, "ollama", _LOADABLE, "It runs GGUF files."),
        *no_dtype_problems(spec, "ollama"),
        *no_code_problems(spec, "ollama"),
        *spread_problems(spec, "ollama"),
        *_model_problems(spec),
        *_setting_problems(spec),
    ]


def _model_problems(spec: Any) -> list[Problem]:
    model = spec.model
    problems = []
    if model.revision is not None and model.source == "huggingface":
        words = "ollama takes a model by its tag, which has no revisions. Leave this out, or use the engine llama_cpp."
        problems.append(Problem("revision", "spec.model.revision", words))
    if (
        model.source == "huggingface"
        and model.file is not None
        and ("/" in model.file or ".gguf" in model.file.lower())
    ):
        words = "ollama takes the tag of a quantization in place of a file, for example Q4_K_M."
        problems.append(Problem("file", "spec.model.file", words))
    if model.source == "huggingface" and model.tokenSecret is not None:
        words = "ollama's way to Hugging Face knows no tokens. Use the engine llama_cpp for a private model."
        problems.append(Problem("token", "spec.model.tokenSecret", words))
    if model.servedName not in (None, model.repository):
        words = "ollama cannot rename a model: requests must give the name of the repository. Leave this out."
        problems.append(Problem("served_name", "spec.model.servedName", words))
    return problems


def _setting_problems(spec: Any) -> list[Problem]:
    engine = spec.engine
    problems = []
    if engine.gpuMemoryUtilization is not None:
        words = "ollama takes what the model needs. To leave memory free, set OLLAMA_GPU_OVERHEAD in env, in bytes."
        problems.append(Problem("gpu_memory", "spec.engine.gpuMemoryUtilization", words))
    if engine.args:
        words = "ollama has no arguments; its settings are variables, which go into env."
        problems.append(Problem("arguments", "spec.engine.args", words))
    return problems


ENGINE = Engine(
    name="ollama",
    images=images_of("ollama"),
    port=11434,
    health=Probe("/api/version"),
    startup=startup,
    readiness=readiness,
    layout="registry",
    api_formats=("openai_compatible", "ollama_native"),
    tasks=("text-generation", "embedding"),
    sources=("ollama", "huggingface"),
    # Its own OLLAMA_AUTH is about its maker's servers. Whoever reaches the port may also delete and bring models, so an
    # address exposes what uses them and nothing that changes them.
    falls_back=True,
    authenticates=False,
    public_paths={
        "openai_compatible": ("/v1",),
        "ollama_native": (
            "/api/chat",
            "/api/embed",
            "/api/embeddings",
            "/api/generate",
            "/api/show",
            "/api/tags",
            "/api/version",
        ),
    },
    metrics_path=None,
    user=User(uid=10001, gid=10001, fs_group=10001),
    writable={"tmp": "/tmp"},
    termination=termination,
    launch=launch,
    check=check,
    model_name=model_name,
    env_prefixes=("OLLAMA_", "GGML_", "LLAMA_ARG_", "HIP_", "HSA_", "OMP_", "ROCR_", "GPU_DEVICE_ORDINAL", "TZ"),
    managed_env={
        "OLLAMA_CONTEXT_LENGTH": "spec.engine.contextLength",
        "OLLAMA_HOST": "spec.engine.port",
        "OLLAMA_LOAD_TIMEOUT": "spec.healthCheck.startupTimeoutSeconds",
        "OLLAMA_NUM_PARALLEL": "spec.engine.maxConcurrentRequests",
        "OLLAMA_SCHED_SPREAD": "spec.resources.gpuCount",
    },
    reserved_env=frozenset(
        {
            "GGML_BACKEND_PATH",
            "OLLAMA_AUTH",
            "OLLAMA_DEBUG_LOG_REQUESTS",
            "OLLAMA_EDITOR",
            "OLLAMA_KEEP_ALIVE",
            "OLLAMA_MAX_LOADED_MODELS",
            "OLLAMA_MODELS",
            "OLLAMA_NOPRUNE",
            "OLLAMA_NO_CLOUD",
            "OLLAMA_ORIGINS",
            "OLLAMA_REMOTES",
        }
    ),
    reserves_context=True,
)
