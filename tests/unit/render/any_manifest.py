"""Random LLMHosts that the rules accept, for one engine and source after the other.

Every field is drawn from values that may or may not mean something to the engine. What the rules refuse is taken out
again, field by field, so what is left is as full as it can be without the generator knowing any rule. Texts of the user
hold the word canary, wherever they may.
"""

import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from smarter.cli.rendering import built_in_computes
from smarter.core.facts import Environment, Facts
from smarter.core.problems import errors_of
from smarter.engines import ENGINES
from smarter.models.sam.base import validate
from smarter.models.sam.llm_host import SAMLLMHost
from tests.llm_hosts import ACCOUNT, KIND, UID, secret

CANARY = "canary"
Draw = Callable[[random.Random], Any]
PAIRS = tuple((engine.name, source) for engine in ENGINES.values() for source in engine.sources)
COMMIT = "0123456789abcdef0123456789abcdef01234567"
_ATTEMPTS = 12
_MOST_DRAWS = 1000
_SHARE = 0.3
"""How often a field is set at all."""

# What an engine and a source cannot do without.
_PLACES: dict[str, dict[str, Any]] = {
    "huggingface": {"model.repository": "canary-owner/canary-model"},
    "ollama": {"model.repository": "canary/canary:canary"},
    "s3": {"model.repository": "s3://canary-bucket/canary/prefix"},
    "url": {"model.repository": "https://canary.example.com/canary.gguf"},
    "pvc": {"model.repository": "canary/folder", "storage.existingClaim": "canary-claim"},
}
_OF_ENGINE: dict[str, dict[str, Any]] = {
    "tei": {"model.task": "embedding"},
    "custom": {"engine.image": "registry.example.com/canary:1", "engine.port": 8000},
}
_OF_PAIR: dict[tuple[str, str], dict[str, Any]] = {
    **{("llama_cpp", source): {"model.file": "canary.gguf"} for source in ("huggingface", "s3", "pvc")},
    **{(engine, "url"): {"model.repository": "https://canary.example.com/canary.tar.gz"}
       for engine in ("vllm", "sglang", "tgi", "tei")},
}  # fmt: skip


def _one(*values: Any) -> Draw:
    return lambda rng: rng.choice(values)


def _number(least: int, most: int) -> Draw:
    return lambda rng: rng.choice((least, most, rng.randint(least, most)))


def _word(rng: random.Random) -> str:
    return CANARY + "".join(rng.choices(string.ascii_letters + string.digits + "._/-", k=rng.randint(0, 40)))


def _arguments(rng: random.Random) -> list[str]:
    texts = ("--canary-flag", '--canary={"a": [1, "$(HF_TOKEN)"]}', "--canary=$$(API_KEY)", "--canary=100", "-0.5")
    return ["--canary-first", *rng.sample(texts, rng.randint(0, len(texts)))]


def _variables(rng: random.Random) -> dict[str, str]:
    names = ("CANARY", "VLLM_CANARY", "SGLANG_CANARY", "OLLAMA_CANARY", "AWS_REGION", "TZ")
    return {name: rng.choice(("canary", "canary $(API_KEY) $$(X) $", "eu-west-1")) for name in rng.sample(names, 2)}


def _tolerations(rng: random.Random) -> list[dict[str, Any]]:
    one = {"key": "canary", "operator": "Exists"}
    other = {"key": "canary.example.com/a", "value": "canary", "effect": "NoExecute", "tolerationSeconds": 60}
    return rng.sample([one, other], rng.randint(0, 2))


FIELDS: dict[str, Draw] = {
    "compute": _one("gpu_l4_1x", "gpu_l4_4x", "cpu_medium", "gpu_h100_8x", "gpu_t4_1x"),
    "model.revision": _one("main", COMMIT, "canary/branch"),
    "model.file": _one("canary/a.gguf", "canary-00001-of-00002.gguf", "CANARY", "Q4_K_M"),
    "model.servedName": _word,
    "model.task": _one("text-generation", "embedding"),
    "model.tokenSecret": _one("hub_token"),
    "model.quantization": _one("none", "fp32", "fp16", "bf16", "fp8", "mxfp4", "int8", "int4", "gguf", "awq", "gptq"),
    "model.parameterCount": _number(0, 10**12),
    "model.contextWindow": _number(1, 1_000_000),
    "model.architecture": _word,
    "model.license": _word,
    "model.embeddingDimensions": _number(0, 1_048_576),
    "model.capabilities.functionCalling": _one(True, False),
    "model.capabilities.reasoning": _one(True, False),
    "model.capabilities.streaming": _one(True, False),
    "model.capabilities.vision": _one(True, False),
    "engine.apiFormat": _one("openai_compatible", "huggingface", "ollama_native", "custom"),
    "engine.args": _arguments,
    "engine.command": _one(["/bin/canary", "--canary", "$(API_KEY)"]),
    "engine.contextLength": _number(1, 1_000_000),
    "engine.dtype": _one("auto", "half", "float16", "bfloat16", "float", "float32"),
    "engine.env": _variables,
    "engine.gpuMemoryUtilization": _one(0.01, 0.5, 1.0),
    "engine.image": _one("canary.example.com:5000/canary:1", f"canary/canary@sha256:{'a' * 64}", "canary"),
    "engine.maxConcurrentRequests": _number(1, 65536),
    "engine.port": _number(1, 65535),
    "engine.tensorParallelSize": _number(1, 16),
    "engine.trustRemoteCode": _one(True, False),
    "healthCheck.path": _one("/", "/canary", f"/{'canary/' * 100}"),
    "healthCheck.periodSeconds": _number(1, 300),
    "healthCheck.startupTimeoutSeconds": _number(60, 21600),
    "network.allowUnauthenticated": _one(True, False),
    "network.apiKeySecret": _one("own_key"),
    "network.hostname": _one("canary.example.org", f"{'canary.' * 20}Example.org", "x--canary.example"),
    "network.ingress": _one(True, False),
    "resources.cpu": _one("1m", "500m", "2", "6.5"),
    "resources.gpuCount": _number(0, 8),
    "resources.gpuResource": _one("nvidia.com/gpu", "amd.com/gpu", "nvidia.com/gpu.shared"),
    "resources.memory": _one("1Gi", "12Gi", "24000M", "100Gi"),
    "resources.nodeSelector": _one({"canary.example.com/label": "canary"}, {"canary": ""}, {}),
    "resources.serviceAccountName": _one("canary-account"),
    "resources.shmSize": _one("64Mi", "2Gi", "8Gi"),
    "resources.tolerations": _tolerations,
    "resources.vramRequiredGb": _number(0, 600),
    "scaling.replicas": _number(1, 16),
    "storage.accessMode": _one("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
    "storage.existingClaim": _one("canary-claim", "canary.claim"),
    "storage.retain": _one(True, False),
    "storage.size": _one("1Gi", "50Gi", "2Ti"),
    "storage.storageClass": _one("canary-class"),
}


@dataclass(frozen=True, slots=True)
class Drawn:
    """`fields` are those that were drawn and stayed."""

    manifest: SAMLLMHost
    facts: Facts
    fields: frozenset[str]


def needed(engine: str, source: str) -> dict[str, Any]:
    """What a manifest of this pair must hold."""
    own = {**_PLACES[source], **_OF_ENGINE.get(engine, {}), **_OF_PAIR.get((engine, source), {})}
    return {"engine.name": engine, "model.source": source, "resources.gpuCount": 1, **own}


def manifests(engine: str, source: str, seed: int) -> Iterator[Drawn]:
    """As many as are asked for, the same for the same seed."""
    rng = random.Random(f"{engine}/{source}/{seed}")
    for _ in range(_MOST_DRAWS):
        drawn = _drawn(rng, needed(engine, source))
        if drawn is not None:
            yield drawn


def _drawn(rng: random.Random, base: dict[str, Any]) -> Drawn | None:
    chosen = {path: draw(rng) for path, draw in FIELDS.items() if rng.random() < _SHARE}
    name = "_".join(rng.choices(("a", "0", "model", "qwen3", "x" * 20), k=rng.randint(1, 4)))[:50].strip("_")
    surge = rng.choice((None, True, False))
    for _ in range(_ATTEMPTS):
        manifest = manifest_of({**base, **chosen}, name)
        known = facts_of(manifest, surge)
        paths = refused(manifest, known)
        if not paths:
            return Drawn(manifest, known, frozenset(chosen))
        _take_out(rng, chosen, paths)
    return None


def _take_out(rng: random.Random, chosen: dict[str, Any], paths: set[str]) -> None:
    """What the rules name. Where they name a block, or nothing that was drawn, one field of it, or any, goes."""
    named = [path for path in chosen if any(place.startswith(path) for place in paths)]
    inside = [path for path in chosen if any(path.startswith(place) for place in paths)]
    for path in named or rng.sample(inside or list(chosen), min(1, len(inside or chosen))):
        del chosen[path]


def manifest_of(changes: dict[str, Any], name: str = "case_host") -> SAMLLMHost:
    spec: dict[str, Any] = {}
    for path, value in changes.items():
        *parents, last = path.split(".")
        block = spec
        for parent in parents:
            block = block.setdefault(parent, {})
        block[last] = value
    document = {"apiVersion": "smarter.sh/v1", "kind": "LLMHost", "metadata": {"name": name}, "spec": spec}
    manifest, faults = validate(SAMLLMHost, document)
    assert manifest is not None, faults
    return manifest


def facts_of(manifest: SAMLLMHost, surge: bool | None = None) -> Facts:
    names = [reference.name for reference in KIND.references(manifest) if reference.kind == "Secret"]
    return Facts(
        account=ACCOUNT,
        uid=UID,
        environment=Environment(service_accounts=("canary-account",)),
        features=frozenset({"cert-manager"}),
        computes=built_in_computes(),
        secrets={
            name: secret(name, f"value-of-{name}:0123456789") for name in (*names, *KIND.generated_secrets(manifest))
        },
        surge=surge,
    )


def refused(manifest: SAMLLMHost, known: Facts) -> set[str]:
    """Paths below spec of all errors."""
    problems = errors_of([*KIND.admit(manifest, None), *KIND.check(manifest, known)])
    return {problem.path.removeprefix("spec.") for problem in problems}
