"""Custom: a server of the user's own, of which Smarter knows the image and the port.

Nothing can be translated for it, so settings are refused and arguments are handed on as they are. What it must know
stands in variables: where the weights lie, what the model is called and is for, and where to listen.
"""

from typing import Any

from smarter.core.engine import Engine, Launch, Probe, Termination, User
from smarter.core.images import images_of
from smarter.core.problems import Problem, warning
from smarter.core.source import Weights

_UNKNOWN = ("contextLength", "dtype", "gpuMemoryUtilization", "tensorParallelSize")
_PRE_STOP_SECONDS = 15


def launch(spec: Any, weights: Weights, served_name: str) -> Launch:
    env = {
        "HOME": "/tmp",
        "SMARTER_MODEL_NAME": served_name,
        "SMARTER_MODEL_PATH": weights.path,
        "SMARTER_MODEL_TASK": str(spec.model.task),
        "SMARTER_PORT": str(spec.engine.port),
    }
    if weights.name is not None:
        env["SMARTER_STORE_NAME"] = weights.name
    return Launch(tuple(spec.engine.command or ()), (), env)


def termination(_spec: Any) -> Termination:
    return Termination(60, pre_stop_sleep_seconds=_PRE_STOP_SECONDS)


def check(spec: Any) -> list[Problem]:
    return [*_setting_problems(spec), *_address_problems(spec)]


def _setting_problems(spec: Any) -> list[Problem]:
    engine = spec.engine
    words = "Smarter does not know how this server takes this setting. Leave it out, and use args or env."
    named = [name for name in _UNKNOWN if getattr(engine, name) is not None]
    named += ["trustRemoteCode"] if engine.trustRemoteCode else []
    problems = [Problem("untranslated", f"spec.engine.{name}", words) for name in named]
    if engine.maxConcurrentRequests is not None:
        words = "Smarter does not know how this server takes this setting; it has no effect."
        problems.append(warning("no_effect", "spec.engine.maxConcurrentRequests", words))
    return problems


def _address_problems(spec: Any) -> list[Problem]:
    problems = []
    if spec.healthCheck.path is None:
        words = "Without a path a replica counts as healthy when its port takes a connection, loaded or not."
        problems.append(warning("no_health_path", "spec.healthCheck.path", words))
    if spec.engine.apiFormat == "custom" and spec.network.ingress:
        words = "A public address exposes the paths of a known protocol. Name one of them here, or leave ingress out."
        problems.append(Problem("unknown_paths", "spec.engine.apiFormat", words))
    return problems


ENGINE = Engine(
    name="custom",
    images=images_of("custom"),
    port=0,
    health=Probe(),
    api_formats=("openai_compatible", "huggingface", "ollama_native", "custom"),
    tasks=("text-generation", "embedding"),
    sources=("huggingface", "ollama", "s3", "url", "pvc"),
    # Nobody knows whether it asks for a key.
    authenticates=False,
    public_paths={
        "openai_compatible": ("/v1",),
        "huggingface": ("/generate", "/generate_stream", "/embed", "/rerank"),
        "ollama_native": ("/api/chat", "/api/embed", "/api/generate", "/api/show", "/api/tags", "/api/version"),
        "custom": (),
    },
    metrics_path=None,
    user=User(uid=10001, gid=10001, fs_group=10001),
    writable={"tmp": "/tmp"},
    termination=termination,
    launch=launch,
    check=check,
    own_command=True,
    # Any variable may mean something to it.
    env_prefixes=("",),
)
