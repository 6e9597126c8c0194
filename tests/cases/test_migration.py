"""Hosts that people run elsewhere, as LLMHosts: each is accepted, or refused for the one reason that is named."""

from typing import Any

import pytest
import yaml

from tests.llm_hosts import host, objects, problems

ACCEPTED: dict[str, str] = {
    "M1 quantized, on an L4": """
compute: gpu_l4_1x
model: {repository: neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8, quantization: fp8}
engine: {name: vllm, contextLength: 16384, gpuMemoryUtilization: 0.9, args: ["--max-num-batched-tokens=16384"]}
resources: {gpuCount: 1, cpu: "6", memory: 24Gi}
""",
    "M3 ollama": """
model: {source: ollama, repository: "gemma3:27b"}
engine: {name: ollama, apiFormat: openai_compatible}
resources: {gpuCount: 1, cpu: "6", memory: 24Gi}
""",
    "M4 embeddings on processors": """
model: {source: ollama, repository: nomic-embed-text, task: embedding, embeddingDimensions: 768}
engine: {name: ollama}
resources: {gpuCount: 0, cpu: "1", memory: 2Gi}
""",
    "M5 gated": """
model: {repository: meta-llama/Llama-3.1-8B-Instruct, tokenSecret: hf_token}
engine: {name: vllm, image: "vllm/vllm-openai:v0.33.0", contextLength: 4096, dtype: bfloat16,
         gpuMemoryUtilization: 0.8, args: ["--no-enable-chunked-prefill", "--no-enable-prefix-caching"]}
resources: {gpuCount: 1, cpu: "6", memory: 16Gi}
storage: {size: 50Gi, accessMode: ReadWriteOnce}
""",
    "M6 two older GPUs, one node": """
model: {repository: Qwen/Qwen2.5-7B-Instruct}
engine: {name: vllm, image: "vllm/vllm-openai:v0.8.5", dtype: half, contextLength: 8192, tensorParallelSize: 2,
         gpuMemoryUtilization: 0.9, args: ["--enforce-eager"],
         env: {VLLM_ENABLE_CUDA_COMPATIBILITY: "1", VLLM_USE_V1: "0"}}
resources: {gpuCount: 2, cpu: "8", memory: 32Gi, shmSize: 4Gi, nodeSelector: {kubernetes.io/hostname: node-a}}
storage: {size: 50Gi}
""",
    "M7 tool calls": """
model: {repository: meta-llama/Llama-3.1-8B-Instruct, tokenSecret: hf_token, capabilities: {functionCalling: true}}
engine: {name: vllm, contextLength: 4096, dtype: bfloat16, tensorParallelSize: 1,
         args: ["--enable-auto-tool-choice", "--tool-call-parser", "llama3_json",
                "--chat-template", "/models/templates/tool_chat_template.jinja"]}
resources: {gpuCount: 1, cpu: "6", memory: 24Gi}
""",
    "M8 two replicas on a shared volume": """
model: {repository: mistralai/Mistral-7B-Instruct-v0.2, tokenSecret: hf_token}
engine: {name: vllm, image: "lmcache/vllm-openai:v0.3.1", contextLength: 16384, args: ["--enable-prefix-caching"]}
resources: {gpuCount: 1, cpu: "6", memory: 24Gi}
scaling: {replicas: 2}
storage: {size: 50Gi, accessMode: ReadWriteMany}
""",
    "M9 a key without a public address": """
model: {repository: facebook/opt-125m}
engine: {name: vllm, image: "vllm/vllm-openai:v0.33.0"}
resources: {gpuCount: 1, cpu: "6", memory: 16Gi}
network: {apiKeySecret: vllm_api_key}
""",
    "M10 ollama on processors": """
model: {source: ollama, repository: moondream, capabilities: {vision: true}}
engine: {name: ollama}
resources: {gpuCount: 0, cpu: "2", memory: 4Gi}
storage: {size: 30Gi}
""",
    "M11 served under its own name": """
model: {repository: Qwen/Qwen2.5-7B-Instruct, servedName: Qwen/Qwen2.5-7B-Instruct}
engine: {name: vllm}
resources: {gpuCount: 1, cpu: "2", memory: 24Gi}
scaling: {replicas: 3}
storage: {accessMode: ReadWriteMany}
network: {ingress: true}
""",
    "M12 the root of a claim": """
model: {source: pvc, repository: ".", servedName: RedHatAI/gpt-oss-20b, quantization: mxfp4}
engine: {name: vllm, image: "ghcr.io/llm-d/llm-d-cuda:v0.9.0"}
resources: {gpuCount: 1, cpu: "4", memory: 24Gi}
scaling: {replicas: 2}
storage: {existingClaim: gpt-oss-20b-pvc, accessMode: ReadOnlyMany}
""",
    "M13 GGUF on two GPUs": """
model: {source: huggingface, repository: unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF,
        file: Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf, quantization: gguf}
engine: {name: llama_cpp, image: "ghcr.io/ggml-org/llama.cpp:server-cuda13-b7000", contextLength: 65536,
         args: ["--cache-type-k", "q8_0", "--cache-type-v", "q8_0", "--flash-attn", "on", "--jinja",
                "--split-mode", "layer"]}
resources: {gpuCount: 2, cpu: "4", memory: 8Gi, vramRequiredGb: 32}
""",
    "M14 one object of a bucket": """
model: {source: s3, repository: "s3://my-bucket/models/llama-3.1-8b-q4_k_m.gguf", quantization: gguf}
engine: {name: llama_cpp}
resources: {gpuCount: 1, memory: 16Gi}
""",
    "M15 four GPUs": """
model: {repository: meta-llama/Llama-3.3-70B-Instruct, tokenSecret: hf_token}
engine: {name: vllm, contextLength: 16384, gpuMemoryUtilization: 0.95, tensorParallelSize: 4,
         args: ["--swap-space", "4", "--cpu-offload-gb", "0"]}
resources: {gpuCount: 4, memory: 300Gi}
healthCheck: {startupTimeoutSeconds: 7200}
storage: {size: 200Gi}
""",
    "M18 TGI": """
model: {repository: Intel/neural-chat-7b-v3-3}
engine: {name: tgi, image: "ghcr.io/huggingface/text-generation-inference:2.4.1", port: 2080}
resources: {gpuCount: 1, memory: 24Gi, shmSize: 1Gi}
healthCheck: {startupTimeoutSeconds: 600, periodSeconds: 5}
""",
    "M18 TEI on processors": """
model: {repository: BAAI/bge-base-en-v1.5, task: embedding}
engine: {name: tei, image: "ghcr.io/huggingface/text-embeddings-inference:cpu-1.7", port: 2081,
         env: {HF_HUB_DISABLE_PROGRESS_BARS: "1"}}
resources: {gpuCount: 0, cpu: "2", memory: 4Gi, shmSize: 1Gi}
""",
}
REFUSED: dict[str, tuple[str, str]] = {
    "M2 eight AMD GPUs, no such node": (
        """
model: {repository: deepseek-ai/DeepSeek-R1, parameterCount: 671000000000, quantization: fp8}
engine: {name: vllm, image: "rocm/vllm-dev:open-mi300-08052025", trustRemoteCode: true,
         revision: 0123456789abcdef0123456789abcdef01234567, contextLength: 32768, tensorParallelSize: 8,
         gpuMemoryUtilization: 0.9, maxConcurrentRequests: 1024, args: ["--kv-cache-dtype=fp8"],
         env: {HIP_FORCE_DEV_KERNARG: "1", NCCL_MIN_NCHANNELS: "112"}}
resources: {gpuCount: 8, gpuResource: amd.com/gpu, memory: 1000Gi, shmSize: 64Gi}
healthCheck: {startupTimeoutSeconds: 14400}
storage: {size: 900Gi}
""",
        "spec.resources",
    ),
    "M8 two replicas on a volume of one node": (
        """
model: {repository: mistralai/Mistral-7B-Instruct-v0.2}
engine: {name: vllm}
resources: {gpuCount: 1}
scaling: {replicas: 2}
storage: {size: 50Gi}
""",
        "spec.storage.accessMode",
    ),
    "M14 an account that the operator did not lend": (
        """
model: {source: s3, repository: "s3://my-bucket/models/llama-3.1-8b-q4_k_m.gguf", quantization: gguf}
engine: {name: llama_cpp}
resources: {serviceAccountName: s3-reader, gpuCount: 1, memory: 16Gi}
""",
        "spec.resources.serviceAccountName",
    ),
    "M16 slices that no node has": (
        """
model: {repository: microsoft/Phi-4-mini-instruct}
engine: {name: vllm}
resources: {gpuCount: 1, gpuResource: nvidia.com/mig-2g.24gb, memory: 24Gi}
scaling: {replicas: 2}
storage: {accessMode: ReadWriteMany}
""",
        "spec.resources",
    ),
}


def spec_of(text: str) -> dict[str, Any]:
    spec: dict[str, Any] = yaml.safe_load(text)
    revision = spec["engine"].pop("revision", None)
    if revision:
        spec["model"]["revision"] = revision
    return spec


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=list(ACCEPTED))
def test_host_that_runs_elsewhere_is_accepted(text: str) -> None:
    manifest = host(base=spec_of(text))
    assert [str(one) for one in problems(manifest) if one.level == "error"] == []
    assert objects(manifest)


@pytest.mark.parametrize(("text", "path"), REFUSED.values(), ids=list(REFUSED))
def test_host_that_cannot_be_taken_over_is_refused_at_one_place(text: str, path: str) -> None:
    assert {one.path for one in problems(host(base=spec_of(text))) if one.level == "error"} == {path}
