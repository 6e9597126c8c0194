"""Facts that each engine must have right for hosts to start, to stop and to be safe."""

import base64
import dataclasses
from typing import Any

import pytest
import yaml

from smarter.cli.rendering import built_in_computes
from smarter.core.engine import Engine
from smarter.core.objects import KubernetesObject
from smarter.engines import ENGINES
from smarter.sources import SOURCES
from tests.llm_hosts import BASES, LLAMA, engine_of, facts, host, objects, one, problems, secret
from tests.restricted import faults

ALL = sorted(ENGINES.values(), key=lambda engine: engine.name)
ROOT = {"tgi"}
"""Engines whose server runs as root, each with its reason in its file."""


@pytest.mark.parametrize("engine", ALL, ids=lambda engine: engine.name)
def test_record(engine: Engine) -> None:
    assert engine.port >= 1024 or engine.own_command
    assert (engine.user.uid == 0) == bool(engine.user.waiver) == (engine.name in ROOT)
    assert engine.user.fs_group != 0 or engine.user.gid == 0
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
    container = engine_of(objects(host(base=BASES[engine.name])))
    words = [*container["args"], *(entry.get("value") for entry in container["env"])]
    told = [word for word in words if word and word.startswith("0.0.0.0")]
    assert len(told) == (0 if engine.own_command else 1)


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
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                assert not {"sh", "bash"} & set(container.get(probe, {}).get("exec", {}).get("command", ()))
            words = [*container.get("command", []), *container.get("args", [])]
            assert not {"sh", "bash", "/bin/sh", "/bin/bash"} & set(words)
            assert "exec" not in container.get("lifecycle", {}).get("preStop", {})


def settings(name: str, changes: dict[str, Any]) -> str:
    """Arguments and variables as one text."""
    container = engine_of(objects(host(changes, BASES[name])))
    words = [*container["args"], *(f"{entry['name']}={entry.get('value')}" for entry in container["env"])]
    return " ".join(words)


@pytest.mark.parametrize(
    ("name", "changes", "expected", "absent"),
    [
        ("sglang", {}, "--served-model-name case_host --host 0.0.0.0 --port 30000 --enable-metrics --tp-size 1",
         "--context-length"),
        ("sglang", {"resources.gpuCount": 4}, "--tp-size 4", "--mem-fraction-static"),
        ("sglang", {"engine.contextLength": 8192}, "--context-length 8192", "--is-embedding"),
        ("sglang", {"engine.gpuMemoryUtilization": 0.9}, "--mem-fraction-static 0.82", "--dtype"),
        ("sglang", {"engine.gpuMemoryUtilization": 0.1}, "--mem-fraction-static 0.05", "--dtype"),
        ("sglang", {"engine.maxConcurrentRequests": 32}, "--max-running-requests 32", "--dtype"),
        ("sglang", {"model.quantization": "bf16"}, "--dtype bfloat16", "--quantization"),
        ("sglang", {"model.quantization": "awq"}, "--tp-size 1", "awq"),
        ("sglang", {"model.task": "embedding"}, "--is-embedding", "--dtype"),
        ("sglang", {"model.file": "m.gguf"}, "/m.gguf --served-model-name", "--load-format"),
        ("tgi", {}, "--hostname 0.0.0.0 --port 8080 --num-shard 1", "--max-total-tokens"),
        ("tgi", {}, "--usage-stats off --json-output", "--served-model-name"),
        ("tgi", {"engine.contextLength": 8192},
         "--max-total-tokens 8192 --max-input-tokens 8191 --max-batch-prefill-tokens 8191", "--dtype"),
        ("tgi", {"engine.contextLength": 2},
         "--max-total-tokens 2 --max-input-tokens 1 --max-batch-prefill-tokens 4096", "--dtype"),
        ("tgi", {"engine.contextLength": 8192, "engine.args": ["--max-batch-prefill-tokens=9000"]},
         "--max-input-tokens 8191", "--max-batch-prefill-tokens 8191"),
        ("tgi", {"engine.contextLength": 8192, "engine.env": {"MAX_BATCH_PREFILL_TOKENS": "9000"}},
         "--max-input-tokens 8191", "--max-batch-prefill-tokens"),
        ("tgi", {"engine.gpuMemoryUtilization": 0.85}, "--cuda-memory-fraction 0.85", "--quantize"),
        ("tgi", {"model.quantization": "gptq"}, "--num-shard 1", "gptq"),
        ("tei", {}, "--served-model-name case_host --hostname 0.0.0.0 --port 8080 --json-output", "--max-batch-tokens"),
        ("tei", {"engine.contextLength": 32768}, "--max-batch-tokens 32768", "--dtype"),
        ("tei", {"engine.contextLength": 512}, "--max-batch-tokens 16384", "--dtype"),
        ("tei", {"model.quantization": "fp32"}, "--dtype float32", "--max-concurrent-requests"),
        ("ollama", {}, "serve HOME=/tmp/ollama", "OLLAMA_NUM_PARALLEL"),
        ("ollama", {}, "OLLAMA_HOST=0.0.0.0:11434 OLLAMA_KEEP_ALIVE=-1 OLLAMA_LOAD_TIMEOUT=3600s "
         "OLLAMA_MAX_LOADED_MODELS=1 OLLAMA_MODELS=/models/ollama OLLAMA_NOPRUNE=1 OLLAMA_NO_CLOUD=1",
         "OLLAMA_CONTEXT_LENGTH"),
        ("ollama", {"engine.contextLength": 8192, "engine.maxConcurrentRequests": 4}, "OLLAMA_NUM_PARALLEL=4",
         "OLLAMA_SCHED_SPREAD"),
        ("ollama", {"resources.gpuCount": 2}, "OLLAMA_SCHED_SPREAD=1", "OLLAMA_CONTEXT_LENGTH"),
        ("ollama", {"resources.gpuCount": 1}, "OLLAMA_NOPRUNE=1", "NVIDIA_VISIBLE_DEVICES"),
        ("custom", {}, "HOME=/tmp NVIDIA_VISIBLE_DEVICES=void SMARTER_MODEL_NAME=case_host SMARTER_MODEL_PATH=/models/",
         "--"),
        ("custom", {"engine.args": ["serve", "--x", "1"]}, "serve --x 1", "stray"),
    ],
)  # fmt: skip
def test_settings_of_an_engine(name: str, changes: dict[str, Any], expected: str, absent: str) -> None:
    told = settings(name, changes)
    assert expected in told
    assert absent not in told


def test_custom_runs_the_command_of_the_manifest() -> None:
    given = {"engine.command": ["/bin/server", "$(HOME)"], "engine.args": ["run"]}
    manifest = host(given, BASES["custom"])
    assert [problem for problem in problems(manifest) if problem.level == "error"] == []
    container = engine_of(objects(manifest))
    assert (container["command"], container["args"]) == (["/bin/server", "$$(HOME)"], ["run"])


def probes(name: str, changes: dict[str, Any]) -> dict[str, Any]:
    container = engine_of(objects(host(changes, BASES[name])))
    return {kind: container[f"{kind}Probe"] for kind in ("startup", "readiness", "liveness")}


def test_probes_of_sglang() -> None:
    """Its health path generates a token, which takes a second at least."""
    found = probes("sglang", {})
    assert [found[kind]["httpGet"]["path"] for kind in found] == ["/health", "/ready", "/health"]
    assert [found[kind]["timeoutSeconds"] for kind in found] == [30, 5, 30]
    assert found["startup"]["failureThreshold"] * found["startup"]["periodSeconds"] >= 3600


def test_probes_of_ollama() -> None:
    """It answers before it has a model, and loads none until it is asked."""
    found = probes("ollama", {"healthCheck.startupTimeoutSeconds": 900})
    assert found["startup"]["exec"]["command"] == ["ollama", "run", "llama3.1:8b", ""]
    assert (found["startup"]["timeoutSeconds"], found["startup"]["failureThreshold"]) == (900, 6)
    assert found["readiness"]["exec"]["command"] == ["ollama", "show", "llama3.1:8b"]
    assert found["liveness"]["httpGet"]["path"] == "/api/version"
    embeds = probes("ollama", {"model.repository": "nomic-embed-text", "model.task": "embedding"})
    assert embeds["startup"]["exec"]["command"] == ["ollama", "show", "nomic-embed-text:latest"]
    assert embeds["startup"]["failureThreshold"] == 360
    own = probes("ollama", {"healthCheck.path": "/"})
    assert {found["httpGet"]["path"] for found in own.values()} == {"/"}


def test_probes_of_custom() -> None:
    assert {tuple(found["tcpSocket"].items()) for found in probes("custom", {}).values()} == {(("port", "http"),)}
    own = probes("custom", {"healthCheck.path": "/up"})
    assert {found["httpGet"]["path"] for found in own.values()} == {"/up"}


def test_requests_to_ollama_name_the_model_of_the_store() -> None:
    """Other servers answer to the served name."""
    manifest = host(base=BASES["ollama"])
    weights = SOURCES["ollama"].weights(manifest.spec, facts(manifest).environment, "registry")
    assert ENGINES["ollama"].model_name
    assert ENGINES["ollama"].model_name(weights, "case_host") == "llama3.1:8b"
    assert [engine.name for engine in ALL if engine.model_name] == ["ollama"]


@pytest.mark.parametrize(
    ("gpu", "compute", "tag"),
    [(0, "cpu_small", "cpu-1.9.3"), (1, "gpu_l4_1x", "89-1.9.3"), (1, "gpu_a10g_1x", "86-1.9.3"),
     (1, "gpu_l40s_1x", "89-1.9.3"), (1, "gpu_h100_8x", "hopper-1.9.3")],
)  # fmt: skip
def test_tei_runs_the_image_for_its_gpu(gpu: int, compute: str, tag: str) -> None:
    small = {"resources.cpu": "2", "resources.memory": "10Gi"}
    image = engine_of(objects(host({**small, "resources.gpuCount": gpu, "compute": compute}, BASES["tei"])))["image"]
    assert image == f"ghcr.io/huggingface/text-embeddings-inference:{tag}"


def test_tei_on_a_gpu_that_nobody_knows_finds_its_program_itself() -> None:
    unknown = [dataclasses.replace(one, gpu_type="Z900") for one in built_in_computes() if one.gpu_count]
    manifest = host({"resources.gpuCount": 1}, BASES["tei"])
    image = engine_of(objects(manifest, computes=tuple(unknown)))["image"]
    assert image.endswith(":cuda-1.9.3")


KEY = 'a "key": \\ of $(HOME) 12'


def sglang(changes: dict[str, Any] | None = None) -> list[KubernetesObject]:
    return objects(
        host(changes or {}, BASES["sglang"]),
        secrets={"llmhost_case_host_api_key": secret("llmhost_case_host_api_key", KEY)},
    )


def test_sglang_reads_its_key_from_a_file() -> None:
    """It takes the key as an argument otherwise, which everybody on the node and every reader of the pod would see."""
    found = sglang()
    data = one(found, "Secret")["data"]
    text = base64.b64decode(data["sglang.yaml"]).decode()
    assert yaml.safe_load(text) == {"api-key": KEY}
    container = engine_of(found)
    args = container["args"]
    assert args[args.index("--config") + 1] == "/etc/smarter/sglang.yaml"
    assert {"name": "secret-sglang-yaml", "mountPath": "/etc/smarter", "readOnly": True} in container["volumeMounts"]
    pod = one(found, "Deployment")["spec"]["template"]["spec"]
    volume = next(volume["secret"] for volume in pod["volumes"] if volume["name"] == "secret-sglang-yaml")
    assert volume["secretName"] == one(found, "Secret")["metadata"]["name"]
    assert volume["items"] == [{"key": "sglang.yaml", "path": "sglang.yaml"}]
    assert volume["defaultMode"] == 0o440
    assert KEY not in str(pod)
    assert not [entry for entry in container["env"] if "valueFrom" in entry]


def test_sglang_without_a_key_has_no_file() -> None:
    found = sglang({"network.ingress": True, "network.allowUnauthenticated": True})
    assert "Secret" not in [body["kind"] for body in found]
    assert "--config" not in engine_of(found)["args"]
    assert "/etc/smarter" not in str(found)


def test_root_is_for_one_container_alone() -> None:
    pod = one(objects(host(base=BASES["tgi"])), "Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsUser"] == 0
    (fetch,) = pod["initContainers"]
    assert (fetch["securityContext"]["runAsUser"], fetch["securityContext"]["runAsNonRoot"]) == (10001, True)
    assert faults(pod) == ["engine.runAsNonRoot", "engine.runAsUser", "pod.runAsUser"]


GGUF = {"model.file": "m.gguf", "model.quantization": "gguf"}


@pytest.mark.parametrize(
    ("name", "changes", "path"),
    [
        ("vllm", {"model.source": "url", "model.repository": "https://example.com/m.safetensors"}, "model.repository"),
        ("vllm", {"model.source": "url", "model.repository": "https://example.com/m.gguf"}, "model.repository"),
        ("vllm", {"model.source": "pvc", "model.repository": "a/m.gguf", "storage.existingClaim": "c"},
         "model.repository"),
        ("sglang", {"model.source": "url", "model.repository": "https://example.com/m.safetensors"},
         "model.repository"),
        ("sglang", {**GGUF, "model.file": "m-00001-of-00002.gguf"}, "model.file"),
        ("sglang", {"model.quantization": "gguf"}, "model.file"),
        ("sglang", {"model.file": "m.safetensors"}, "model.file"),
        ("tgi", {"model.source": "url", "model.repository": "https://example.com/m.safetensors"}, "model.repository"),
        ("tgi", {"model.source": "pvc", "model.repository": "a/m.gguf", "storage.existingClaim": "c"},
         "model.repository"),
        ("tgi", {"model.source": "pvc", "model.repository": "a[b]", "storage.existingClaim": "c"}, "model.repository"),
        ("tei", {"model.source": "url", "model.repository": "https://example.com/m.gguf"}, "model.repository"),
        ("tei", {"model.quantization": "fp16"}, "model.quantization"),
        ("tei", {"engine.dtype": "float16"}, "engine.dtype"),
        ("ollama", {"model.source": "huggingface", "model.repository": "a/b", "model.revision": "main"},
         "model.revision"),
        ("custom", {"engine.apiFormat": "custom", "network.ingress": True, "network.allowUnauthenticated": True},
         "engine.apiFormat"),
    ],
)  # fmt: skip
def test_what_an_engine_cannot_run_is_refused(name: str, changes: dict[str, Any], path: str) -> None:
    found = problems(host(changes, BASES[name]))
    assert f"spec.{path}" in [problem.path for problem in found if problem.level == "error"]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("vllm", {"model.source": "url", "model.repository": "https://example.com/m.tar.gz?sig=1"}),
        ("vllm", {"model.source": "url", "model.repository": "https://e.com/m.gguf", "engine.image": "e.com/v:1"}),
        ("sglang", GGUF),
        ("sglang", {"model.source": "url", "model.repository": "https://example.com/m.gguf"}),
        ("tgi", {"model.source": "url", "model.repository": "https://example.com/m.tgz"}),
        ("tei", {"model.quantization": "fp16", "resources.gpuCount": 1}),
        ("tei", {"model.quantization": "fp16", "engine.image": "example.com/tei-python:1"}),
        ("ollama", {"model.source": "huggingface", "model.repository": "a/b", "model.file": "Q8_0"}),
        ("ollama", {"model.servedName": "llama3.1:8b"}),
        ("custom", {"engine.apiFormat": "custom", "engine.args": ["serve"]}),
    ],
)  # fmt: skip
def test_what_an_engine_can_run_passes(name: str, changes: dict[str, Any]) -> None:
    assert [problem for problem in problems(host(changes, BASES[name])) if problem.level == "error"] == []


@pytest.mark.parametrize("name", sorted(BASES))
def test_an_address_exposes_only_what_was_listed(name: str) -> None:
    """Never the root, and never what changes, loads or removes a model."""
    for paths in ENGINES[name].public_paths.values():
        for path in paths:
            assert path.startswith("/")
            assert path not in ("/", "/api", "/metrics", "/health", "/server_info", "/info", "/invocations")
            assert path.rpartition("/")[2] not in ("pull", "push", "create", "delete", "copy", "blobs", "tokenize")
