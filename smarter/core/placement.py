"""Which node type a pod goes to, whether it fits there, and which share of the node it takes.

A node gives pods less than it has: the operating system, the kubelet and what runs on every node take their part. The
estimate is 500m and 2 % of the processors, and 1.5 GiB and 3 % of the memory. Kinds call this in their rules, render
and the ledger call it for the same answer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from smarter.core.facts import ComputeFact
from smarter.core.quantities import format_cpu, readable_bytes

GIB = 2**30
_RESERVED_CPU_MILLIS = 500
_RESERVED_MEMORY_BYTES = 3 * GIB // 2
_SHARE_STEP = Decimal("0.0001")
_NO_GPUS = "it has no GPUs"
_MOST_REASONS = 8


@dataclass(frozen=True, slots=True)
class Need:
    """What one pod asks for."""

    cpu_millis: int
    memory_bytes: int
    gpu_count: int = 0
    gpu_resource: str = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class Choice:
    """`compute` is None where nothing fits; `reasons` then says why, for each node type that was looked at."""

    compute: ComputeFact | None
    reasons: tuple[tuple[str, str], ...] = ()

    @property
    def why_not(self) -> str:
        """Node types that lack GPUs altogether come last, and of a long list only the beginning is told."""
        ordered = sorted(self.reasons, key=lambda entry: _NO_GPUS in entry[1])
        told = [f"{name}: {reason}" for name, reason in ordered[:_MOST_REASONS]]
        more = len(ordered) - len(told)
        return "; ".join([*told, f"and {more} more" if more else ""]).removesuffix("; ")


def allocatable_cpu_millis(compute: ComputeFact) -> int:
    return max(0, compute.cpu_millis * 98 // 100 - _RESERVED_CPU_MILLIS)


def allocatable_memory_bytes(compute: ComputeFact) -> int:
    return max(0, compute.memory_bytes * 97 // 100 - _RESERVED_MEMORY_BYTES)


def misfit(need: Need, compute: ComputeFact) -> str | None:
    """Why a pod does not fit an empty node of this type, all reasons in one line; None where it fits."""
    reasons = []
    if need.gpu_count == 0 and compute.gpu_count > 0:
        reasons.append("its nodes are for pods with GPUs, and gpuCount is 0")
    if need.gpu_count > 0 and compute.gpu_count == 0:
        reasons.append(_NO_GPUS)
    elif need.gpu_count > 0 and compute.gpu_resource != need.gpu_resource:
        reasons.append(f"its GPUs are {compute.gpu_resource}, not {need.gpu_resource}")
    elif need.gpu_count > compute.gpu_count:
        reasons.append(f"it has {_gpus(compute.gpu_count)}, {need.gpu_count} are needed")
    cpu = allocatable_cpu_millis(compute)
    if need.cpu_millis > cpu:
        reasons.append(f"it leaves {format_cpu(cpu)} CPU to pods, {format_cpu(need.cpu_millis)} are needed")
    memory = allocatable_memory_bytes(compute)
    if need.memory_bytes > memory:
        reasons.append(
            f"it leaves {readable_bytes(memory)} of memory to pods, {readable_bytes(need.memory_bytes)} are needed"
        )
    return ", ".join(reasons) or None


def _gpus(count: int) -> str:
    return "1 GPU" if count == 1 else f"{count} GPUs"


def _always_suitable(_compute: ComputeFact) -> str | None:
    return None


def choose(
    need: Need,
    computes: Iterable[ComputeFact],
    node_labels: Sequence[Mapping[str, str]] = (),
    unsuitable: Callable[[ComputeFact], str | None] = _always_suitable,
) -> Choice:
    """The node type with the lowest price of a node that the pod fits; those without a price come last. Equal prices go
    to the smaller node, then by name, so that the answer does not depend on the order.

    Types that the cluster has nodes of, by `node_labels`, go before all others: a cheaper one that is not there would
    be waited for in vain, unless something adds nodes. Where it has none that fits, something must. `unsuitable` may
    know a reason against a type that the pod would fit."""
    fits: list[ComputeFact] = []
    reasons: list[tuple[str, str]] = []
    for compute in computes:
        reason = misfit(need, compute) or unsuitable(compute)
        if reason is None:
            fits.append(compute)
        else:
            reasons.append((compute.name, reason))
    if not fits:
        return Choice(None, tuple(sorted(reasons)))
    here = [compute for compute in fits if is_present(compute, node_labels)]
    return Choice(min(here or fits, key=_rank))


def is_present(compute: ComputeFact, node_labels: Sequence[Mapping[str, str]]) -> bool:
    """Whether a cluster with nodes of these labels has one of this type."""
    wanted = compute.node_labels.items()
    return any(all(labels.get(key) == value for key, value in wanted) for labels in node_labels)


def _rank(compute: ComputeFact) -> tuple[bool, Decimal, int, str]:
    return (
        compute.price_per_hour is None,
        compute.price_per_hour or Decimal(0),
        compute.memory_bytes,
        compute.name,
    )


def share(need: Need, compute: ComputeFact) -> Decimal:
    """The part of one node that a pod takes, which is also the part of its price that it pays: the greatest of its
    parts of the GPUs, processors and memory, between 0 and 1, to four decimals."""
    parts = [
        _part(need.gpu_count, compute.gpu_count),
        _part(need.cpu_millis, compute.cpu_millis),
        _part(need.memory_bytes, compute.memory_bytes),
    ]
    return min(Decimal(1), max(parts)).quantize(_SHARE_STEP, rounding=ROUND_HALF_UP)


def _part(amount: int, whole: int) -> Decimal:
    return Decimal(amount) / Decimal(whole) if whole else Decimal(0)
