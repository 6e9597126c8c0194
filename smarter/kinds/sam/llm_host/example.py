"""The manifest that `smarter example LLMHost` prints. It applies as it is."""

EXAMPLE = """\
apiVersion: smarter.sh/v1
kind: LLMHost
metadata:
  name: qwen3_small
  description: A small chat model that runs on processors, without a GPU.
  version: 1.0.0
spec:
  model:
    source: huggingface
    repository: Qwen/Qwen3-0.6B-GGUF
    file: Qwen3-0.6B-Q8_0.gguf
    quantization: gguf
    parameterCount: 600000000
  engine:
    name: llama_cpp
    contextLength: 8192
    maxConcurrentRequests: 2
  resources:
    cpu: "2"
    memory: 4Gi
  storage:
    size: 5Gi
"""
