"""The nodes of the simulated cluster: GPU nodes as clouds sell them, and CPU nodes. `simulated.py` puts them into an
empty store.

Shapes and GPU counts are those of the built-in compute types; usable memory leaves out what a kubelet keeps for itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from smarter.cluster.simulation.world import World
from smarter.core.objects import COMPUTE_LABEL, KubernetesObject

GPU = "nvidia.com/gpu"
GPU_TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}


@dataclass(frozen=True, slots=True)
class NodeShape:
    name: str
    instance_type: str
    cpus: int
    memory_gib: int
    gpus: int = 0
    compute: str = ""
    gpu_product: str = ""
    pods: int = 110
    labels: Mapping[str, str] = field(default_factory=dict)


DEFAULT_NODES = (
    NodeShape("gpu-l4-1", "g6.2xlarge", 8, 32, 1, "gpu_l4_1x", "NVIDIA-L4"),
    NodeShape("gpu-l4-2", "g6.2xlarge", 8, 32, 1, "gpu_l4_1x", "NVIDIA-L4"),
    NodeShape("gpu-l4x4-1", "g6.12xlarge", 48, 192, 4, "gpu_l4_4x", "NVIDIA-L4"),
    NodeShape("gpu-h100x8-1", "p5.48xlarge", 192, 2048, 8, "gpu_h100_8x", "NVIDIA-H100-80GB-HBM3"),
    NodeShape("cpu-1", "m7i.2xlarge", 8, 32, 0, "cpu_8x32"),
    NodeShape("cpu-2", "m7i.2xlarge", 8, 32, 0, "cpu_8x32"),
    NodeShape("cpu-big-1", "simulated.big", 8192, 65536, 0, "", "", 20_000),
)


def node_object(world: World, shape: NodeShape) -> KubernetesObject:
    labels = {
        "kubernetes.io/hostname": shape.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": shape.instance_type,
        **shape.labels,
    }
    if shape.compute:
        labels[COMPUTE_LABEL] = shape.compute
    if shape.gpu_product:
        labels["nvidia.com/gpu.product"] = shape.gpu_product
        labels["nvidia.com/gpu.count"] = str(shape.gpus)
    capacity = {
        "cpu": str(shape.cpus),
        "memory": f"{shape.memory_gib}Gi",
        "ephemeral-storage": "1Ti",
        "pods": str(shape.pods),
    }
    if shape.gpus:
        capacity[GPU] = str(shape.gpus)
    spec: dict[str, Any] = {"taints": [dict(GPU_TAINT)]} if shape.gpus else {}
    status = {
        "capacity": capacity,
        "allocatable": dict(capacity),
        "conditions": [ready_condition(world, True)],
        "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux", "kubeletVersion": "simulated"},
    }
    return world.fresh("Node", "", shape.name, metadata={"labels": labels}, spec=spec, status=status)


def ready_condition(world: World, ready: bool) -> dict[str, str]:
    return {
        "type": "Ready",
        "status": "True" if ready else "Unknown",
        "reason": "KubeletReady" if ready else "NodeStatusUnknown",
        "message": "kubelet is posting ready status" if ready else "Kubelet stopped posting node status.",
        "lastTransitionTime": world.timestamp(),
        "lastHeartbeatTime": world.timestamp(),
    }
