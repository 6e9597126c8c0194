"""Q7, Q8, G, C: what the GPUs can compute, how many there are, whether it all fits, and where pods may be placed."""

from tests.unit.kinds.rules.bases import CPU, CUSTOM, LLAMA, OLLAMA, SGLANG, TEI, TGI, VLLM
from tests.unit.kinds.rules.rule import Changes, Rule

_QUANTIZATION, _PARALLEL = "spec.model.quantization", "spec.engine.tensorParallelSize"
_GPUS, _IMAGE, _SHARE = "spec.resources.gpuCount", "spec.engine.image", "spec.engine.gpuMemoryUtilization"
_SELECTOR, _TOLERATION = "spec.resources.nodeSelector", "spec.resources.tolerations[0]"
_T4: Changes = {"compute": "gpu_t4_1x", "resources.cpu": "2", "resources.memory": "12Gi"}
_INSTANCE = "node.kubernetes.io/instance-type"

RULES: tuple[Rule, ...] = (
    # Formats that GPUs are too old for.
    Rule("Q7", VLLM, {**_T4, "engine.dtype": "bfloat16"}, "gpu_too_old", "spec.engine.dtype",
         {"engine.dtype": "float16"}),
    Rule("Q7", VLLM, {**_T4, "model.quantization": "bf16"}, "gpu_too_old", _QUANTIZATION,
         {"model.quantization": "fp16"}, note="quantization"),
    Rule("Q8", VLLM, {**_T4, "model.quantization": "mxfp4"}, "gpu_too_old", _QUANTIZATION,
         {"model.quantization": "awq"}),
    Rule("Q8", VLLM, {"compute": "gpu_a10g_1x", "model.quantization": "fp8"}, "gpu_too_old", _QUANTIZATION,
         {"compute": "gpu_l4_1x"}, "warning", "fp8"),
    # GPUs.
    Rule("G1", VLLM, {"engine.tensorParallelSize": 4, "resources.gpuCount": 2}, "parallel_size", _PARALLEL,
         {"resources.gpuCount": 4}),
    Rule("G1", LLAMA, {"engine.tensorParallelSize": 2}, "parallel_size", _PARALLEL, {"engine.tensorParallelSize": 1},
         note="no GPU"),
    *(Rule("G2", base, {"engine.tensorParallelSize": 2, "resources.gpuCount": 4}, "idle_gpus", _PARALLEL,
           {"engine.tensorParallelSize": None}, "warning", base["engine"]["name"]) for base in (VLLM, SGLANG, TGI)),
    *(Rule("G3", base, {"resources.gpuCount": 3}, "uneven_split", _GPUS, {"resources.gpuCount": 2}, "warning",
           base["engine"]["name"]) for base in (VLLM, SGLANG)),
    Rule("G3", VLLM, {"resources.gpuCount": 4, "engine.tensorParallelSize": 3}, "uneven_split", _PARALLEL,
         {"engine.tensorParallelSize": 4}, "warning", "named"),
    Rule("G4", TEI, {"resources.gpuCount": 2}, "gpu_count", _GPUS, {"resources.gpuCount": 1}),
    *(Rule("G5", base, CPU, "gpu_needed", _GPUS, {"engine.image": "example.com/for-processors:1"},
           note=base["engine"]["name"]) for base in (VLLM, SGLANG, TGI)),
    Rule("G6", VLLM, {**CPU, "engine.image": "e.com/v:1", "engine.gpuMemoryUtilization": 0.5}, "gpu_needed", _SHARE,
         {"engine.gpuMemoryUtilization": None}),
    Rule("G6", VLLM, {**CPU, "engine.image": "e.com/v:1", "engine.tensorParallelSize": 2}, "parallel_size", _PARALLEL,
         {"engine.tensorParallelSize": 1}, note="parallel"),
    Rule("G7", LLAMA, {"resources.gpuCount": 1, "engine.gpuMemoryUtilization": 0.9}, "gpu_memory", _SHARE,
         {"engine.gpuMemoryUtilization": None}),
    Rule("G7", TEI, {"resources.gpuCount": 1, "engine.gpuMemoryUtilization": 0.9}, "gpu_memory", _SHARE,
         {"engine.gpuMemoryUtilization": None}, note="tei"),
    Rule("G8", VLLM, {"compute": "gpu_l4_1x_16g"}, "does_not_fit", "spec.compute", {"compute": "gpu_l4_1x"}),
    Rule("G8", VLLM, {"compute": "gpu_l4_1x", "resources.gpuCount": 2}, "does_not_fit", "spec.compute",
         {"compute": "gpu_l4_4x"}, note="gpus"),
    Rule("G8", VLLM, {"resources.memory": "60Ti"}, "does_not_fit", "spec.resources", {"resources.memory": "24Gi"},
         note="nothing is large enough"),
    Rule("G9", VLLM, {"compute": "gpu_l4_1x", "resources.vramRequiredGb": 40}, "gpu_memory",
         "spec.resources.vramRequiredGb", {"resources.vramRequiredGb": 24}),
    Rule("G9", VLLM, {"compute": "gpu_l4_1x", "model.parameterCount": 14_000_000_000}, "gpu_memory", "spec.resources",
         {"model.parameterCount": 7_000_000_000}, "warning", "estimate"),
    Rule("G10", VLLM, {"compute": "gpu_l4_1x", "resources.nodeSelector": {_INSTANCE: "g6.48xlarge"}}, "node_selector",
         _SELECTOR, {"resources.nodeSelector": {_INSTANCE: "g6.2xlarge"}}),
    Rule("G11", VLLM, {"resources.gpuResource": "amd.com/gpu"}, "image", _IMAGE,
         {"resources.gpuResource": "nvidia.com/gpu"}),
    Rule("G12", VLLM, {"resources.shmSize": "23Gi"}, "memory", "spec.resources.memory", {"resources.shmSize": "22Gi"}),
    # Context and concurrency.
    Rule("C1", VLLM, {"engine.contextLength": 8192, "model.contextWindow": 4096}, "context",
         "spec.engine.contextLength", {"engine.contextLength": 4096}),
    Rule("C2", TGI, {"engine.contextLength": 1}, "context", "spec.engine.contextLength", {"engine.contextLength": 2}),
    *(Rule("C3", base, {"model.parameterCount": 600_000_000, "engine.contextLength": 32768,
                        "engine.maxConcurrentRequests": 8, "compute": "cpu_small"}, "gpu_memory", "spec.resources",
           {"engine.maxConcurrentRequests": 1}, "warning", base["engine"]["name"]) for base in (LLAMA, OLLAMA)),
    Rule("C4", CUSTOM, {"engine.maxConcurrentRequests": 4}, "no_effect", "spec.engine.maxConcurrentRequests",
         {"engine.maxConcurrentRequests": None}, "warning"),
    # Placement, of no number.
    Rule("", VLLM, {"compute": "gpu_nope"}, "does_not_fit", "spec.compute", {"compute": None}, note="no such compute"),
    Rule("", VLLM, {"resources.gpuResource": "nvidia.com/gpu.shared", "resources.gpuCount": 2}, "gpu_slices", _GPUS,
         {"resources.gpuResource": "nvidia.com/gpu"}, note="slices"),
    *(Rule("", VLLM, {"resources.tolerations": [wrong]}, "toleration", f"{_TOLERATION}{field}",
           {"resources.tolerations": [right] if right else None}, note=f"toleration {field} {wrong}")
      for field, wrong, right in (
          (".value", {"key": "a", "operator": "Exists", "value": "b"}, {"key": "a", "operator": "Exists"}),
          ("", {"kye": "a"}, {"key": "a"}),
          (".effect", {"key": "a", "effect": "noSchedule"}, {"key": "a", "effect": "NoSchedule"}),
          (".tolerationSeconds", {"key": "a", "effect": "NoExecute", "tolerationSeconds": "60"},
           {"key": "a", "effect": "NoExecute", "tolerationSeconds": 60}),
          (".key", {"operator": "Exists"}, None), (".key", {"key": "node-role.kubernetes.io/control-plane"}, None))),
    Rule("", VLLM, {"resources.nodeSelector": {"node-role.kubernetes.io/control-plane": ""}}, "reserved_label",
         _SELECTOR, {"resources.nodeSelector": {"zone": "a"}}, note="node of the cluster itself"),
    Rule("", VLLM, {"resources.nodeSelector": {"kubernetes.io/hostname": "node-a"}}, "pinned_node", _SELECTOR,
         {"resources.nodeSelector": None}, "warning", "one node"),
    Rule("", VLLM, {"resources.nodeSelector": {"a b": "c"}}, "label", _SELECTOR, {"resources.nodeSelector": {"a": ""}},
         note="label"),
    Rule("", VLLM, {"resources.serviceAccountName": "default"}, "service_account",
         "spec.resources.serviceAccountName", {"resources.serviceAccountName": None}, note="service account"),
    Rule("", VLLM, {"resources.serviceAccountName": "../x"}, "service_account", "spec.resources.serviceAccountName",
         {"resources.serviceAccountName": None}, note="service account name"),
    *(Rule("", VLLM, {"resources.gpuResource": name}, "gpu_resource", "spec.resources.gpuResource",
           {"resources.gpuResource": None}, note=f"gpu resource {name}") for name in ("cpu", "")),
    Rule("", VLLM, {"resources.gpuResource": "devices.kubevirt.io/kvm", "engine.image": "e.com/a:1"}, "does_not_fit",
         "spec.resources", {"resources.gpuResource": "nvidia.com/gpu"}, note="other device"),
)  # fmt: skip
