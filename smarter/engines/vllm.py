"""vLLM: serves safetensors repositories on GPUs, with paged attention and continuous batching.

Facts are those of vLLM 0.33. Its parser abbreviates flags, takes `_` for `-`, and lets the last of two equal flags win.
"""

import re
from typing import Any

from smarter.core.arguments import PYTORCH_ENV_PREFIXES, flags_of
from smarter.core.engine import Engine, Launch, Probe, Termination, User
from smarter.core.formats import dtype_argument, dtype_problems, folder_problems
from smarter.core.images import images_of
from smarter.core.parallel import shards, split_problems
from smarter.core.problems import Problem, warning
from smarter.core.source import Weights

_SHARD = re.compile(r"-\d{5}-of-\d{5}\.gguf")
_DRAIN_SECONDS = 30
_PRE_STOP_SECONDS = 15


def launch(spec: Any, weights: Weights, served_name: str) -> Launch:
    engine = spec.engine
    # An image of an earlier generation starts another program by itself; naming it serves both. A context that is left
    # out is fitted to the memory, since the model's own often does not fit and then stops the start.
    args = [weights.path, "--served-model-name", served_name, "--host", "0.0.0.0", "--port", str(engine.port)]
    args += ["--max-model-len", str(engine.contextLength or "auto")]
    args += ["--tensor-parallel-size", str(shards(spec))]
    if engine.gpuMemoryUtilization is not None:
        args += ["--gpu-memory-utilization", f"{engine.gpuMemoryUtilization:g}"]
    if engine.maxConcurrentRequests is not None:
        args += ["--max-num-seqs", str(engine.maxConcurrentRequests)]
    dtype = dtype_argument(spec)
    if dtype is not None:
        args += ["--dtype", dtype]
    if spec.model.task == "embedding":
        args += ["--runner", "pooling"]
    if engine.trustRemoteCode:
        args.append("--trust-remote-code")
    args += ["--shutdown-timeout", str(_DRAIN_SECONDS)]
    env = {
        "HF_HUB_OFFLINE": "1",
        "HOME": "/home/vllm",
        # Without it the server gives up after 600 s, whatever the manifest allows.
        "VLLM_ENGINE_READY_TIMEOUT_S": str(spec.healthCheck.startupTimeoutSeconds),
        "VLLM_MEDIA_URL_ALLOW_REDIRECTS": "0",
        "VLLM_NO_USAGE_STATS": "1",
    }
    return Launch(("vllm", "serve"), tuple(args), env, {"VLLM_API_KEY": "api-key"})


def termination(_spec: Any) -> Termination:
    """Traffic is led away, then running requests have half a minute to end, then the process a quarter of one."""
    return Termination(_PRE_STOP_SECONDS + _DRAIN_SECONDS + 15, pre_stop_sleep_seconds=_PRE_STOP_SECONDS)


def check(spec: Any) -> list[Problem]:
    return [
        *_format_problems(spec),
        *folder_problems(spec, "vllm", files=(".gguf",)),
        *dtype_problems(spec, "vllm"),
        *split_problems(spec, "vllm", spreads_otherwise=_spreads_otherwise(spec)),
        *_tool_problems(spec),
    ]


def _format_problems(spec: Any) -> list[Problem]:
    model, engine = spec.model, spec.engine
    name = model.file or model.repository.partition("?")[0]
    is_gguf = name.lower().endswith(".gguf")
    where = "spec.model.file" if model.file else "spec.model.repository"
    if (is_gguf or model.quantization == "gguf") and engine.image is None:
        path = where if is_gguf else "spec.model.quantization"
        words = "vllm's image cannot load GGUF files. Use the engine llama_cpp, or name an image with vllm-gguf-plugin."
        return [Problem("format", path, words)]
    if is_gguf and _SHARD.search(name):
        return [Problem("shard", where, "vllm needs a GGUF file in one part.")]
    if model.file is not None and not is_gguf:
        words = "vllm loads a whole repository. Leave the file out."
        return [Problem("format", "spec.model.file", words)]
    return []


def _spreads_otherwise(spec: Any) -> bool:
    other = {"--pipeline-parallel-size", "--data-parallel-size"}
    return not other.isdisjoint(flags_of(spec, ENGINE))


def _tool_problems(spec: Any) -> list[Problem]:
    if not spec.model.capabilities.functionCalling:
        return []
    given = flags_of(spec, ENGINE)
    missing = [flag for flag in ("--enable-auto-tool-choice", "--tool-call-parser") if flag not in given]
    if not missing:
        return []
    words = f"Without {' and '.join(missing)} in the arguments of the engine, vllm does not read tool calls."
    return [warning("tool_calls", "spec.model.capabilities.functionCalling", words)]


ENGINE = Engine(
    name="vllm",
    images=images_of("vllm"),
    port=8000,
    health=Probe("/health"),
    api_formats=("openai_compatible",),
    tasks=("text-generation", "embedding"),
    sources=("huggingface", "s3", "url", "pvc"),
    authenticates=True,
    # The key guards /v1 only: /invocations, /tokenize, /score and others answer without one and are never exposed.
    public_paths={"openai_compatible": ("/v1",)},
    metrics_path="/metrics",
    # The image's own user, whose home belongs to the group 0. The hook that brings GPU drivers into the container may
    # write to its root.
    user=User(uid=2000, gid=0, fs_group=0, read_only_root=False),
    writable={"home": "/home/vllm", "tmp": "/tmp"},
    termination=termination,
    launch=launch,
    check=check,
    managed_args={
        "--model": "spec.model.repository",
        "--served-model-name": "spec.model.servedName",
        "--revision": "spec.model.revision",
        "--code-revision": "spec.model.revision",
        "--tokenizer-revision": "spec.model.revision",
        "--port": "spec.engine.port",
        "--max-model-len": "spec.engine.contextLength",
        "--tensor-parallel-size": "spec.engine.tensorParallelSize",
        "--gpu-memory-utilization": "spec.engine.gpuMemoryUtilization",
        "--max-num-seqs": "spec.engine.maxConcurrentRequests",
        "--dtype": "spec.engine.dtype",
        "--runner": "spec.model.task",
        "--trust-remote-code": "spec.engine.trustRemoteCode",
        "--api-key": "spec.network.apiKeySecret",
        "--hf-token": "spec.model.tokenSecret",
    },
    # What opens further ports, joins other machines, writes or runs files of a manifest's choice, or loosens the key.
    reserved_args=frozenset(
        {
            "--allowed-local-media-path",
            "--config",
            "--data-parallel-address",
            "--data-parallel-backend",
            "--data-parallel-external-lb",
            "--data-parallel-hybrid-lb",
            "--data-parallel-multi-port-external-lb",
            "--data-parallel-rank",
            "--data-parallel-rpc-port",
            "--data-parallel-start-rank",
            "--data-parallel-supervisor-port",
            "--distributed-executor-backend",
            "--download-dir",
            "--enable-scale-out",
            "--grpc",
            "--grpc-port",
            "--headless",
            "--host",
            "--io-processor-plugin",
            "--kv-events-config",
            "--log-config-file",
            "--logging-config",
            "--logits-processors",
            "--master-addr",
            "--master-port",
            "--middleware",
            "--model-class-overrides",
            "--nnodes",
            "--node-rank",
            "--otlp-traces-endpoint",
            "--profiler-config",
            "--reasoning-parser-plugin",
            "--root-path",
            "--scheduler-cls",
            "--shutdown-timeout",
            "--ssl-ca-certs",
            "--ssl-certfile",
            "--ssl-keyfile",
            "--tool-parser-plugin",
            "--tool-server",
            "--trust-request-chat-template",
            "--trust-request-mm-kwargs",
            "--uds",
            "--weight-transfer-config",
            "--worker-cls",
            "--worker-extension-cls",
        }
    ),
    arg_aliases={
        "-tp": "--tensor-parallel-size",
        "-dp": "--data-parallel-size",
        "-dpn": "--data-parallel-rank",
        "-dpr": "--data-parallel-start-rank",
        "-dpl": "--data-parallel-size-local",
        "-dpa": "--data-parallel-address",
        "-dpp": "--data-parallel-rpc-port",
        "-dpb": "--data-parallel-backend",
        "-dph": "--data-parallel-hybrid-lb",
        "-dpe": "--data-parallel-external-lb",
        "-dpm": "--data-parallel-multi-port-external-lb",
        "-pp": "--pipeline-parallel-size",
        "-n": "--nnodes",
        "-r": "--node-rank",
        "--device-memory-utilization": "--gpu-memory-utilization",
    },
    abbreviates=True,
    attaches_values=True,
    free_args=frozenset({"--reasoning-parser", "--tokenizer"}),
    env_prefixes=("VLLM_", "OTEL_", "RAY_", *PYTORCH_ENV_PREFIXES),
    reserved_env=frozenset(
        {
            "HF_HUB_OFFLINE",
            "TRANSFORMERS_OFFLINE",
            "VLLM_ALLOW_INSECURE_SERIALIZATION",
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING",
            "VLLM_API_KEY",
            "VLLM_ENGINE_READY_TIMEOUT_S",
            "VLLM_HOST_IP",
            "VLLM_LOGGING_CONFIG_PATH",
            "VLLM_MEDIA_URL_ALLOW_REDIRECTS",
            "VLLM_NO_USAGE_STATS",
            "VLLM_PLUGINS",
            "VLLM_PORT",
            "VLLM_RPC_BASE_PATH",
            "VLLM_SERVER_DEV_MODE",
            "VLLM_TORCH_PROFILER_DIR",
        }
    ),
)
