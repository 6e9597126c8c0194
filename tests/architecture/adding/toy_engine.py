"""Toy: an inference server of nobody. What one file must hold for a new engine to work."""

from typing import Any

from smarter.core.engine import Engine, Images, Launch, Probe, Termination, User
from smarter.core.problems import Problem
from smarter.core.source import Weights


def launch(spec: Any, weights: Weights, served_name: str) -> Launch:
    return Launch(args=("--weights", weights.path, "--as", served_name, "--port", str(spec.engine.port)))


def termination(_spec: Any) -> Termination:
    return Termination(grace_seconds=10)


def check(spec: Any) -> list[Problem]:
    if spec.engine.dtype:
        return [Problem("dtype", "spec.engine.dtype", "toy has no number formats")]
    return []


ENGINE = Engine(
    name="toy",
    images=Images(gpu="example.com/toy:1.0", cpu="example.com/toy:1.0"),
    port=9000,
    health=Probe("/up"),
    api_formats=("openai_compatible",),
    tasks=("text-generation",),
    sources=("huggingface",),
    authenticates=False,
    public_paths={"openai_compatible": ("/v1",)},
    metrics_path=None,
    user=User(uid=10001, gid=10001, fs_group=10001),
    termination=termination,
    launch=launch,
    check=check,
)
