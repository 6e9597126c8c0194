"""Rules about the model and the engine's settings that hold for every engine."""

import re

from smarter.core.arguments import secret_problems
from smarter.core.plain_words import word_problem
from smarter.core.problems import Problem, warning
from smarter.kinds.sam.llm_host.host import Host, block
from smarter.kinds.sam.llm_host.memory import estimate

_COMMIT = re.compile(r"[0-9a-f]{40}")
_IMAGE = re.compile(
    r"(?P<name>[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?::[0-9]{1,5})?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?",
    re.ASCII,
)
# The kubelet would read the beginning of `//name` as a host.
_HEALTH_PATH = re.compile(r"/(?!/)[A-Za-z0-9._~/-]*", re.ASCII)
_UNPRIVILEGED = 1024
# Loading at the pace of network storage, and what starts besides: 70 billion parameters in 16 bits take 20 minutes.
_STARTUP_SECONDS = 60
_BYTES_PER_SECOND = 125_000_000


def model_problems(host: Host) -> list[Problem]:
    model = host.spec.model
    problems = [
        word_problem(model.servedName, "spec.model.servedName") if model.servedName is not None else None,
        _code_problem(host),
    ]
    if model.revision is not None and not host.source.revisions:
        words = f"Weights from {host.source.name} have no revisions. Leave this out."
        problems.append(Problem("revision", "spec.model.revision", words))
    if model.tokenSecret is not None and not host.source.tokens:
        words = f"Weights from {host.source.name} take no token; this is not used."
        problems.append(warning("no_effect", "spec.model.tokenSecret", words))
    problems += secret_problems({"spec.model.repository": model.repository})
    return [problem for problem in problems if problem] + _task_problems(host)


def _code_problem(host: Host) -> Problem | None:
    """Code of the repository runs in the pod, so what was looked at must be what runs."""
    if not host.spec.engine.trustRemoteCode:
        return None
    if host.source.revisions and not _COMMIT.fullmatch(host.spec.model.revision or ""):
        words = "Code of a model repository runs only at a fixed commit. Name one, with all 40 digits."
        return Problem("unpinned_code", "spec.model.revision", words)
    if host.source.brings and not host.source.revisions:
        words = f"Weights from {host.source.name} cannot be pinned: whoever may change them there runs code here."
        return warning("unpinned_code", "spec.engine.trustRemoteCode", words)
    return None


def _task_problems(host: Host) -> list[Problem]:
    model = host.spec.model
    embeds = str(model.task) == "embedding"
    problems = []
    able = block(model.capabilities)
    for name in ("functionCalling", "reasoning"):
        if embeds and getattr(able, name):
            words = "Embedding models do not generate text."
            problems.append(warning("no_effect", f"spec.model.capabilities.{name}", words))
    if model.embeddingDimensions is not None and not embeds:
        words = "This is for embedding models; set task: embedding if this is one."
        problems.append(warning("no_effect", "spec.model.embeddingDimensions", words))
    return problems


def settings_problems(host: Host) -> list[Problem]:
    engine, model = host.spec.engine, host.spec.model
    problems = []
    if engine.command is not None and not host.engine.own_command:
        words = f"The command of {host.engine.name} is Smarter's. Use args, or the engine custom."
        problems.append(Problem("command", "spec.engine.command", words))
    problems += secret_problems(
        {f"spec.engine.command[{index}]": one for index, one in enumerate(engine.command or ())}
    )
    if engine.contextLength and model.contextWindow and engine.contextLength > model.contextWindow:
        words = f"This is more than the contextWindow of the model, {model.contextWindow}."
        problems.append(Problem("context", "spec.engine.contextLength", words))
    if not engine.port:
        words = f"{host.engine.name} has no usual port. Name the one that the server listens on."
        problems.append(Problem("port", "spec.engine.port", words))
    elif engine.port < _UNPRIVILEGED:
        words = "Some clusters give pods no ports below 1024. Use a higher one; the Service has port 80 in any case."
        problems.append(warning("port", "spec.engine.port", words))
    return problems + _health_problems(host)


def _health_problems(host: Host) -> list[Problem]:
    check, needed = block(host.spec.healthCheck), estimate(host)
    problems = []
    if check.path is not None and not _HEALTH_PATH.fullmatch(check.path):
        words = "A health path starts with '/' and has letters, digits and . _ ~ - / only."
        problems.append(Problem("health_path", "spec.healthCheck.path", words))
    least = _STARTUP_SECONDS + needed.weights // _BYTES_PER_SECOND if needed else 0
    if check.startupTimeoutSeconds < least:
        words = f"A model of this size often takes {least} seconds or more to load, and would be restarted before that."
        problems.append(warning("short_startup", "spec.healthCheck.startupTimeoutSeconds", words))
    return problems


def image_problems(host: Host) -> list[Problem]:
    image = host.spec.engine.image
    path = "spec.engine.image"
    if image is None:
        return _default_image_problems(host)
    match = _IMAGE.fullmatch(image)
    if not match:
        words = "This is not the name of an image such as registry.example.com/team/server:1.2."
        return [Problem("image", path, words)]
    problems = [_other_gpus_problem(host, match["name"], match["tag"] or "")] if host.need.gpu_count else []
    if match["digest"] is None and match["tag"] in (None, "latest"):
        words = "Pin a version: the same tag may bring another program tomorrow."
        problems.append(warning("unpinned_image", path, words))
    return [problem for problem in problems if problem]


def _other_gpus_problem(host: Host, name: str, tag: str) -> Problem | None:
    """The image of the engine's makers for other GPUs than those that are asked for."""
    default = _IMAGE.fullmatch(host.engine.images.gpu or "")
    is_theirs = default is not None and default["name"] == name
    if not is_theirs or "rocm" in tag.lower() or host.need.gpu_resource.startswith("nvidia.com/"):
        return None
    words = f"This image is built for GPUs of NVIDIA and cannot use {host.need.gpu_resource}. Name one that can."
    return Problem("image", "spec.engine.image", words)


def _default_image_problems(host: Host) -> list[Problem]:
    need, images = host.need, host.engine.images
    if images.gpu is None and images.cpu is None:
        return [Problem("image", "spec.engine.image", f"{host.engine.name} has no image of its own. Name one.")]
    if need.gpu_count and not need.gpu_resource.startswith("nvidia.com/"):
        words = f"{host.engine.name} has no default image for {need.gpu_resource}. Name one that is built for it."
        return [Problem("image", "spec.engine.image", words)]
    if need.gpu_count == 0 and images.cpu is None:
        words = f"The default image of {host.engine.name} needs a GPU. Set gpuCount, or name an image for processors."
        return [Problem("gpu_needed", "spec.resources.gpuCount", words)]
    if need.gpu_count and images.gpu is None:
        words = f"{host.engine.name} has no default image for GPUs. Name one."
        return [Problem("image", "spec.engine.image", words)]
    return []
