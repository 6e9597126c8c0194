"""llama.cpp's server: one GGUF file, on processors or on GPUs.

Facts are those of commit 0c1e57098, several of them seen in runs of it. Every flag has aliases and a twin in the
environment; the last of two equal flags wins.
"""

import re
from typing import Any

from smarter.core.arguments import flags_of
from smarter.core.engine import Engine, Launch, Probe, Termination, User
from smarter.core.formats import no_dtype_problems, quantization_problems
from smarter.core.images import images_of
from smarter.core.parallel import no_code_problems, spread_problems
from smarter.core.problems import Problem
from smarter.core.source import Weights

_SHARD = re.compile(r"-(\d{5})-of-\d{5}\.gguf\Z", re.IGNORECASE)
_LOADABLE = ("none", "fp32", "fp16", "bf16", "mxfp4", "int8", "int4", "gguf")
_EMBEDDING_BATCH = 2048
"""The longest input that an embedding server takes where no context is given; without it the server's limit is 512."""
_PRE_STOP_SECONDS = 30


def launch(spec: Any, weights: Weights, served_name: str) -> Launch:
    engine = spec.engine
    args = ["-m", weights.path, "-a", served_name, "--host", "0.0.0.0", "--port", str(engine.port)]
    # The context is a pool that all slots share, so that each of n requests can have contextLength to itself.
    slots = engine.maxConcurrentRequests
    args += ["-c", str((engine.contextLength or 0) * (slots or 1))]
    if slots is not None:
        args += ["-np", str(slots)]
    args += ["-ngl", "all" if spec.resources.gpuCount else "0", "--metrics", "--no-ui"]
    if spec.model.task == "embedding":
        args += ["--embeddings", *_batch(spec)]
    env = {"HOME": "/tmp", "LLAMA_ARG_OFFLINE": "1"}
    return Launch((), tuple(args), env, {"LLAMA_API_KEY": "api-key"})


def _batch(spec: Any) -> list[str]:
    """An input longer than the batch is answered with an error, so the batch holds the whole context."""
    given = flags_of(spec, ENGINE)
    size = str(spec.engine.contextLength or _EMBEDDING_BATCH)
    flags = (("-b", "--batch-size"), ("-ub", "--ubatch-size"))
    return [part for short, long in flags if long not in given for part in (short, size)]


def termination(_spec: Any) -> Termination:
    """On a signal the server stops generating and does not end while a request is open. So requests get their time
    before the signal, and the rest is cut off soon after it."""
    return Termination(_PRE_STOP_SECONDS + 5, pre_stop_sleep_seconds=_PRE_STOP_SECONDS)


def check(spec: Any) -> list[Problem]:
    return [
        *_file_problems(spec),
        *quantization_problems(spec, "llama_cpp", _LOADABLE, "Use a GGUF file, and the quantization gguf."),
        *no_dtype_problems(spec, "llama_cpp"),
        *no_code_problems(spec, "llama_cpp"),
        *spread_problems(spec, "llama_cpp"),
        *_setting_problems(spec),
    ]


def _file_problems(spec: Any) -> list[Problem]:
    model = spec.model
    path, name = "spec.model.file", model.file
    if name is None:
        path, name = "spec.model.repository", model.repository.partition("?")[0]
        if not name.lower().endswith(".gguf"):
            words = "llama_cpp loads one GGUF file. Name it, for example Qwen3-0.6B-Q8_0.gguf."
            return [Problem("file", "spec.model.file", words)]
    if not name.lower().endswith(".gguf"):
        return [Problem("file", path, "llama_cpp loads GGUF files only; their names end in .gguf.")]
    shard = _SHARD.search(name)
    if shard and shard[1] != "00001":
        words = "Name the first part of a file that is split, which ends in -00001-of- and the number of parts."
        return [Problem("shard", path, words)]
    return []


def _setting_problems(spec: Any) -> list[Problem]:
    problems = []
    if spec.engine.gpuMemoryUtilization is not None:
        words = "llama_cpp has no such setting: it fits itself to the memory that is free."
        problems.append(Problem("gpu_memory", "spec.engine.gpuMemoryUtilization", words))
    if "," in (spec.model.servedName or ""):
        words = "llama_cpp would read a comma as the end of one name and the start of another."
        problems.append(Problem("served_name", "spec.model.servedName", words))
    return problems


ENGINE = Engine(
    name="llama_cpp",
    images=images_of("llama_cpp"),
    port=8080,
    health=Probe("/health"),
    api_formats=("openai_compatible",),
    tasks=("text-generation", "embedding"),
    sources=("huggingface", "s3", "url", "pvc"),
    falls_back=True,
    authenticates=True,
    public_paths={"openai_compatible": ("/v1",)},
    metrics_path="/metrics",
    user=User(uid=10001, gid=10001, fs_group=10001),
    writable={"tmp": "/tmp"},
    termination=termination,
    launch=launch,
    check=check,
    managed_args={
        "--model": "spec.model.repository",
        "--hf-repo": "spec.model.repository",
        "--hf-file": "spec.model.file",
        "--model-url": "spec.model.repository",
        "--alias": "spec.model.servedName",
        "--port": "spec.engine.port",
        "--ctx-size": "spec.engine.contextLength",
        "--kv-unified-per-slot": "spec.engine.contextLength",
        "--parallel": "spec.engine.maxConcurrentRequests",
        "--n-gpu-layers": "spec.resources.gpuCount",
        "--embeddings": "spec.model.task",
        "--api-key": "spec.network.apiKeySecret",
        "--api-key-file": "spec.network.apiKeySecret",
        "--hf-token": "spec.model.tokenSecret",
    },
    # What opens files and addresses, runs programs, or sets many of the flags above at once.
    reserved_args=frozenset(
        {
            "--agent",
            "--api-prefix",
            "--docker-repo",
            "--host",
            "--log-file",
            "--log-prompts-dir",
            "--media-path",
            "--metrics",
            "--mmproj-url",
            "--models-autoload",
            "--models-dir",
            "--models-max",
            "--models-preset",
            "--offline",
            "--path",
            "--reuse-port",
            "--rpc",
            "--slot-save-path",
            "--spec-draft-hf",
            "--ssl-cert-file",
            "--ssl-key-file",
            "--tools",
            "--tools-runtime",
            "--ui",
            "--ui-config-file",
            "--ui-mcp-proxy",
            "--video-ffmpeg-dir",
            "--embd-gemma-default",
        }
    ),
    reserved_arg_prefixes=(
        "--mcp-servers-",
        "--webui-mcp",
        "--ui-mcp",
        "--hf-repo-",
        "--hf-file-",
        "--fim-qwen-",
        "--gpt-oss-",
        "--vision-gemma-",
    ),
    arg_aliases={
        "-m": "--model",
        "-hf": "--hf-repo",
        "-hfr": "--hf-repo",
        "-hff": "--hf-file",
        "-hft": "--hf-token",
        "-hfd": "--spec-draft-hf",
        "-hfrd": "--spec-draft-hf",
        "--hf-repo-draft": "--spec-draft-hf",
        "-hfv": "--hf-repo-v",
        "-hffv": "--hf-file-v",
        "-mu": "--model-url",
        "-mmu": "--mmproj-url",
        "-dr": "--docker-repo",
        "-a": "--alias",
        "-c": "--ctx-size",
        "-np": "--parallel",
        "-ngl": "--n-gpu-layers",
        "--gpu-layers": "--n-gpu-layers",
        "--embedding": "--embeddings",
        "-b": "--batch-size",
        "-ub": "--ubatch-size",
        "-ag": "--agent",
        "-no-ag": "--agent",
        "--webui-config-file": "--ui-config-file",
        "--webui-mcp-proxy": "--ui-mcp-proxy",
        "--webui": "--ui",
        "--no-webui": "--ui",
        "--no-ui": "--ui",
    },
    env_prefixes=("GGML_", "LLAMA_", "OMP_", "GOMP_", "OPENBLAS_", "MKL_", "NCCL_", "TZ"),
    reserved_env=frozenset({"GGML_BACKEND_PATH", "LLAMA_API_KEY", "LLAMA_CACHE"}),
    reserved_env_prefixes=("LLAMA_ARG_",),
    reserves_context=True,
)
