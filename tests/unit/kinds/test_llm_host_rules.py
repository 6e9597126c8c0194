"""One failing and one passing manifest for each rule. A row is: what is wrong, the path that must be named, the level,
and the smallest change that makes it right."""

from typing import Any

import pytest

from smarter.core.facts import Environment
from tests.llm_hosts import LLAMA, VLLM, facts, host, problems, secret

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PVC = {"model.source": "pvc", "model.repository": "qwen3", "storage.existingClaim": "team-weights"}
URL = {"model.source": "url", "model.repository": "https://example.com/m.gguf", "model.file": None}
Row = tuple[str, dict[str, Any], dict[str, Any], str, str, dict[str, Any]]

ERRORS: list[Row] = [
    # Engine, source, task, protocol.
    ("engine later", VLLM, {"engine.name": "ollama"}, "spec.engine.name", "error", {"engine.name": "vllm"}),
    ("source later", VLLM, {"model.source": "s3"}, "spec.model.source", "error", {"model.source": "huggingface"}),
    ("N7", VLLM, {"engine.apiFormat": "huggingface"}, "spec.engine.apiFormat", "error", {"engine.apiFormat": None}),
    ("E3", VLLM, {"model.task": "embedding", "model.capabilities": {"functionCalling": True}},
     "spec.model.capabilities.functionCalling", "warning", {"model.capabilities": None}),
    ("E3 reasoning", VLLM, {"model.task": "embedding", "model.capabilities": {"reasoning": True}},
     "spec.model.capabilities.reasoning", "warning", {"model.capabilities": {"vision": True}}),
    ("E4", VLLM, {"model.embeddingDimensions": 1024}, "spec.model.embeddingDimensions", "warning",
     {"model.task": "embedding"}),
    # Sources.
    ("S3", VLLM, {"model.source": "pvc", "model.repository": "qwen3"}, "spec.storage.existingClaim", "error", PVC),
    ("S4", VLLM, {**PVC, "storage.size": "10Gi"}, "spec.storage.size", "warning", {"storage.size": None}),
    ("S4 class", VLLM, {**PVC, "storage.storageClass": "fast"}, "spec.storage.storageClass", "warning",
     {"storage.storageClass": None}),
    ("S6", LLAMA, {**URL, "model.repository": "http://example.com/m.gguf"}, "spec.model.repository", "error", URL),
    ("S7", VLLM, {**PVC, "model.repository": "../../etc"}, "spec.model.repository", "error", PVC),
    ("S7 absolute", VLLM, {**PVC, "model.repository": "/etc"}, "spec.model.repository", "error", PVC),
    ("S7 hyphen", VLLM, {**PVC, "model.repository": "-x"}, "spec.model.repository", "error", PVC),
    ("S8", VLLM, {"model.repository": "qwen3"}, "spec.model.repository", "error", {"model.repository": "Qwen/Qwen3"}),
    ("S9", VLLM, {**PVC, "model.revision": "main"}, "spec.model.revision", "error", {"model.revision": None}),
    ("S10", VLLM, {"engine.trustRemoteCode": True}, "spec.model.revision", "error", {"model.revision": COMMIT}),
    ("S10 branch", VLLM, {"engine.trustRemoteCode": True, "model.revision": "main"}, "spec.model.revision", "error",
     {"model.revision": COMMIT}),
    ("S11", LLAMA, {"engine.trustRemoteCode": True, "model.revision": COMMIT}, "spec.engine.trustRemoteCode", "error",
     {"engine.trustRemoteCode": False}),
    ("S12", VLLM, {**PVC, "model.tokenSecret": "hf"}, "spec.model.tokenSecret", "warning", {"model.tokenSecret": None}),
    ("S16 name", VLLM, {"model.servedName": "--port"}, "spec.model.servedName", "error", {"model.servedName": "a/b"}),
    ("S16 repository", VLLM, {"model.repository": "--foo/bar"}, "spec.model.repository", "error",
     {"model.repository": "foo/bar"}),
    ("S16 revision", VLLM, {"model.revision": "--help"}, "spec.model.revision", "error", {"model.revision": "v1.0"}),
    # Files and formats.
    ("F1", LLAMA, {"model.file": None}, "spec.model.file", "error", {"model.file": "a.gguf"}),
    ("F1 pvc", LLAMA, {**PVC, "model.file": None}, "spec.model.file", "error", {"model.repository": "a/b.gguf"}),
    ("F2", LLAMA, {"model.file": "model.safetensors"}, "spec.model.file", "error", {"model.file": "m.GGUF"}),
    ("F2 url", LLAMA, {**URL, "model.repository": "https://example.com/m.bin"}, "spec.model.file", "error", URL),
    ("F3", LLAMA, {"model.file": "m-00002-of-00003.gguf"}, "spec.model.file", "error",
     {"model.file": "m-00001-of-00003.gguf"}),
    ("F4 file", VLLM, {"model.file": "m.gguf"}, "spec.model.file", "error", {"engine.image": "example.com/vllm:1"}),
    ("F4", VLLM, {"model.quantization": "gguf"}, "spec.model.quantization", "error", {"engine.image": "e.com/v:1"}),
    ("F5", VLLM, {"model.file": "m-00001-of-00002.gguf", "engine.image": "example.com/v:1"}, "spec.model.file", "error",
     {"model.file": "m.gguf"}),
    ("file of a folder", VLLM, {"model.file": "model.safetensors"}, "spec.model.file", "error", {"model.file": None}),
    ("path in file", LLAMA, {"model.file": "../m.gguf"}, "spec.model.file", "error", {"model.file": "a/m.gguf"}),
    # Quantization and number formats.
    *[(f"Q2 {name}", LLAMA, {"model.quantization": name}, "spec.model.quantization", "error",
       {"model.quantization": "gguf"}) for name in ("fp8", "awq", "gptq")],
    ("Q4", VLLM, {"model.quantization": "fp16", "engine.dtype": "bfloat16"}, "spec.engine.dtype", "error",
     {"engine.dtype": "half"}),
    ("Q5", VLLM, {"engine.dtype": "int8"}, "spec.engine.dtype", "error", {"engine.dtype": "auto"}),
    ("Q6", LLAMA, {"engine.dtype": "float16"}, "spec.engine.dtype", "error", {"engine.dtype": "auto"}),
    ("Q7", VLLM, {"compute": "gpu_t4_1x", "resources.cpu": "2", "resources.memory": "12Gi",
                  "engine.dtype": "bfloat16"}, "spec.engine.dtype", "error", {"engine.dtype": "float16"}),
    ("Q7 quantization", VLLM, {"compute": "gpu_t4_1x", "resources.cpu": "2", "resources.memory": "12Gi",
                               "model.quantization": "bf16"}, "spec.model.quantization", "error",
     {"model.quantization": "fp16"}),
    ("Q8", VLLM, {"compute": "gpu_t4_1x", "resources.cpu": "2", "resources.memory": "12Gi",
                  "model.quantization": "mxfp4"}, "spec.model.quantization", "error", {"model.quantization": "awq"}),
    ("Q8 fp8", VLLM, {"compute": "gpu_a10g_1x", "model.quantization": "fp8"}, "spec.model.quantization", "warning",
     {"compute": "gpu_l4_1x"}),
    # GPUs.
    ("G1", VLLM, {"engine.tensorParallelSize": 4, "resources.gpuCount": 2}, "spec.engine.tensorParallelSize", "error",
     {"resources.gpuCount": 4}),
    ("G1 without", LLAMA, {"engine.tensorParallelSize": 2}, "spec.engine.tensorParallelSize", "error",
     {"engine.tensorParallelSize": 1}),
    ("G2", VLLM, {"engine.tensorParallelSize": 2, "resources.gpuCount": 4}, "spec.engine.tensorParallelSize", "warning",
     {"engine.tensorParallelSize": None}),
    ("G3", VLLM, {"resources.gpuCount": 3}, "spec.resources.gpuCount", "warning", {"resources.gpuCount": 2}),
    ("gpu needed", VLLM, {"resources.gpuCount": 0, "resources.cpu": "2", "resources.memory": "12Gi"},
     "spec.resources.gpuCount", "error", {"engine.image": "vllm/vllm-openai-cpu:v0.23.0"}),
    ("G6", VLLM, {"resources.gpuCount": 0, "resources.cpu": "2", "resources.memory": "12Gi",
                  "engine.image": "e.com/v:1", "engine.gpuMemoryUtilization": 0.5},
     "spec.engine.gpuMemoryUtilization", "error", {"engine.gpuMemoryUtilization": None}),
    ("G7", LLAMA, {"resources.gpuCount": 1, "engine.gpuMemoryUtilization": 0.9}, "spec.engine.gpuMemoryUtilization",
     "error", {"engine.gpuMemoryUtilization": None}),
    ("G8", VLLM, {"compute": "gpu_l4_1x_16g"}, "spec.compute", "error", {"compute": "gpu_l4_1x"}),
    ("G8 gpus", VLLM, {"compute": "gpu_l4_1x", "resources.gpuCount": 2}, "spec.compute", "error",
     {"compute": "gpu_l4_4x"}),
    ("no compute", VLLM, {"compute": "gpu_nope"}, "spec.compute", "error", {"compute": None}),
    ("too large", VLLM, {"resources.memory": "60Ti"}, "spec.resources", "error", {"resources.memory": "24Gi"}),
    ("G9", VLLM, {"compute": "gpu_l4_1x", "resources.vramRequiredGb": 40}, "spec.resources.vramRequiredGb", "error",
     {"resources.vramRequiredGb": 24}),
    ("G9 estimate", VLLM, {"compute": "gpu_l4_1x", "model.parameterCount": 14_000_000_000}, "spec.resources", "warning",
     {"model.parameterCount": 7_000_000_000}),
    ("G10", VLLM, {"compute": "gpu_l4_1x",
                   "resources.nodeSelector": {"node.kubernetes.io/instance-type": "g6.48xlarge"}},
     "spec.resources.nodeSelector", "error",
     {"resources.nodeSelector": {"node.kubernetes.io/instance-type": "g6.2xlarge"}}),
    ("G11", VLLM, {"resources.gpuResource": "amd.com/gpu"}, "spec.engine.image", "error",
     {"resources.gpuResource": "nvidia.com/gpu"}),
    ("G12", VLLM, {"resources.shmSize": "23Gi"}, "spec.resources.memory", "error", {"resources.shmSize": "22Gi"}),
    ("slices", VLLM, {"resources.gpuResource": "nvidia.com/gpu.shared", "resources.gpuCount": 2},
     "spec.resources.gpuCount", "error", {"resources.gpuResource": "nvidia.com/gpu"}),
    # Context and concurrency.
    ("C1", VLLM, {"engine.contextLength": 8192, "model.contextWindow": 4096}, "spec.engine.contextLength", "error",
     {"engine.contextLength": 4096}),
    ("C3", LLAMA, {"model.parameterCount": 600_000_000, "engine.contextLength": 32768,
                   "engine.maxConcurrentRequests": 8, "compute": "cpu_small"}, "spec.resources", "warning",
     {"engine.maxConcurrentRequests": 1}),
    # Network.
    ("N2", VLLM, {"network.allowUnauthenticated": True}, "spec.network.allowUnauthenticated", "warning",
     {"network.ingress": True}),
    ("N3", VLLM, {"network.hostname": "chat.example.com"}, "spec.network.hostname", "warning",
     {"network.ingress": True}),
    ("N4", VLLM, {"network.ingress": True, "network.hostname": "api.localhost"}, "spec.network.hostname", "error",
     {"network.hostname": "chat.example.com"}),
    ("N4 other account", VLLM, {"network.ingress": True,
                                "network.hostname": "x.llmhost.9999-2222-3333.api.localhost"},
     "spec.network.hostname", "error", {"network.hostname": "x.llmhost.1111-2222-3333.api.localhost"}),
    ("N6", VLLM, {"network.ingress": True, "network.allowUnauthenticated": True, "network.apiKeySecret": "k"},
     "spec.network.allowUnauthenticated", "error", {"network.apiKeySecret": None}),
    # Storage.
    ("R1", VLLM, {"scaling.replicas": 2}, "spec.storage.accessMode", "error", {"storage.accessMode": "ReadWriteMany"}),
    ("R2", VLLM, {"storage.accessMode": "ReadOnlyMany"}, "spec.storage.accessMode", "error", PVC),
    ("R4", VLLM, {"model.parameterCount": 8_000_000_000, "storage.size": "1Gi"}, "spec.storage.size", "warning",
     {"storage.size": "50Gi"}),
    *[(f"R6 {path} {value}", VLLM, {path: value}, f"spec.{path}", "error", {path: right}) for path, value, right in (
        ("resources.memory", "24GB", "24Gi"), ("resources.memory", "-1", "24Gi"), ("resources.memory", "1e30", "24Gi"),
        ("resources.memory", "0", "24Gi"), ("resources.shmSize", "8GiB", "8Gi"), ("resources.cpu", "4 cores", "4"),
        ("resources.cpu", "1000000000", "4"), ("storage.size", "50 Gi", "50Gi"), ("storage.size", "2Ei", "50Gi"),
        ("resources.shmSize", "10Pi", "8Gi"), ("resources.cpu", ".5", "500m"),
        ("resources.memory", "\u0661Gi", "24Gi"))],
    ("own claim", VLLM, {**PVC, "storage.existingClaim": "lh-other-0123456789"}, "spec.storage.existingClaim", "error",
     PVC),
    ("claim name", VLLM, {**PVC, "storage.existingClaim": "a/b"}, "spec.storage.existingClaim", "error", PVC),
    ("class name", VLLM, {"storage.storageClass": "Fast Class"}, "spec.storage.storageClass", "error",
     {"storage.storageClass": "fast"}),
    # Image, arguments, environment.
    ("X4", VLLM, {"engine.command": ["sh"]}, "spec.engine.command", "error", {"engine.command": None}),
    ("X5", VLLM, {"engine.image": "vllm/vllm-openai"}, "spec.engine.image", "warning",
     {"engine.image": "vllm/vllm-openai:v0.33.0"}),
    ("X5 latest", VLLM, {"engine.image": "vllm/vllm-openai:latest"}, "spec.engine.image", "warning",
     {"engine.image": f"vllm/vllm-openai@sha256:{'a' * 64}"}),
    ("image", VLLM, {"engine.image": "not an image"}, "spec.engine.image", "error", {"engine.image": "e.com:5000/a:1"}),
    ("X6", VLLM, {"engine.port": 80}, "spec.engine.port", "warning", {"engine.port": 8080}),
    ("X7", VLLM, {"engine.args": ["--port", "9000"]}, "spec.engine.args[0]", "error", {"engine.args": ["--seed", "1"]}),
    ("stray", VLLM, {"engine.args": ["other/model"]}, "spec.engine.args[0]", "error", {"engine.args": ["--seed", "7"]}),
    ("joined", VLLM, {"engine.args": ["--seed 1"]}, "spec.engine.args[0]", "warning", {"engine.args": ["--seed=1"]}),
    ("X8", VLLM, {"engine.env": {"HF_TOKEN": "x"}}, "spec.engine.env.HF_TOKEN", "error", {"engine.env": None}),
    ("X8 name", VLLM, {"engine.env": {"1A": "x"}}, "spec.engine.env", "error", {"engine.env": {"VLLM_A": "x"}}),
    ("unknown env", VLLM, {"engine.env": {"DEBUG": "1"}}, "spec.engine.env.DEBUG", "warning",
     {"engine.env": {"VLLM_DEBUG": "1"}}),
    ("X9", VLLM, {"engine.env": {"VLLM_A": "hf_" + "a" * 30}}, "spec.engine.env.VLLM_A", "warning",
     {"engine.env": {"VLLM_A": "b"}}),
    ("X14", LLAMA, {"model.servedName": "a,b"}, "spec.model.servedName", "error", {"model.servedName": "a"}),
    ("X15", VLLM, {"model.capabilities": {"functionCalling": True}}, "spec.model.capabilities.functionCalling",
     "warning", {"engine.args": ["--enable-auto-tool-choice", "--tool-call-parser=hermes"]}),
    ("X17", VLLM, {"healthCheck.path": "health"}, "spec.healthCheck.path", "error", {"healthCheck.path": "/health"}),
    ("X17 address", VLLM, {"healthCheck.path": "https://x/health"}, "spec.healthCheck.path", "error",
     {"healthCheck.path": "/a/b"}),
    ("X16", VLLM, {"model.parameterCount": 70_000_000_000, "resources.gpuCount": 8,
                   "healthCheck.startupTimeoutSeconds": 120}, "spec.healthCheck.startupTimeoutSeconds", "warning",
     {"healthCheck.startupTimeoutSeconds": 3600}),
    # Placement and identity.
    ("C07 value", VLLM, {"resources.tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
     "spec.resources.tolerations[0].value", "error", {"resources.tolerations": [{"key": "a", "operator": "Exists"}]}),
    ("C07 field", VLLM, {"resources.tolerations": [{"kye": "a"}]}, "spec.resources.tolerations[0]", "error",
     {"resources.tolerations": [{"key": "a"}]}),
    ("C07 effect", VLLM, {"resources.tolerations": [{"key": "a", "effect": "noSchedule"}]},
     "spec.resources.tolerations[0].effect", "error",
     {"resources.tolerations": [{"key": "a", "effect": "NoSchedule"}]}),
    ("C07 seconds", VLLM, {"resources.tolerations": [{"key": "a", "effect": "NoExecute", "tolerationSeconds": "60"}]},
     "spec.resources.tolerations[0].tolerationSeconds", "error",
     {"resources.tolerations": [{"key": "a", "effect": "NoExecute", "tolerationSeconds": 60}]}),
    ("T22", VLLM, {"resources.tolerations": [{"operator": "Exists"}]}, "spec.resources.tolerations[0].key", "error",
     {"resources.tolerations": []}),
    ("T22 role", VLLM, {"resources.tolerations": [{"key": "node-role.kubernetes.io/control-plane"}]},
     "spec.resources.tolerations[0].key", "error", {"resources.tolerations": None}),
    ("T23", VLLM, {"resources.nodeSelector": {"node-role.kubernetes.io/control-plane": ""}},
     "spec.resources.nodeSelector", "error", {"resources.nodeSelector": {"zone": "a"}}),
    ("T23 hostname", VLLM, {"resources.nodeSelector": {"kubernetes.io/hostname": "node-a"}},
     "spec.resources.nodeSelector", "warning", {"resources.nodeSelector": None}),
    ("label", VLLM, {"resources.nodeSelector": {"a b": "c"}}, "spec.resources.nodeSelector", "error",
     {"resources.nodeSelector": {"a": ""}}),
    ("T20", VLLM, {"resources.serviceAccountName": "default"}, "spec.resources.serviceAccountName", "error",
     {"resources.serviceAccountName": None}),
    ("T20 name", VLLM, {"resources.serviceAccountName": "../x"}, "spec.resources.serviceAccountName", "error",
     {"resources.serviceAccountName": None}),
    ("T24", VLLM, {"resources.gpuResource": "cpu"}, "spec.resources.gpuResource", "error",
     {"resources.gpuResource": "nvidia.com/gpu"}),
    ("T24 empty", VLLM, {"resources.gpuResource": ""}, "spec.resources.gpuResource", "error",
     {"resources.gpuResource": None}),
    ("T24 device", VLLM, {"resources.gpuResource": "devices.kubevirt.io/kvm", "engine.image": "e.com/a:1"},
     "spec.resources", "error", {"resources.gpuResource": "nvidia.com/gpu"}),
]  # fmt: skip


def found(base: dict[str, Any], changes: dict[str, Any]) -> list[tuple[str, str]]:
    return [(problem.path, problem.level) for problem in problems(host(changes, base))]


@pytest.mark.parametrize("row", ERRORS, ids=[row[0] for row in ERRORS])
def test_rule(row: Row) -> None:
    _, base, wrong, path, level, cure = row
    assert (path, level) in found(base, wrong)
    cured = {**wrong, **cure}
    assert path not in [place for place, _ in found(base, cured)]
    assert "error" not in [severity for _, severity in found(base, cured)]


@pytest.mark.parametrize(
    "hostname",
    ["https://llm.example.org", "llm.example.org/v1", "*.example.org", "my_llm.example.org", "10.0.0.1", "a" * 300,
     "localhost", "chat.example.org.", "[::1]", "a..b", "-a.example.org"],
)  # fmt: skip
def test_bad_hostnames(hostname: str) -> None:
    assert ("spec.network.hostname", "error") in found(
        VLLM, {"network.ingress": True, "network.hostname": hostname[:253]}
    )


@pytest.mark.parametrize("hostname", ["LLM.Example.org", "xn--bcher-kva.example", "a.b"])
def test_good_hostnames(hostname: str) -> None:
    assert found(VLLM, {"network.ingress": True, "network.hostname": hostname}) == []


@pytest.mark.parametrize("value", ["", "   ", "a b", "a,b", "a\nb", "Bearer hf_abc", "ключ"])
def test_unusable_keys(value: str) -> None:
    manifest = host({"network.apiKeySecret": "k"})
    from_facts = facts(manifest)
    bad = problems(manifest, secrets={**from_facts.secrets, "k": secret("k", value)})
    assert [problem.path for problem in bad] == ["spec.network.apiKeySecret"]
    assert all(value not in problem.message for problem in bad if value.strip())


def test_a_service_account_that_the_operator_allows() -> None:
    manifest = host({"resources.serviceAccountName": "s3-reader"})
    assert problems(manifest, environment=Environment(service_accounts=("s3-reader",))) == []


def test_a_right_manifest_has_no_problems() -> None:
    assert problems(host()) == []
    assert problems(host(base=LLAMA)) == []


def test_all_faults_are_told_at_once() -> None:
    wrong = {
        "compute": "gpu_nope",
        "engine.args": ["--api-key", "x", "--host=::"],
        "engine.dtype": "int8",
        "model.servedName": "-x",
        "network.hostname": "a b",
        "storage.accessMode": "ReadOnlyMany",
    }
    assert {path for path, level in found(VLLM, wrong) if level == "error"} == {
        "spec.compute",
        "spec.engine.args[0]",
        "spec.engine.args[2]",
        "spec.engine.dtype",
        "spec.model.servedName",
        "spec.network.hostname",
        "spec.storage.accessMode",
    }


def test_what_is_not_available_names_what_is() -> None:
    (problem,) = problems(host({"engine.name": "tgi"}))
    assert "available: llama_cpp, vllm" in problem.message
