"""All that a pure function may know besides the manifest itself.

`apps/reconcile` fills Facts from the database before a render, `apps/resources` before an apply, and `smarter render`
from its command line. Nothing here reads a clock, a setting or a row.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType

from pydantic import SecretStr

NO_SECRETS: Mapping[str, "SecretFact"] = MappingProxyType({})
NO_LOGS: Mapping[tuple[str, str], str] = MappingProxyType({})
NO_PINS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class AccountFact:
    number: str
    """`9999-9999-9999`."""
    uid: str


@dataclass(frozen=True, slots=True)
class SecretFact:
    """A value that a manifest refers to by name. `checksum` is keyed (HMAC), so it tells that a value changed and
    nothing about the value."""

    name: str
    value: SecretStr
    checksum: str


@dataclass(frozen=True, slots=True)
class ComputeFact:
    """A node type that an account may use. Capacities are of one whole node."""

    name: str
    instance_type: str
    cpu_millis: int
    memory_bytes: int
    gpu_count: int = 0
    gpu_type: str = ""
    gpu_memory_bytes: int = 0
    """Of one GPU, as sold."""
    gpu_resource: str = "nvidia.com/gpu"
    price_per_hour: Decimal | None = None
    currency: str = "USD"
    price_source: str = ""
    price_date: str = ""
    max_nodes: int = 1
    node_labels: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, str], ...] = ()
    """Of the taints that these nodes carry, in the form that pods have them."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What the operator decided for a cluster: names that manifests never choose."""

    api_domain: str = "api.localhost"
    fetch_image: str = "smarter:latest"
    ingress_class: str = "traefik"
    ingress_namespace: str = "traefik"
    cluster_issuer: str = "letsencrypt"
    storage_class: str | None = None
    asking_namespace: str = ""
    """Where the workers run that ask servers for a token now and then; empty where none do."""
    gpu_quota: int = 16
    """Of one account's namespace, as the quantities below."""
    cpu_quota: str = "512"
    memory_quota: str = "4Ti"
    storage_quota: str = "20Ti"
    hub_url: str = "https://huggingface.co"
    """Where Hugging Face repositories come from: the hub, or the operator's mirror of it."""
    registry_url: str = "https://registry.ollama.ai"
    """Where Ollama's models come from: its registry, or the operator's mirror of it."""
    trusted_sources: bool = False
    """Whether weights may also come over plain HTTP and from private addresses, for a mirror inside a network."""
    service_accounts: tuple[str, ...] = ()
    """Kubernetes service accounts that manifests may name, beside the one without rights that every pod has."""


@dataclass(frozen=True, slots=True)
class Facts:
    account: AccountFact
    uid: str
    """Of the resource that the manifest describes. Names in the cluster derive from it."""
    generation: int = 1
    deployed: bool = True
    environment: Environment = field(default_factory=Environment)
    features: frozenset[str] = frozenset()
    """What the cluster has beyond Kubernetes itself, e.g. `cert-manager`."""
    secrets: Mapping[str, SecretFact] = field(default_factory=lambda: NO_SECRETS)
    computes: tuple[ComputeFact, ...] = ()
    placed_on: str | None = None
    """The node type that it runs on now. A cheaper one that appears later moves nothing by itself."""
    node_labels: tuple[Mapping[str, str], ...] = ()
    """Labels of the nodes that the cluster has, each set once."""
    pins: Mapping[str, str] = field(default_factory=lambda: NO_PINS)
    """What the platform's defaults gave when this was launched, by names that the kind chose. A default that changes
    later moves nothing that runs."""
    logs: Mapping[tuple[str, str], str] = field(default_factory=lambda: NO_LOGS)
    """Last log lines by the names of pod and container, of those that `Kind.logs` asked for and that could be read."""
    surge: bool | None = None
    """Whether a new pod may start before an old one has stopped, as the cluster had room when the pods were changed
    last. None: they never were."""
