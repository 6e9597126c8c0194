"""SGLang: serves safetensors repositories, and single GGUF files, on GPUs.

Facts are those of SGLang 0.5.23. Its parser abbreviates flags and lets the last of two equal flags win. It listens on
the loopback address unless told otherwise, and takes its API key as an argument or from a configuration file alone.
"""

import json
from typing import Any

from smarter.core.arguments import PYTORCH_ENV_PREFIXES, flags_of
from smarter.core.engine import Engine, Launch, Probe, SecretFile, Termination, User
from smarter.core.formats import dtype_argument, dtype_problems, folder_problems, quantization_problems
from smarter.core.images import images_of
from smarter.core.parallel import shards, split_problems
from smarter.core.problems import Problem, warning
from smarter.core.source import Weights

_LOADABLE = ("none", "fp32", "fp16", "bf16", "fp8", "mxfp4", "int8", "int4", "gguf", "awq", "gptq")
_PRE_STOP_SECONDS = 10
_DRAIN_SECONDS = 120
_EXIT_SECONDS = 15
_ACTIVATIONS = 0.08
"""What a share of the memory of a GPU must leave for activations: the server's own share is of weights and cache."""


def _key_file(key: str) -> str:
    """YAML, of which JSON is a part: a key that looks like a number or a date stays the text that it is."""
    return f"api-key: {json.dumps(key)}\n"


_CONFIG = SecretFile(
    "/etc/smarter/sglang.yaml", "api-key", args=("--config", "/etc/smarter/sglang.yaml"), text=_key_file
)


def launch(spec: Any, weights: Weights, served_name: str) -> Launch:
    engine = spec.engine
    args = ["--model-path", weights.path, "--served-model-name", served_name, "--host", "0.0.0.0"]
    args += ["--port", str(engine.port), "--enable-metrics", "--tp-size", str(shards(spec))]
    if engine.contextLength is not None:
        args += ["--context-length", str(engine.contextLength)]
    if engine.gpuMemoryUtilization is not None:
        args += ["--mem-fraction-static", f"{_static_share(engine.gpuMemoryUtilization):g}"]
    if engine.maxConcurrentRequests is not None:
        args += ["--max-running-requests", str(engine.maxConcurrentRequests)]
    dtype = dtype_argument(spec)
    if dtype is not None:
        args += ["--dtype", dtype]
    if spec.model.task == "embedding":
        args.append("--is-embedding")
    if engine.trustRemoteCode:
        args.append("--trust-remote-code")
    env = {
        "HF_HUB_OFFLINE": "1",
        "HOME": "/home/sglang",
        "SGLANG_CACHE_DIR": "/home/sglang/.cache/sglang",
        # The image has no entry for this user, and libraries that ask for its name stop without one.
        "USER": "sglang",
    }
    return Launch(("python3", "-m", "sglang.launch_server"), tuple(args), env, secret_files=(_CONFIG,))


def _static_share(share: float) -> float:
    return round(max(share - _ACTIVATIONS, share / 2), 4)


def readiness(_spec: Any, _weights: Weights) -> Probe:
    """Looks at a flag, which is down while the server drains. The health path generates a token for each look."""
    return Probe("/ready")


def termination(_spec: Any) -> Termination:
    """The server waits for its requests by itself, without a limit."""
    grace = _PRE_STOP_SECONDS + _DRAIN_SECONDS + _EXIT_SECONDS
    return Termination(grace, pre_stop_sleep_seconds=_PRE_STOP_SECONDS)


def check(spec: Any) -> list[Problem]:
    return [
        *_file_problems(spec),
        *folder_problems(spec, "sglang", files=(".gguf",)),
        *quantization_problems(spec, "sglang", _LOADABLE),
        *dtype_problems(spec, "sglang"),
        *split_problems(spec, "sglang", spreads_otherwise=_spreads_otherwise(spec)),
        *_name_problems(spec),
        *_tool_problems(spec),
    ]


def _file_problems(spec: Any) -> list[Problem]:
    model, path = spec.model, "spec.model.file"
    name = model.file or model.repository.partition("?")[0]
    is_gguf = name.lower().endswith(".gguf")
    if model.file is not None and not is_gguf:
        return [Problem("format", path, "sglang loads a whole repository, or one GGUF file. Leave the file out.")]
    if model.quantization == "gguf" and not is_gguf:
        return [Problem("file", path, "Name the GGUF file, for example Qwen3-8B-Q4_K_M.gguf.")]
    if is_gguf and "-of-" in name.rpartition("/")[2]:
        return [Problem("shard", path, "sglang needs a GGUF file in one part.")]
    return []


def _spreads_otherwise(spec: Any) -> bool:
    other = {"--pp-size", "--dp-size", "--pipeline-parallel-size", "--data-parallel-size"}
    return not other.isdisjoint(flags_of(spec, ENGINE))


def _name_problems(spec: Any) -> list[Problem]:
    if ":" not in (spec.model.servedName or ""):
        return []
    words = "sglang takes what follows a colon for the name of an adapter, and refuses to start with this name."
    return [Problem("served_name", "spec.model.servedName", words)]


def _tool_problems(spec: Any) -> list[Problem]:
    given = flags_of(spec, ENGINE)
    if not spec.model.capabilities.functionCalling or "--tool-call-parser" in given:
        return []
    words = "Without --tool-call-parser in the arguments of the engine, sglang does not read tool calls."
    return [warning("tool_calls", "spec.model.capabilities.functionCalling", words)]


ENGINE = Engine(
    name="sglang",
    images=images_of("sglang"),
    port=30000,
    # Each look at the health path takes a second or more, and up to twenty under load.
    health=Probe("/health", timeout_seconds=30),
    readiness=readiness,
    api_formats=("openai_compatible",),
    tasks=("text-generation", "embedding"),
    sources=("huggingface", "s3", "url", "pvc"),
    authenticates=True,
    # The key guards every path but those of health and metrics. /server_info tells the key to whoever has it.
    public_paths={"openai_compatible": ("/v1",)},
    metrics_path="/metrics",
    # Compiled kernels go to the home; the hook that brings GPU drivers into the container may write to its root.
    user=User(uid=10001, gid=10001, fs_group=10001, read_only_root=False),
    writable={"home": "/home/sglang", "tmp": "/tmp"},
    termination=termination,
    launch=launch,
    check=check,
    managed_args={
        "--model-path": "spec.model.repository",
        "--revision": "spec.model.revision",
        "--served-model-name": "spec.model.servedName",
        "--is-embedding": "spec.model.task",
        "--port": "spec.engine.port",
        "--context-length": "spec.engine.contextLength",
        "--mem-fraction-static": "spec.engine.gpuMemoryUtilization",
        "--max-running-requests": "spec.engine.maxConcurrentRequests",
        "--tp-size": "spec.engine.tensorParallelSize",
        "--dtype": "spec.engine.dtype",
        "--trust-remote-code": "spec.engine.trustRemoteCode",
        "--api-key": "spec.network.apiKeySecret",
    },
    # What opens further ports, joins other machines, writes or runs files of a manifest's choice, or loosens the key.
    reserved_args=frozenset(
        {
            "--admin-api-key",
            "--config",
            "--crash-dump-folder",
            "--custom-weight-loader",
            "--decrypted-config-file",
            "--decrypted-draft-config-file",
            "--delete-ckpt-after-loading",
            "--dist-init-addr",
            "--download-dir",
            "--enable-custom-logit-processor",
            "--enable-metrics",
            "--enable-ssl-refresh",
            "--encoder-only",
            "--engine-info-bootstrap-port",
            "--export-metrics-to-file-dir",
            "--fastapi-root-path",
            "--file-storage-path",
            "--forward-hooks",
            "--gated-launch-port",
            "--grpc-mode",
            "--grpc-port",
            "--host",
            "--kv-events-config",
            "--load-publish-endpoint",
            "--log-requests-target",
            "--msprobe-dump-config",
            "--nccl-port",
            "--nnodes",
            "--node-rank",
            "--otlp-traces-endpoint",
            "--sidecar",
            "--sidecar-args",
            "--smg-grpc-mode",
            "--smg-http-sidecar-port",
            "--ssl-ca-certs",
            "--ssl-certfile",
            "--ssl-keyfile",
            "--ssl-keyfile-password",
            "--tool-server",
            "--trust-mm-content-hashes",
            "--trust-request-chat-template",
            "--use-ray",
            "--weight-cache-socket",
        }
    ),
    reserved_arg_prefixes=("--debug-tensor-dump-", "--decoupled-spec-", "--remote-instance-weight-loader-"),
    arg_aliases={
        "--model": "--model-path",
        "--tensor-parallel-size": "--tp-size",
        "--tp": "--tp-size",
        "--nccl-init-addr": "--dist-init-addr",
        "--grpc-http-sidecar-port": "--smg-http-sidecar-port",
    },
    abbreviates=True,
    # Flags of their own right, or beginnings of them that mean them.
    free_args=frozenset({"--log-requests", "--export-metrics-to-file"}),
    env_prefixes=("SGLANG_", "SGL_", *PYTORCH_ENV_PREFIXES),
    reserved_env=frozenset(
        {
            "HF_HUB_OFFLINE",
            "SGLANG_CACHE_DIR",
            "SGLANG_EXTERNAL_MM_MODEL_ARCH",
            "SGLANG_EXTERNAL_MM_PROCESSOR_PACKAGE",
            "SGLANG_EXTERNAL_MODEL_PACKAGE",
            "SGLANG_GRPC_PORT",
            "SGLANG_HTTP_SERVER_APP_PATH",
            "SGLANG_PLUGINS",
            "SGLANG_PORT",
            "SGLANG_TORCH_PROFILER_DIR",
            "TRANSFORMERS_OFFLINE",
            "USER",
        }
    ),
    reserved_env_prefixes=("SGLANG_OLLAMA_", "SGLANG_TEST_"),
)
