"""A Node object as the port tells of it. Both implementations of the port call this."""

from smarter.cluster import quantity
from smarter.cluster.port import NodeInfo
from smarter.core.objects import KubernetesObject


def node_info(node: KubernetesObject) -> NodeInfo:
    """By what pods may use, which is less than what the machine has."""
    status = node.get("status") or {}
    free = status.get("allocatable") or {}
    conditions = status.get("conditions") or []
    return NodeInfo(
        name=node["metadata"]["name"],
        labels=dict(node["metadata"].get("labels") or {}),
        cpu_millis=quantity.millis(free.get("cpu", "0")),
        memory_bytes=quantity.units(free.get("memory", "0")),
        gpus=sum(quantity.units(amount) for name, amount in free.items() if name.endswith("/gpu")),
        ready=any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions),
    )
