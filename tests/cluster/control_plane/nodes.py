"""The simulated machines: GPU types with the labels of a cloud, and plain CPU nodes; created by `up`."""

from dataclasses import dataclass
from typing import Any

from tests.cluster.control_plane.versions import ControlPlaneError

GIB = 1024**3
MIB = 1024**2
PODS = 500


@dataclass(frozen=True)
class NodeType:
    """Figures of the cloud's instance; GPU memory is what one GPU has, in MiB, as its driver reports it."""

    name: str
    instance: str
    cpus: int
    memory_gib: int
    gpus: int = 0
    product: str = ""
    gpu_memory_mib: int = 0


TYPES = {
    each.name: each
    for each in (
        NodeType("cpu", "m7i.metal-48xl", 192, 768),
        NodeType("gpu_t4_1x", "g4dn.xlarge", 4, 16, 1, "Tesla-T4", 15360),
        NodeType("gpu_a10g_1x", "g5.2xlarge", 8, 32, 1, "NVIDIA-A10G", 23028),
        NodeType("gpu_l4_1x", "g6.2xlarge", 8, 32, 1, "NVIDIA-L4", 23034),
        NodeType("gpu_l4_4x", "g6.12xlarge", 48, 192, 4, "NVIDIA-L4", 23034),
        NodeType("gpu_l40s_1x", "g6e.2xlarge", 8, 64, 1, "NVIDIA-L40S", 46068),
        NodeType("gpu_a100_80_8x", "p4de.24xlarge", 96, 1152, 8, "NVIDIA-A100-SXM4-80GB", 81920),
        NodeType("gpu_h100_8x", "p5.48xlarge", 192, 2048, 8, "NVIDIA-H100-80GB-HBM3", 81559),
    )
}
DEFAULT_COUNTS = {"cpu": 2, "gpu_l4_1x": 2, "gpu_l4_4x": 1, "gpu_h100_8x": 1}


def parse_counts(wishes: list[str]) -> dict[str, int]:
    """`gpu_l4_1x=20` changes the number of nodes of one type; the other types keep theirs."""
    counts = dict(DEFAULT_COUNTS)
    for wish in wishes:
        name, _, number = wish.partition("=")
        if name not in TYPES or not number.isdigit():
            raise ControlPlaneError(f"--nodes {wish}: expected TYPE=NUMBER, with TYPE one of {', '.join(TYPES)}")
        counts[name] = int(number)
    return counts


def documents(counts: dict[str, int]) -> list[dict[str, Any]]:
    return [node(TYPES[name], number) for name, count in counts.items() for number in range(1, count + 1)]


def node(kind: NodeType, number: int) -> dict[str, Any]:
    name = f"{kind.name.replace('_', '-')}-{number}"
    taints = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}] if kind.gpus else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels(kind, name), "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "spec": {"taints": taints},
        "status": {"capacity": capacity(kind), "allocatable": allocatable(kind)},
    }


def labels(kind: NodeType, name: str) -> dict[str, str]:
    common = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": kind.instance,
        "topology.kubernetes.io/region": "us-east-1",
        "topology.kubernetes.io/zone": "us-east-1a",
    }
    if not kind.gpus:
        return common
    return common | {
        "smarter.sh/compute": kind.name,
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": kind.product,
        "nvidia.com/gpu.count": str(kind.gpus),
        "nvidia.com/gpu.memory": str(kind.gpu_memory_mib),
    }


def capacity(kind: NodeType) -> dict[str, str]:
    """Firmware and kernel keep about 3 % of the memory for themselves before Kubernetes counts it."""
    memory = int(kind.memory_gib * GIB * 0.97) // MIB
    return quantities(kind, f"{kind.cpus * 1000}m", f"{memory}Mi")


def allocatable(kind: NodeType) -> dict[str, str]:
    """Less than the capacity, as on a real node: a pod that asks for the whole machine must stay Pending here too."""
    memory = int(kind.memory_gib * GIB * 0.97) // MIB
    return quantities(kind, f"{kind.cpus * 1000 - 100}m", f"{memory - 800}Mi")


def quantities(kind: NodeType, cpu: str, memory: str) -> dict[str, str]:
    """GPU capacity is there on GPU nodes only: a device plugin reports it, and a CPU node has none."""
    common = {"cpu": cpu, "memory": memory, "pods": str(PODS), "ephemeral-storage": "500Gi"}
    return common | ({"nvidia.com/gpu": str(kind.gpus)} if kind.gpus else {})
