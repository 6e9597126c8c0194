"""Q and X: number formats, images, ports, arguments and variables, and what a server of one's own must say itself."""

from tests.unit.kinds.rules.bases import CUSTOM, LLAMA, OLLAMA, S3, SGLANG, TEI, TGI, URL, VLLM
from tests.unit.kinds.rules.rule import Rule, Spec

_QUANTIZATION, _DTYPE = "spec.model.quantization", "spec.engine.dtype"
_IMAGE, _PORT, _NAME = "spec.engine.image", "spec.engine.port", "spec.model.servedName"
_ARGS = "spec.engine.args[0]"
_TOOLS = ["--enable-auto-tool-choice", "--tool-call-parser=hermes"]

# The cells of the table of formats in which an engine has nothing that could load the weights.
_CANNOT_LOAD: tuple[tuple[str, Spec, str, tuple[str, ...]], ...] = (
    ("llama_cpp", LLAMA, "gguf", ("fp8", "awq", "gptq")),
    ("tgi", TGI, "none", ("fp32", "mxfp4", "gguf")),
    ("ollama", OLLAMA, "gguf", ("fp32", "fp8", "awq", "gptq")),
    ("tei", TEI, "none", ("bf16", "fp8", "mxfp4", "int8", "int4", "gguf", "awq", "gptq")),
)
_FORMATS = tuple(
    Rule(number, base, {"model.quantization": name}, "quantization", _QUANTIZATION, {"model.quantization": right},
         note=f"{engine} {name}")
    for engine, base, right, names in _CANNOT_LOAD
    for name in names
    for number in ("Q1", *(("Q2",) if engine in ("llama_cpp", "ollama") and name in ("fp8", "awq", "gptq") else ()))
)  # fmt: skip

RULES: tuple[Rule, ...] = (
    *_FORMATS,
    *(Rule("Q3", TGI, {"model.quantization": name, "engine.dtype": "float16"}, "dtype", _DTYPE,
           {"engine.dtype": None}, note=name) for name in ("fp8", "awq", "gptq", "int8")),
    Rule("Q4", VLLM, {"model.quantization": "fp16", "engine.dtype": "bfloat16"}, "dtype", _DTYPE,
         {"engine.dtype": "half"}),
    Rule("Q4", SGLANG, {"model.quantization": "bf16", "engine.dtype": "float16"}, "dtype", _DTYPE,
         {"engine.dtype": "bfloat16"}, note="sglang"),
    Rule("Q4", TGI, {"model.quantization": "fp16", "engine.dtype": "bfloat16"}, "dtype", _DTYPE,
         {"engine.dtype": "float16"}, note="tgi"),
    Rule("Q4", TEI, {"model.quantization": "fp32", "engine.dtype": "float16"}, "dtype", _DTYPE,
         {"engine.dtype": "float32"}, note="tei"),
    Rule("Q5", VLLM, {"engine.dtype": "int8"}, "dtype", _DTYPE, {"engine.dtype": "auto"}),
    Rule("Q5", SGLANG, {"engine.dtype": "int8"}, "dtype", _DTYPE, {"engine.dtype": "float16"}, note="sglang"),
    Rule("Q5", TGI, {"engine.dtype": "float32"}, "dtype", _DTYPE, {"engine.dtype": "bfloat16"}, note="tgi"),
    Rule("Q5", TEI, {"engine.dtype": "bfloat16"}, "dtype", _DTYPE, {"engine.dtype": "float32"}, note="tei"),
    Rule("Q6", LLAMA, {"engine.dtype": "float16"}, "dtype", _DTYPE, {"engine.dtype": "auto"}),
    Rule("Q6", OLLAMA, {"engine.dtype": "float16"}, "dtype", _DTYPE, {"engine.dtype": None}, note="ollama"),
    # A server of one's own.
    Rule("X1", CUSTOM, {"engine.image": None}, "image", _IMAGE, {"engine.image": "e.com/a:1"}),
    Rule("X1", CUSTOM, {"engine.port": None}, "port", _PORT, {"engine.port": 8000}, note="port"),
    Rule("X1", CUSTOM, {"engine.port": None, "engine.image": None}, "image", _IMAGE,
         {"engine.image": "e.com/a:1", "engine.port": 8000}, note="both, image"),
    Rule("X1", CUSTOM, {"engine.port": None, "engine.image": None}, "port", _PORT,
         {"engine.image": "e.com/a:1", "engine.port": 8000}, note="both, port"),
    Rule("X2", CUSTOM, {"healthCheck": {}}, "no_health_path", "spec.healthCheck.path",
         {"healthCheck": {"path": "/ready"}}, "warning"),
    *(Rule("X3", CUSTOM, {f"engine.{field}": value, "resources.gpuCount": 2}, "untranslated", f"spec.engine.{field}",
           {f"engine.{field}": None}, note=field)
      for field, value in (("contextLength", 4096), ("dtype", "float16"), ("gpuMemoryUtilization", 0.5),
                           ("tensorParallelSize", 2))),
    Rule("X3", CUSTOM, {"engine.trustRemoteCode": True, "model.revision": "0" * 40}, "untranslated",
         "spec.engine.trustRemoteCode", {"engine.trustRemoteCode": None}, note="trustRemoteCode"),
    Rule("X4", VLLM, {"engine.command": ["python3", "serve.py"]}, "command", "spec.engine.command",
         {"engine.command": None}),
    *(Rule("X4", base, {"engine.command": ["/bin/serve"]}, "command", "spec.engine.command", {"engine.command": None},
           note=base["engine"]["name"]) for base in (LLAMA, SGLANG, TGI, OLLAMA, TEI)),
    Rule("X4", VLLM, {"engine.command": ["/bin/serve", "--all"]}, "command", "spec.engine.command",
         {"engine.name": "custom", "engine.image": "e.com/a:1", "engine.port": 8000, "healthCheck": {"path": "/h"}},
         note="custom may"),
    # Image and port.
    Rule("X5", VLLM, {"engine.image": "example.com/vllm"}, "unpinned_image", _IMAGE,
         {"engine.image": "example.com/vllm:v0.33.0"}, "warning"),
    Rule("X5", VLLM, {"engine.image": "example.com/vllm:latest"}, "unpinned_image", _IMAGE,
         {"engine.image": f"example.com/vllm@sha256:{'a' * 64}"}, "warning", "latest"),
    Rule("X5", CUSTOM, {"engine.image": "example.com/server"}, "unpinned_image", _IMAGE,
         {"engine.image": "example.com/server:1"}, "warning", "custom"),
    Rule("X6", VLLM, {"engine.port": 80}, "port", _PORT, {"engine.port": 8080}, "warning"),
    # Arguments.
    Rule("X7", VLLM, {"engine.args": ["--port", "9000"]}, "reserved_argument", _ARGS, {"engine.args": ["--seed", "1"]}),
    *(Rule("X7", base, {"engine.args": [flag]}, "reserved_argument", _ARGS, {"engine.args": None},
           note=f"{base['engine']['name']} {flag}")
      for base, flag in (
          (VLLM, "--max_model_len=4096"), (VLLM, "-tp=2"), (VLLM, "--api-k=x"), (VLLM, "--middleware=a"),
          (LLAMA, "-c"), (LLAMA, "--api-key-file=/x"), (SGLANG, "--tp-size=2"), (SGLANG, "--tp=2"),
          (SGLANG, "--api-key=x"), (SGLANG, "--host=::"), (TGI, "--num-shard=2"), (TGI, "--hostname=::"),
          (TGI, "--ngrok=x"), (TEI, "--api-key=x"), (TEI, "--otlp-endpoint=x"), (TEI, "--uds-path=x"))),
    Rule("X8", VLLM, {"engine.env": {"HF_TOKEN": "x"}}, "reserved_env", "spec.engine.env.HF_TOKEN",
         {"engine.env": None}),
    *(Rule("X8", base, {"engine.env": {name: "x"}}, "reserved_env", f"spec.engine.env.{name}", {"engine.env": None},
           note=f"{base['engine']['name']} {name}")
      for base, name in (
          (LLAMA, "LLAMA_ARG_CTX_SIZE"), (VLLM, "VLLM_SERVER_DEV_MODE"), (VLLM, "ld_preload"),
          (VLLM, "Nvidia_Visible_Devices"), (SGLANG, "SGLANG_PORT"), (TGI, "API_KEY"), (TGI, "MODEL_ID"),
          (TGI, "PORT"), (TEI, "HOSTNAME"), (TEI, "REVISION"), (OLLAMA, "OLLAMA_HOST"), (OLLAMA, "OLLAMA_MODELS"),
          (OLLAMA, "OLLAMA_ORIGINS"), (CUSTOM, "NVIDIA_VISIBLE_DEVICES"), (CUSTOM, "LD_PRELOAD"),
          (CUSTOM, "SMARTER_TOKEN"))),
    Rule("X8", VLLM, {"engine.env": {"1A": "x"}}, "env_name", "spec.engine.env", {"engine.env": {"VLLM_A": "x"}},
         note="name"),
    Rule("X8", VLLM, {"engine.env": {"VLLM_\u0410": "x"}}, "env_name", "spec.engine.env",
         {"engine.env": {"VLLM_A": "x"}}, note="look-alike letter"),
    Rule("X8", VLLM, {"engine.env": {"\uff2c\uff24_PRELOAD": "x"}}, "env_name", "spec.engine.env", {"engine.env": None},
         note="wide letters"),
    Rule("X8", VLLM, {"engine.env": {"AWS_REGION": "eu-west-1"}}, "reserved_env", "spec.engine.env.AWS_REGION", S3,
         note="region without s3"),
    Rule("X9", VLLM, {"engine.env": {"VLLM_A": "hf_" + "a" * 30}}, "secret_in_plain_text", "spec.engine.env.VLLM_A",
         {"engine.env": {"VLLM_A": "b"}}, "warning"),
    *(Rule("X9", VLLM, {"engine.args": [f"--seed={value}"]}, "secret_in_plain_text", _ARGS, {"engine.args": None},
           "warning", value[:4]) for value in ("sk-" + "a" * 30, "AKIA" + "A" * 16, "ghp_" + "a" * 36)),
    Rule("X9", LLAMA, {**URL, "model.repository": f"https://example.com/m.gguf?token=hf_{'a' * 30}"},
         "secret_in_plain_text", "spec.model.repository", URL, "warning", "address"),
    Rule("X9", CUSTOM, {"engine.command": ["/bin/serve", f"--key=sk-{'a' * 30}"]}, "secret_in_plain_text",
         "spec.engine.command[1]", {"engine.command": ["/bin/serve"]}, "warning", "command"),
    Rule("X10", TGI, {"engine.args": ["--tokenizer-config-path=b c"]}, "split_argument", _ARGS,
         {"engine.args": ["--tokenizer-config-path=b"]}),
    Rule("X10", TGI, {"engine.args": ["--tokenizer-config-path=*"]}, "split_argument", _ARGS,
         {"engine.args": ["--tokenizer-config-path=a"]}, note="glob"),
    Rule("X11", OLLAMA, {"engine.args": ["--verbose"]}, "arguments", "spec.engine.args", {"engine.args": None}),
    Rule("X12", TGI, {"model.servedName": "chat"}, "no_effect", _NAME, {"model.servedName": None}, "warning"),
    Rule("X12", OLLAMA, {"model.servedName": "chat"}, "served_name", _NAME, {"model.servedName": "llama3.1:8b"},
         note="ollama"),
    Rule("X13", SGLANG, {"model.servedName": "llama:8b"}, "served_name", _NAME, {"model.servedName": "llama-8b"}),
    Rule("X14", LLAMA, {"model.servedName": "a,b"}, "served_name", _NAME, {"model.servedName": "a"}),
    Rule("X15", VLLM, {"model.capabilities": {"functionCalling": True}}, "tool_calls",
         "spec.model.capabilities.functionCalling", {"engine.args": _TOOLS}, "warning"),
    Rule("X16", VLLM, {"model.parameterCount": 70_000_000_000, "resources.gpuCount": 8,
                       "healthCheck.startupTimeoutSeconds": 120}, "short_startup",
         "spec.healthCheck.startupTimeoutSeconds", {"healthCheck.startupTimeoutSeconds": 3600}, "warning"),
    Rule("X17", VLLM, {"healthCheck.path": "health"}, "health_path", "spec.healthCheck.path",
         {"healthCheck.path": "/health"}),
    Rule("X17", VLLM, {"healthCheck.path": "https://x/health"}, "health_path", "spec.healthCheck.path",
         {"healthCheck.path": "/a/b"}, note="address"),
    # Of no number.
    Rule("", VLLM, {"engine.image": "not an image"}, "image", _IMAGE, {"engine.image": "e.com:5000/a:1"},
         note="image name"),
    Rule("", VLLM, {"engine.args": ["other/model"]}, "stray_argument", _ARGS, {"engine.args": ["--seed", "7"]},
         note="stray argument"),
    Rule("", VLLM, {"engine.args": ["--seed 1"]}, "joined_argument", _ARGS, {"engine.args": ["--seed=1"]}, "warning",
         "joined argument"),
    Rule("", VLLM, {"engine.env": {"DEBUG": "1"}}, "unknown_env", "spec.engine.env.DEBUG",
         {"engine.env": {"VLLM_DEBUG": "1"}}, "warning", "unknown variable"),
)  # fmt: skip
