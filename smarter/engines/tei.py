"""Text Embeddings Inference: serves embedding models, on processors or on one GPU.

Facts are those of TEI 1.9.3. Its parser refuses a flag that comes twice, and reads every flag from the environment too,
by its name in capitals.
"""

from typing import Any

from smarter.core.arguments import env_twin
from smarter.core.engine import Engine, Launch, Probe, Termination, User
from smarter.core.formats import dtype_argument, dtype_problems, folder_problems, quantization_problems
from smarter.core.images import images_of
from smarter.core.parallel import no_code_problems
from smarter.core.problems import Problem, warning
from smarter.core.source import Weights

_LOADABLE = ("none", "fp32", "fp16")
_DTYPES = {"float16": "float16", "float32": "float32"}
_LEAST_BATCH = 16384
"""The server's own batch, in tokens. An input is never longer than the batch; a smaller one would only be slower."""
_PRE_STOP_SECONDS = 5
_DRAIN_SECONDS = 25


def launch(spec: Any, weights: Weights, served_name: str) -> Launch:
    engine = spec.engine
    args = ["--model-id", weights.path, "--served-model-name", served_name, "--hostname", "0.0.0.0"]
    args += ["--port", str(engine.port)]
    dtype = dtype_argument(spec)
    if dtype is not None:
        args += ["--dtype", dtype]
    if engine.contextLength is not None:
        args += ["--max-batch-tokens", str(max(engine.contextLength, _LEAST_BATCH))]
    if engine.maxConcurrentRequests is not None:
        args += ["--max-concurrent-requests", str(engine.maxConcurrentRequests)]
    # The image says this itself, until it is given arguments.
    args.append("--json-output")
    return Launch((), tuple(args), {"HOME": "/tmp"}, {"API_KEY": "api-key"})


def termination(_spec: Any) -> Termination:
    return Termination(_PRE_STOP_SECONDS + _DRAIN_SECONDS, pre_stop_sleep_seconds=_PRE_STOP_SECONDS)


def check(spec: Any) -> list[Problem]:
    return [
        *folder_problems(spec, "tei"),
        *quantization_problems(spec, "tei", _LOADABLE),
        *dtype_problems(spec, "tei", _DTYPES),
        *_half_problems(spec),
        *no_code_problems(spec, "tei"),
        *_setting_problems(spec),
        *_gpu_problems(spec),
    ]


def _half_problems(spec: Any) -> list[Problem]:
    if spec.resources.gpuCount or spec.engine.image or dtype_argument(spec) != "float16":
        return []
    path = "spec.engine.dtype" if spec.engine.dtype else "spec.model.quantization"
    words = "On processors tei computes in float32 alone. Leave this out, or ask for a GPU."
    return [Problem("dtype", path, words)]


def _setting_problems(spec: Any) -> list[Problem]:
    engine = spec.engine
    problems = []
    if spec.model.file is not None:
        words = "tei loads a whole repository. Leave the file out."
        problems.append(Problem("file", "spec.model.file", words))
    if engine.gpuMemoryUtilization is not None:
        words = "tei has no such setting: it takes what the model and one batch need."
        problems.append(Problem("gpu_memory", "spec.engine.gpuMemoryUtilization", words))
    if engine.contextLength is not None and engine.contextLength < _LEAST_BATCH:
        words = (
            f"tei takes inputs as long as the model does, up to {_LEAST_BATCH} tokens; less than that changes nothing."
        )
        problems.append(warning("no_effect", "spec.engine.contextLength", words))
    return problems


def _gpu_problems(spec: Any) -> list[Problem]:
    problems = []
    if spec.resources.gpuCount > 1:
        words = "A replica of tei uses one GPU. Set gpuCount to 1, and scaling.replicas for more."
        problems.append(Problem("gpu_count", "spec.resources.gpuCount", words))
    if (spec.engine.tensorParallelSize or 1) > 1:
        words = "tei does not split a model over GPUs. Leave this out."
        problems.append(Problem("parallel_size", "spec.engine.tensorParallelSize", words))
    return problems


_MANAGED = {
    "--model-id": "spec.model.repository",
    "--revision": "spec.model.revision",
    "--served-model-name": "spec.model.servedName",
    "--port": "spec.engine.port",
    "--dtype": "spec.engine.dtype",
    "--max-batch-tokens": "spec.engine.contextLength",
    "--max-concurrent-requests": "spec.engine.maxConcurrentRequests",
    "--api-key": "spec.network.apiKeySecret",
    "--hf-token": "spec.model.tokenSecret",
    "--hf-api-token": "spec.model.tokenSecret",
}
_RESERVED = frozenset(
    {
        "--hostname",
        "--huggingface-hub-cache",
        "--json-output",
        "--otlp-endpoint",
        "--otlp-service-name",
        "--prometheus-port",
        "--uds-path",
    }
)


ENGINE = Engine(
    name="tei",
    images=images_of("tei"),
    # The image's own port, 80, is one that some clusters give to no pod.
    port=8080,
    health=Probe("/health"),
    api_formats=("openai_compatible", "huggingface"),
    tasks=("embedding",),
    sources=("huggingface", "s3", "url", "pvc"),
    # The key guards every path that computes. It is printed to the log at the start, so what Smarter shows of a log is
    # searched for it.
    authenticates=True,
    public_paths={
        "openai_compatible": ("/v1",),
        "huggingface": ("/embed", "/embed_all", "/embed_sparse", "/predict", "/rerank", "/similarity"),
    },
    metrics_path="/metrics",
    user=User(uid=10001, gid=10001, fs_group=10001),
    writable={"tmp": "/tmp"},
    termination=termination,
    launch=launch,
    check=check,
    managed_args=_MANAGED,
    reserved_args=_RESERVED,
    arg_aliases={"-p": "--port"},
    attaches_values=True,
    env_prefixes=(
        "RUST_",
        "OMP_",
        "MKL_",
        "RAYON_",
        "TOKENIZERS_",
        "TZ",
        "USE_FLASH_ATTENTION",
        "TOKENIZATION_WORKERS",
        "POOLING",
        "MAX_BATCH_REQUESTS",
        "MAX_CLIENT_BATCH_SIZE",
        "AUTO_TRUNCATE",
        "DEFAULT_PROMPT",
        "DENSE_PATH",
        "PAYLOAD_LIMIT",
        "DISABLE_SPANS",
        "CORS_ALLOW_ORIGIN",
    ),
    managed_env={env_twin(flag): field for flag, field in _MANAGED.items()},
    reserved_env=frozenset({*(env_twin(flag) for flag in _RESERVED), "HF_HOME"}),
)
