"""How the rules of several engines judge the GPUs of a replica and the settings that a server does not have."""

from typing import Any

from smarter.core.problems import Problem, warning

_EVEN = (0, 1, 2, 4, 8, 16)
_PATH = "spec.engine.tensorParallelSize"


def shards(spec: Any) -> int:
    """Over how many GPUs the model is split: as the manifest says, otherwise over all."""
    return int(spec.engine.tensorParallelSize or max(spec.resources.gpuCount, 1))


def split_problems(spec: Any, engine: str, *, spreads_otherwise: bool = False) -> list[Problem]:
    gpus, size = spec.resources.gpuCount, spec.engine.tensorParallelSize
    problems = []
    if size is not None and size < gpus and not spreads_otherwise:
        words = f"{gpus - size} of the {gpus} GPUs of each replica would idle. Leave this out to use all of them."
        problems.append(warning("idle_gpus", _PATH, words))
    if (size or gpus) not in _EVEN:
        words = (
            f"The attention heads of most models cannot be divided by this number, and {engine} then stops at start."
        )
        problems.append(warning("uneven_split", _PATH if size else "spec.resources.gpuCount", words))
    return problems


def spread_problems(spec: Any, engine: str) -> list[Problem]:
    """For a server that uses all its GPUs by itself."""
    if spec.engine.tensorParallelSize in (None, 1, spec.resources.gpuCount):
        return []
    words = f"{engine} spreads the layers of the model over all GPUs of the replica; this has no effect."
    return [warning("no_effect", _PATH, words)]


def no_code_problems(spec: Any, engine: str) -> list[Problem]:
    if not spec.engine.trustRemoteCode:
        return []
    words = f"{engine} runs no code from model repositories. Leave this out."
    return [Problem("remote_code", "spec.engine.trustRemoteCode", words)]
