"""Facts that each engine must have right for hosts to start, to stop and to be safe."""

from typing import Any

import pytest

from smarter.core.engine import Engine
from smarter.engines import ENGINES
from tests.llm_hosts import LLAMA, VLLM, engine_of, host, objects, one

ALL = sorted(ENGINES.values(), key=lambda engine: engine.name)
BASES = {"vllm": VLLM, "llama_cpp": LLAMA}


@pytest.mark.parametrize("engine", ALL, ids=lambda engine: engine.name)
def test_record(engine: Engine) -> None:
    images = [image for image in (engine.images.gpu, engine.images.cpu) if image]
    assert images
    assert all(":" in image and not image.endswith(":latest") for image in images)
    assert engine.port >= 1024
    assert engine.user.uid != 0
    assert engine.user.waiver == ""
    assert set(engine.public_paths) == set(engine.api_formats)
    assert "/" not in [path for paths in engine.public_paths.values() for path in paths]
    assert engine.health.timeout_seconds >= 5
    assert not set(engine.managed_args) & engine.reserved_args
    known = {*engine.managed_args, *engine.reserved_args}
    for alias, flag in engine.arg_aliases.items():
        assert alias not in known, "an alias of a flag is not a flag of its own"
        assert flag.startswith("--")


@pytest.mark.parametrize("engine", ALL, ids=lambda engine: engine.name)
def test_termination_leaves_time_for_the_pause_before_it(engine: Engine) -> None:
    termination = engine.termination(None)
    assert termination.grace_seconds > termination.pre_stop_sleep_seconds > 0
    assert not termination.pre_stop_command, "a loop would need a shell"


@pytest.mark.parametrize("engine", ALL, ids=lambda engine: engine.name)
def test_listens_on_all_addresses_of_the_pod(engine: Engine) -> None:
    args = engine_of(objects(host(base=BASES[engine.name])))["args"]
    assert args[args.index("--host") + 1] == "0.0.0.0"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"engine.contextLength": 8192}, ["--max-model-len", "8192"]),
        ({}, ["--max-model-len", "auto"]),
        ({"engine.gpuMemoryUtilization": 0.85}, ["--gpu-memory-utilization", "0.85"]),
        ({"engine.gpuMemoryUtilization": 1.0}, ["--gpu-memory-utilization", "1"]),
        ({"engine.maxConcurrentRequests": 32}, ["--max-num-seqs", "32"]),
        ({"resources.gpuCount": 4}, ["--tensor-parallel-size", "4"]),
        ({"resources.gpuCount": 4, "engine.tensorParallelSize": 2}, ["--tensor-parallel-size", "2"]),
        ({"model.quantization": "fp16"}, ["--dtype", "float16"]),
        ({"model.quantization": "fp32"}, ["--dtype", "float32"]),
        ({"model.quantization": "bf16"}, ["--dtype", "bfloat16"]),
        ({"engine.dtype": "half"}, ["--dtype", "half"]),
        ({"model.task": "embedding"}, ["--runner", "pooling"]),
        ({"model.servedName": "Qwen/Qwen3-8B"}, ["--served-model-name", "Qwen/Qwen3-8B"]),
        ({}, ["--served-model-name", "case_host"]),
        ({"engine.port": 9000}, ["--port", "9000"]),
        ({}, ["--shutdown-timeout", "30"]),
    ],
)
def test_vllm_settings(changes: dict[str, Any], expected: list[str]) -> None:
    args = engine_of(objects(host(changes)))["args"]
    at = args.index(expected[0])
    assert args[at : at + 2] == expected
    assert args.count(expected[0]) == 1


@pytest.mark.parametrize("quantization", ["fp8", "mxfp4", "int8", "int4", "awq", "gptq", "none"])
def test_vllm_is_not_told_how_a_checkpoint_is_quantized(quantization: str) -> None:
    """It reads that itself, and stops when it is told something else."""
    args = engine_of(objects(host({"model.quantization": quantization})))["args"]
    assert "--quantization" not in args
    assert "--dtype" not in args


@pytest.mark.parametrize(
    ("changes", "expected", "absent"),
    [
        ({}, "-c 0 -ngl 0", "-np"),
        ({"engine.contextLength": 4096}, "-c 4096 -ngl 0", "-np"),
        ({"engine.contextLength": 4096, "engine.maxConcurrentRequests": 4}, "-c 16384 -np 4", "-sm"),
        ({"resources.gpuCount": 1}, "-ngl all", "-sm"),
        ({"model.task": "embedding"}, "--embeddings -b 2048 -ub 2048", "-np"),
        ({"model.task": "embedding", "engine.contextLength": 8192}, "--embeddings -b 8192 -ub 8192", "-np"),
    ],
)
def test_llama_cpp_settings(changes: dict[str, Any], expected: str, absent: str) -> None:
    args = engine_of(objects(host(changes, LLAMA)))["args"]
    assert expected in " ".join(args)
    assert absent not in args


def test_arguments_of_the_manifest_come_last_and_in_their_order() -> None:
    args = engine_of(objects(host({"engine.args": ["--seed", "7", "--enable-prefix-caching"]})))["args"]
    assert args[0].startswith("/models/")
    assert args[-3:] == ["--seed", "7", "--enable-prefix-caching"]


def test_vllm_is_started_by_name() -> None:
    """Images of earlier releases start another program, which does not take the model as an argument."""
    assert engine_of(objects(host()))["command"] == ["vllm", "serve"]


def test_images() -> None:
    assert "server-cuda" in engine_of(objects(host({"resources.gpuCount": 1}, LLAMA)))["image"]
    assert "cuda" not in engine_of(objects(host(base=LLAMA)))["image"]
    own = {"engine.image": "registry.example.com/vllm:1.2"}
    assert engine_of(objects(host(own)))["image"] == "registry.example.com/vllm:1.2"


def test_no_shell_anywhere() -> None:
    for base in BASES.values():
        spec = one(objects(host(base=base)), "Deployment")["spec"]["template"]["spec"]
        for container in (*spec["containers"], *spec["initContainers"]):
            words = [*container.get("command", []), *container.get("args", [])]
            assert not {"sh", "bash", "/bin/sh", "/bin/bash"} & set(words)
            assert "exec" not in container.get("lifecycle", {}).get("preStop", {})
