"""Which number formats the GPUs of a node type can compute in."""

from decimal import Decimal

from smarter.core.facts import ComputeFact
from smarter.core.gpus import compute_capability
from smarter.core.problems import Problem, warning
from smarter.kinds.sam.llm_host.host import Host

# The least compute capability of a GPU for a format; below it servers refuse to start, or gain little.
_NEEDED = {"bf16": "8.0", "mxfp4": "8.0", "awq": "7.5", "gptq": "6.0"}
_USEFUL = {"fp8": "8.9"}


def format_problems(host: Host, compute: ComputeFact) -> list[Problem]:
    has = compute_capability(compute.gpu_type) if host.need.gpu_count else None
    if has is None:
        return []
    wanted = [(str(host.spec.model.quantization), "spec.model.quantization")]
    if host.spec.engine.dtype == "bfloat16":
        wanted.append(("bf16", "spec.engine.dtype"))
    problems = []
    for name, path in wanted:
        if has < Decimal(_NEEDED.get(name, "0")):
            words = f"{compute.gpu_type} GPUs, those of {compute.name}, cannot compute in {name}."
            problems.append(Problem("gpu_too_old", path, words))
        elif has < Decimal(_USEFUL.get(name, "0")):
            words = (
                f"{compute.gpu_type} GPUs, those of {compute.name}, have no {name} arithmetic and gain little by it."
            )
            problems.append(warning("gpu_too_old", path, words))
    return problems
