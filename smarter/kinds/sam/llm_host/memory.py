"""Whether a model will fit the memory of its GPUs: an estimate from what the manifest tells.

Weights are exact to a few per cent where the parameters are known. The memory of a context depends on the model's
inside, which a manifest does not tell, so a usual value for its size stands in; that is why the answer warns and only
`vramRequiredGb`, which the user vouches for, refuses.
"""

from dataclasses import dataclass

from smarter.core.facts import ComputeFact
from smarter.core.gpus import visible_bytes
from smarter.core.kind import MemoryVerdict
from smarter.core.placement import GIB, allocatable_memory_bytes
from smarter.core.quantities import readable_bytes
from smarter.kinds.sam.llm_host.host import Host, block

# Bits of one stored parameter, averages over whole files: 4-bit formats keep some tensors at 16 bits.
_BITS = {
    "none": 16.0,
    "fp32": 32.0,
    "fp16": 16.0,
    "bf16": 16.0,
    "fp8": 8.2,
    "int8": 8.5,
    "mxfp4": 4.6,
    "int4": 4.9,
    "gguf": 4.89,
    "awq": 4.9,
    "gptq": 4.9,
}
_FILE_BITS = {
    "Q2_K": 3.2,
    "Q3_K": 4.0,
    "Q4_0": 4.6,
    "Q4_K": 4.89,
    "Q5_K": 5.7,
    "Q6_K": 6.56,
    "Q8_0": 8.5,
    "MXFP4": 4.6,
    "BF16": 16.0,
    "F16": 16.0,
    "F32": 32.0,
}
# Bytes that one token of context takes: parameters up to, then the usual value for such models in 16 bits.
_CONTEXT_BYTES = ((2e9, 64 * 1024), (9e9, 128 * 1024), (40e9, 192 * 1024), (float("inf"), 320 * 1024))
_DEFAULT_UTILIZATION = 0.92
_DRIVER_BYTES = GIB // 2
_TIGHT_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Estimate:
    """In bytes, over all GPUs of a replica."""

    weights: int
    context: int
    working: int

    @property
    def total(self) -> int:
        return self.weights + self.context + self.working


def estimate(host: Host) -> Estimate | None:
    """None where the manifest does not say how many parameters the model has."""
    parameters = host.spec.model.parameterCount
    if not parameters:
        return None
    weights = int(parameters * _bits(host) / 8)
    per_token = next(size for limit, size in _CONTEXT_BYTES if parameters <= limit)
    requests = host.spec.engine.maxConcurrentRequests if host.engine.reserves_context else 1
    tokens = (host.spec.engine.contextLength or 0) * (requests or 1)
    gpus = max(host.need.gpu_count, 1)
    activations = 3 * GIB // 2 if parameters < 15e9 else 3 * GIB
    return Estimate(weights, per_token * tokens, activations + _DRIVER_BYTES * gpus)


def _bits(host: Host) -> float:
    file = (host.spec.model.file or "").upper()
    named = [bits for name, bits in _FILE_BITS.items() if name in file]
    return named[0] if named else _BITS[str(host.spec.model.quantization)]


def verdict(host: Host, compute: ComputeFact) -> MemoryVerdict:
    available = _available_bytes(host, compute)
    required = block(host.spec.resources).vramRequiredGb
    if required and host.need.gpu_count:
        return _judged(required * 10**9, available, "The manifest says that the model needs", certain=True)
    needed = estimate(host)
    if needed is None:
        return MemoryVerdict("unknown", "Give model.parameterCount to have the memory estimated", None, available)
    return _judged(needed.total, available, "The model needs about", certain=False)


def required_misfit(host: Host, compute: ComputeFact) -> str | None:
    """Why the memory that the user vouches for is not there."""
    if not block(host.spec.resources).vramRequiredGb or not host.need.gpu_count:
        return None
    found = verdict(host, compute)
    return found.message if found.verdict == "does_not_fit" else None


def _judged(needed: int, available: int, words: str, *, certain: bool) -> MemoryVerdict:
    message = f"{words} {readable_bytes(needed)} of memory; {readable_bytes(available)} are there for it"
    if needed > available:
        return MemoryVerdict("does_not_fit", message, needed, available)
    if not certain and needed > available * _TIGHT_SHARE:
        return MemoryVerdict("tight", message, needed, available)
    return MemoryVerdict("fits", message, needed, available)


def _available_bytes(host: Host, compute: ComputeFact) -> int:
    if host.need.gpu_count == 0:
        return min(host.need.memory_bytes, allocatable_memory_bytes(compute))
    if block(host.spec.resources).vramRequiredGb:
        return compute.gpu_memory_bytes * host.need.gpu_count
    utilization = host.spec.engine.gpuMemoryUtilization or _DEFAULT_UTILIZATION
    return int(visible_bytes(compute.gpu_memory_bytes) * utilization) * host.need.gpu_count
