"""An LLMHost as its own rules, its renderer and its observer see it: every default in place, engine and source found,
quantities as numbers."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from smarter.core.defaults import filled
from smarter.core.engine import Engine
from smarter.core.facts import Environment, Facts
from smarter.core.naming import hostname
from smarter.core.placement import GIB, Need
from smarter.core.quantities import parse_bytes, parse_cpu_millis
from smarter.core.source import Source, Weights
from smarter.engines import ENGINES
from smarter.models.sam.llm_host import SAMLLMHost, SAMLLMHostSpec
from smarter.render.identity import Identity, identity
from smarter.sources import SOURCES

PREFIX = "lh"
_CPU_MILLIS = 2000
_LEAST_MEMORY_BYTES = 8 * GIB
MEMORY_BESIDE_SHM_BYTES = 2 * GIB
"""What a server needs at least beside its shared memory, which counts towards the memory limit of the pod."""
_LEAST_SHM_BYTES = 64 * 2**20
"""What containers have by default."""


@dataclass(frozen=True)
class Host:
    """`spec` is filled. Only for manifests that `admit` let through. Without slots, which would leave no room to keep
    what is computed once."""

    name: str
    spec: SAMLLMHostSpec
    engine: Engine
    source: Source

    @cached_property
    def need(self) -> Need:
        resources = block(self.spec.resources)
        return Need(
            cpu_millis=parse_cpu_millis(resources.cpu) if resources.cpu else _CPU_MILLIS,
            memory_bytes=memory_bytes(self.spec),
            gpu_count=resources.gpuCount,
            gpu_resource=resources.gpuResource,
        )

    @property
    def served_name(self) -> str:
        return self.spec.model.servedName or self.name

    @property
    def api_format(self) -> str:
        return str(self.spec.engine.apiFormat)

    @property
    def asks_for_key(self) -> bool:
        """Whether requests must carry a key: always where the engine can ask for one, inside the cluster too, unless
        the manifest opens a public address to everybody."""
        network = block(self.spec.network)
        return self.engine.authenticates and not (network.ingress and network.allowUnauthenticated)

    @property
    def key_secret(self) -> str | None:
        """The name of the Smarter Secret with the API key."""
        if not self.asks_for_key:
            return None
        return block(self.spec.network).apiKeySecret or f"llmhost_{self.name}_api_key"

    def weights(self, environment: Environment) -> Weights:
        return self.source.weights(self.spec, environment, self.engine.layout)

    @property
    def own_claim(self) -> bool:
        return not block(self.spec.storage).existingClaim

    def identity(self, facts: Facts) -> Identity:
        return identity(PREFIX, self.name, facts.account.number, facts.account.uid, facts.uid)

    def public_host(self, facts: Facts) -> str:
        chosen = block(self.spec.network).hostname
        if chosen:
            return str(chosen).lower()
        return hostname(self.name, "llmhost", facts.account.number, facts.environment.api_domain)


def host_of(manifest: SAMLLMHost) -> Host:
    spec = filled(manifest.spec)
    engine = ENGINES[str(spec.engine.name)]
    port = spec.engine.port or engine.port
    spec = spec.model_copy(update={"engine": spec.engine.model_copy(update={"port": port})})
    return Host(manifest.metadata.name, spec, engine, SOURCES[str(spec.model.source)])


def block(value: Any) -> Any:
    """A block of a filled spec, which is never None although its type says so."""
    return value


def brings_by_job(host: Host) -> bool:
    """Whether one Job brings the weights for all replicas, and not each of them for itself."""
    return host.source.brings and block(host.spec.storage).accessMode == "ReadWriteMany"


def memory_bytes(spec: SAMLLMHostSpec) -> int:
    """As the manifest says; otherwise room for the shared memory and what the server needs beside it."""
    resources = block(spec.resources)
    if resources.memory:
        return parse_bytes(resources.memory)
    return max(_LEAST_MEMORY_BYTES, parse_bytes(resources.shmSize) + MEMORY_BESIDE_SHM_BYTES)


def shm_bytes(spec: SAMLLMHostSpec) -> int:
    """As the manifest says. The default is 8Gi, or less in a pod whose memory would not leave the server enough."""
    resources = block(spec.resources)
    wanted = parse_bytes(resources.shmSize)
    if "shmSize" in resources.model_fields_set:
        return wanted
    return max(_LEAST_SHM_BYTES, min(wanted, memory_bytes(spec) - MEMORY_BESIDE_SHM_BYTES))
