"""Text Generation Inference: serves safetensors repositories on GPUs; its makers only mend it now.

Facts are those of TGI 3.3.7. Its parser refuses a flag that comes twice, and reads every flag from the environment too,
by its name in capitals.
"""

import re
from typing import Any

from smarter.core.arguments import env_twin, flags_of
from smarter.core.engine import Engine, Launch, Probe, Termination, User
from smarter.core.formats import DTYPES, dtype_argument, dtype_problems, folder_problems, quantization_problems
from smarter.core.images import images_of
from smarter.core.parallel import shards, split_problems
from smarter.core.problems import Problem, warning
from smarter.core.source import Weights

_LOADABLE = ("none", "fp16", "bf16", "fp8", "int8", "int4", "awq", "gptq")
_QUANTIZED = ("fp8", "int8", "int4", "awq", "gptq")
_DTYPES = {name: DTYPES[name] for name in ("float16", "bfloat16")}
_LEAST_PREFILL = 4096
"""The server's own budget of tokens that it reads in one pass, where it knows nothing better."""
_PRE_STOP_SECONDS = 10
_DRAIN_SECONDS = 90
_SPLIT_BY_ITS_SHELL = re.compile(r"[\s*?\[]")


def launch(spec: Any, weights: Weights, served_name: str) -> Launch:
    """The name has no argument: the server answers to every name."""
    engine = spec.engine
    args = ["--model-id", weights.path, "--hostname", "0.0.0.0", "--port", str(engine.port)]
    args += ["--num-shard", str(shards(spec))]
    if engine.contextLength is not None:
        # Of a context, one token at least is for the answer.
        longest = engine.contextLength - 1
        args += ["--max-total-tokens", str(engine.contextLength), "--max-input-tokens", str(longest)]
        args += _prefill(spec, longest)
    if engine.maxConcurrentRequests is not None:
        args += ["--max-concurrent-requests", str(engine.maxConcurrentRequests)]
    dtype = dtype_argument(spec)
    if dtype is not None:
        args += ["--dtype", dtype]
    if engine.gpuMemoryUtilization is not None:
        args += ["--cuda-memory-fraction", f"{engine.gpuMemoryUtilization:g}"]
    if engine.trustRemoteCode:
        args.append("--trust-remote-code")
    args += ["--graceful-termination-timeout", str(_DRAIN_SECONDS), "--usage-stats", "off", "--json-output"]
    return Launch((), tuple(args), {"HF_HOME": "/tmp/hf", "HF_HUB_OFFLINE": "1", "HOME": "/root"})


def _prefill(spec: Any, longest: int) -> list[str]:
    """The longest input must fit the budget of one pass, or the server refuses to start."""
    if "--max-batch-prefill-tokens" in flags_of(spec, ENGINE) or "MAX_BATCH_PREFILL_TOKENS" in (spec.engine.env or {}):
        return []
    return ["--max-batch-prefill-tokens", str(max(longest, _LEAST_PREFILL))]


def termination(_spec: Any) -> Termination:
    return Termination(_PRE_STOP_SECONDS + _DRAIN_SECONDS + 10, pre_stop_sleep_seconds=_PRE_STOP_SECONDS)


def check(spec: Any) -> list[Problem]:
    advice = "Use vllm or sglang for the others."
    return [
        *folder_problems(spec, "tgi"),
        *quantization_problems(spec, "tgi", _LOADABLE, advice),
        *_dtype_problems(spec),
        *split_problems(spec, "tgi"),
        *_model_problems(spec),
        *_argument_problems(spec),
    ]


def _dtype_problems(spec: Any) -> list[Problem]:
    stored = str(spec.model.quantization)
    if spec.engine.dtype is not None and stored in _QUANTIZED:
        words = f"tgi takes either a number format or quantized weights, and these are {stored}. Leave this out."
        return [Problem("dtype", "spec.engine.dtype", words)]
    return dtype_problems(spec, "tgi", _DTYPES)


def _model_problems(spec: Any) -> list[Problem]:
    model = spec.model
    problems = []
    if model.file is not None:
        words = "tgi loads a whole repository of safetensors. Leave the file out."
        problems.append(Problem("file", "spec.model.file", words))
    if model.servedName is not None:
        words = "tgi has no name for its model: it answers to every name, and lists the model by its folder."
        problems.append(warning("no_effect", "spec.model.servedName", words))
    if _SPLIT_BY_ITS_SHELL.search(model.repository):
        words = "The image of tgi reads * ? [ in a path as patterns, so the path of the model may not hold them."
        problems.append(Problem("split_argument", "spec.model.repository", words))
    if spec.engine.contextLength == 1:
        words = "A context of tgi has room for one token of input and one of the answer, so 2 at least."
        problems.append(Problem("context", "spec.engine.contextLength", words))
    return problems


def _argument_problems(spec: Any) -> list[Problem]:
    problems = []
    for index, argument in enumerate(spec.engine.args or ()):
        if _SPLIT_BY_ITS_SHELL.search(argument):
            words = "The image of tgi splits arguments at blanks and reads * ? [ as patterns, so none may hold them."
            problems.append(Problem("split_argument", f"spec.engine.args[{index}]", words))
    return problems


_MANAGED = {
    "--model-id": "spec.model.repository",
    "--revision": "spec.model.revision",
    "--port": "spec.engine.port",
    "--num-shard": "spec.engine.tensorParallelSize",
    "--sharded": "spec.engine.tensorParallelSize",
    "--max-total-tokens": "spec.engine.contextLength",
    "--max-input-tokens": "spec.engine.contextLength",
    "--max-concurrent-requests": "spec.engine.maxConcurrentRequests",
    "--dtype": "spec.engine.dtype",
    "--cuda-memory-fraction": "spec.engine.gpuMemoryUtilization",
    "--trust-remote-code": "spec.engine.trustRemoteCode",
}
_TWINNED = {**_MANAGED, "--max-input-length": "spec.engine.contextLength"}
_RESERVED = frozenset(
    {
        "--api-key",
        "--env",
        "--graceful-termination-timeout",
        "--hostname",
        "--huggingface-hub-cache",
        "--json-output",
        "--master-addr",
        "--master-port",
        "--otlp-endpoint",
        "--otlp-service-name",
        "--prometheus-port",
        "--shard-uds-path",
        "--usage-stats",
        "--weights-cache-override",
    }
)


ENGINE = Engine(
    name="tgi",
    images=images_of("tgi"),
    # The image's own port, 80, is one that some clusters give to no pod.
    port=8080,
    health=Probe("/health", timeout_seconds=10),
    api_formats=("openai_compatible", "huggingface"),
    tasks=("text-generation",),
    sources=("huggingface", "s3", "url", "pvc"),
    # It has a key, which we do not count: the key guards some paths only, is compared without regard to capitals,
    # is printed to the log at the start, and is handed to a second process as an argument. It is not set.
    authenticates=False,
    public_paths={"openai_compatible": ("/v1",), "huggingface": ("/generate", "/generate_stream")},
    metrics_path="/metrics",
    user=User(
        uid=0,
        gid=0,
        fs_group=10001,
        read_only_root=False,
        waiver="The Python interpreter of its image lies in the home of root, which no other user may enter.",
    ),
    writable={"data": "/data", "tmp": "/tmp"},
    termination=termination,
    launch=launch,
    check=check,
    managed_args=_MANAGED,
    reserved_args=_RESERVED,
    reserved_arg_prefixes=("--ngrok",),
    arg_aliases={
        "-p": "--port",
        "-e": "--env",
        "-g": "--graceful-termination-timeout",
        "--max-input-length": "--max-input-tokens",
    },
    attaches_values=True,
    env_prefixes=(
        "TGI_",
        "FLASH_",
        "HF_HUB_",
        "NCCL_",
        "OMP_",
        "PYTORCH_",
        "RUST_",
        "TOKENIZERS_",
        "TORCH",
        "TRITON_",
        "TZ",
        "ATTENTION",
        "LOG_LEVEL",
        "PREFIX_CACHING",
        "USE_",
        "VALIDATION_WORKERS",
        "QUANTIZE",
        "SPECULATE",
        "KV_CACHE_DTYPE",
        "MAX_BEST_OF",
        "MAX_STOP_SEQUENCES",
        "MAX_TOP_N_TOKENS",
        "WAITING_SERVED_RATIO",
        "MAX_BATCH_",
        "MAX_WAITING_TOKENS",
        "CUDA_GRAPHS",
        "DISABLE_",
        "ROPE_",
        "CORS_ALLOW_ORIGIN",
        "WATERMARK_",
        "TOKENIZER_CONFIG_PATH",
        "MAX_CLIENT_BATCH_SIZE",
        "LORA_ADAPTERS",
        "PAYLOAD_LIMIT",
        "ENABLE_PREFILL_LOGPROBS",
    ),
    managed_env={env_twin(flag): field for flag, field in _TWINNED.items()},
    reserved_env=frozenset(
        {*(env_twin(flag) for flag in _RESERVED), "COMPUTE_TYPE", "HF_API_TOKEN", "HF_HOME", "HF_HUB_OFFLINE"}
    ),
    reserved_env_prefixes=("NGROK",),
)
