"""What a container said before it ended: the line that names the fault, and what to do about it.

Servers end with pages of echoes of one fault, so the first line that names one is told. Called by `pods.py`.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from smarter.kinds.sam.llm_host import words

_LOG_PREFIX = re.compile(
    r"^(?:\(\w+ pid=\d+\) )?(?:\[?(?:ERROR|CRITICAL|FATAL)\]?:?)?\s*"
    r"(?:\d\d-\d\d \d\d:\d\d:\d\d(?: \[[\w.]+:\d+\])?)?\s*"
)
_FAULT_LINE = re.compile(r"\b(?:\w*Error|\w*Exception|error|fatal|failed|panic)\b")
_EXCEPTION_LINE = re.compile(r"\b\w*(?:Error|Exception): ")
_KILLED_FROM_OUTSIDE = (137, 143)
"""Exit codes of SIGKILL and SIGTERM. Without OOMKilled they are the kubelet's, after a probe failed too often."""
_ADVICE_FOR_GOOD = frozenset(
    {
        "unauthorized",
        "gated",
        "forbidden",
        "not_found",
        "bad_url",
        "bad_path",
        "cloud_model",
        "forbidden_address",
        "disk_full",
    }
)
"""Faults of a fetch that another attempt meets again."""


@dataclass(frozen=True, slots=True)
class Known:
    """A fault that is recognised by what a server says. `reason` is ours, since Kubernetes knows only exit codes."""

    pattern: re.Pattern[str]
    reason: str
    advice: str


def _known(pattern: str, reason: str, advice: str) -> Known:
    return Known(re.compile(pattern, re.IGNORECASE), reason, advice)


# The first that is found counts, so what says more stands before what says less.
KNOWN = (
    _known(
        r"larger than the (?:available KV cache|maximum number of tokens)|exceeds the available KV|KV cache is needed"
        r"|larger than the maximum number of tokens that can be stored in KV cache",
        "ContextTooLong",
        "The context does not fit the GPU's memory: lower contextLength.",
    ),
    _known(
        r"CUDA out of memory|OutOfMemoryError|No available memory for the cache|cudaMalloc failed|CUDA error 2\b"
        r"|HIP out of memory",
        "GpuOutOfMemory",
        "The GPU's memory is too small: lower contextLength or maxConcurrentRequests, or use a larger compute.",
    ),
    _known(r"No space left on device", "DiskFull", "The volume is full: give storage.size more room."),
    _known(
        r"invalid literal for int\(\) with base 10: '(?:MIG|GPU)-",
        "DeviceIds",
        "The server takes numbers of GPUs only, not their ids: leave CUDA_VISIBLE_DEVICES out of engine.env, or use a "
        "newer image.",
    ),
    _known(
        r"unrecognized arguments?|unknown argument|invalid argument:|unexpected argument|error: argument -",
        "UnknownArgument",
        "Check spec.engine.args against the server of this image.",
    ),
    _known(
        r"CUDA driver version is insufficient|driver on your system is too old|no kernel image is available"
        r"|unsupported.*compute cap|forward compatibility was attempted",
        "DriverTooOld",
        "The image does not fit this GPU or its driver: use another image or compute.",
    ),
    _known(
        r"trust[_-]remote[_-]code",
        "RemoteCode",
        "The model brings code of its own: set trustRemoteCode, at a commit.",
    ),
    _known(
        r"address already in use|errno 98\b|couldn't bind",
        "PortInUse",
        "Something in the pod has taken the port: change spec.engine.port.",
    ),
    _known(
        r"no CUDA-capable device|No CUDA GPUs are available|Failed to infer device type",
        "NoGpu",
        "The server finds no GPU: check gpuCount, and that the image is for this kind of GPU.",
    ),
    _known(
        r"unknown model architecture|architectures? .*(?:not supported|unsupported)"
        r"|does not recognize this architecture",
        "UnknownArchitecture",
        "The server of this image does not know this kind of model: use a newer image or another engine.",
    ),
    _known(
        r"invalid magic|failed to load model|SafetensorError|header too large|InvalidHeader",
        "WeightsUnreadable",
        "The file is damaged or of another format than this engine loads: check model.file and the engine.",
    ),
)
_NO_OFFLOAD = re.compile(
    r"no usable GPU found|offloaded 0/\d+ layers|compiled without (?:GPU|CUDA) support|ggml_cuda_init: failed", re.I
)

# Reasons of the fetch program: what is said of the host, and what to do.
_FETCH = {
    "unauthorized": "Check that the Secret in model.tokenSecret holds what this place asks for and may read the model.",
    "gated": "The model is gated: accept its terms on its page{page} as the user of the token in model.tokenSecret.",
    "cloud_model": "Choose a model that can be brought: a tag without cloud.",
    "forbidden": "The token may not read it: give one that may, in model.tokenSecret.",
    "not_found": "Check model.repository, model.revision and model.file.",
    "rate_limited": "That place asks to be left alone for a while; it is tried again. A token in model.tokenSecret has "
    "its own, higher limit.",
    "disk_full": "Give storage.size more room.",
    "checksum_mismatch": "What arrived is damaged; it is fetched again.",
    "stalled": "The connection broke too often; it is tried again.",
    "unreachable": "The place of the weights cannot be reached from the cluster; it is tried again.",
    "forbidden_address": "Weights come from public addresses only.",
    "bad_url": "Check model.repository.",
    "bad_path": "Check model.repository and model.file.",
    "bad_certificate": "The certificate of that place is not one that the cluster trusts.",
    "incomplete": "Undeploy the host and deploy it again; the weights are then brought anew.",
    "bad_archive": "Pack the folder of the model anew, as a tar archive of plain files.",
    "bad_answer": "That place does not answer as it should. Check model.repository.",
}

_ON_A_PAGE = "Accept the terms of the model on its page{page}, and give a token of that user in model.tokenSecret."
"""For a refusal of a place whose models have pages, and owners who ask for that."""


@dataclass(frozen=True, slots=True)
class Told:
    """`for_good`: another start meets the same."""

    reason: str
    message: str
    for_good: bool = False


def crash(terminated: dict[str, Any], restarts: int, memory: str) -> Told:
    """A container that ended by itself or was killed, from its last state."""
    times = f" It was started {restarts + 1} times." if restarts else ""
    if terminated.get("reason") == "OOMKilled":
        text = f"The server used more than its memory, {memory}, and was stopped.{times} Set resources.memory higher."
        return Told("OOMKilled", text)
    text = str(terminated.get("message") or "")
    known = next((known for known in KNOWN if known.pattern.search(text)), None)
    last = _last_words(clean_lines(text))
    said = f" It said: {words.sentence(last)}" if last else " See the logs."
    advice = f" {known.advice}" if known else ""
    message = f"The server ended with exit code {terminated.get('exitCode')}.{times}{said}{advice}"
    return Told(known.reason if known else "", message)


def was_killed(terminated: dict[str, Any]) -> bool:
    """Whether the kubelet ended it, for it did not answer its probe."""
    return terminated.get("reason") != "OOMKilled" and terminated.get("exitCode") in _KILLED_FROM_OUTSIDE


def has_no_offload(text: str) -> bool:
    """Whether a server says that it works on the processor although it was to use a GPU."""
    return _NO_OFFLOAD.search(text) is not None


def clean_lines(text: object) -> list[str]:
    lines = (
        words.clean(_LOG_PREFIX.sub("", line), 400) for line in str(text or "")[: 4 * words.MAX_LENGTH].splitlines()
    )
    return [line for line in lines if line]


def _last_words(lines: list[str]) -> str:
    """The first line that names a fault: what follows is mostly its echo through outer layers. One that names an
    exception says more than one that only says that something failed."""
    for pattern in (_EXCEPTION_LINE, _FAULT_LINE):
        found = next((line for line in lines if pattern.search(line)), None)
        if found is not None:
            return found
    return lines[-1] if lines else ""


def fetch_failed(terminated: dict[str, Any], token_secret: str | None, page: str) -> Told:
    """From the last words of the fetch program, which are one JSON object. `page` is where the model is described."""
    if terminated.get("reason") == "OOMKilled":
        words_about = "Bringing the weights used more than the memory of the pod. Set resources.memory higher."
        return Told("WeightsOOMKilled", words_about)
    try:
        said = json.loads(str(terminated.get("message") or "").strip().splitlines()[-1])
        reason, message = str(said["reason"]), str(said["message"])
    except (ValueError, LookupError, TypeError):
        last = _last_words(clean_lines(terminated.get("message")))
        text = f"The weights did not arrive (exit code {terminated.get('exitCode')}): "
        return Told("WeightsFailed", text + words.sentence(last or "see the logs"))
    refused = reason in ("unauthorized", "gated", "forbidden")
    if reason == "unreachable" and re.search(r"answered 429\b", message):
        reason = "rate_limited"
    used = f" The token of the Secret {token_secret} was used." if token_secret and refused else ""
    known_advice = _ON_A_PAGE if page and reason == "unauthorized" else _FETCH.get(reason, "")
    advice = known_advice.format(page=f", {page}" if page else "")
    text = f"The weights did not arrive: {words.sentence(message)}{used} {advice}".strip()
    known = reason if reason in _FETCH else "failed"
    return Told(f"Weights{_camel(known)}", text, for_good=reason in _ADVICE_FOR_GOOD)


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
