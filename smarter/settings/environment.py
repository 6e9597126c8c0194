"""What the operator sets, typed and checked at start: the only reader of the environment.

`base.py` turns it into Django settings; code of Smarter reads `settings.SMARTER`.
"""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

_ADDRESS = r"^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?$"


class SmarterSettings(BaseSettings):
    """Every field is an environment variable of the same name with the prefix SMARTER_, but for the three that other
    systems set too."""

    model_config = SettingsConfigDict(env_prefix="SMARTER_", populate_by_name=True, extra="ignore")

    # Services.
    database_url: SecretStr = Field(
        default=SecretStr("postgres://smarter:smarter@127.0.0.1:5432/smarter"), validation_alias="DATABASE_URL"
    )
    broker_url: SecretStr = Field(default=SecretStr("redis://127.0.0.1:6379/0"), validation_alias="BROKER_URL")
    secret_key: SecretStr = Field(default=SecretStr(""), validation_alias="DJANGO_SECRET_KEY")
    """Signs sessions and cookies; required outside tests."""

    # Web.
    allowed_hosts: str = "localhost,127.0.0.1"
    """Separated by commas."""
    api_domain: str = "api.localhost"
    """The domain below which hosts get their names."""

    # Secrets at rest.
    kek_file: Path = Path("/etc/smarter/kek.json")
    """The ring of key-encryption keys. Never in the database."""

    # Clusters.
    state_dir: Path = Path(".smarter")
    simulated_cluster_file: Path | None = None
    """Where simulated clusters keep their objects; by default below `state_dir`."""
    fetch_image: str = "ghcr.io/smarter-cloud/smarter:0.1.0"
    """The image of Smarter itself, for the container that brings weights."""
    hub_url: str = Field(default="https://huggingface.co", pattern=_ADDRESS)
    registry_url: str = Field(default="https://registry.ollama.ai", pattern=_ADDRESS)
    """Where weights of the sources `huggingface` and `ollama` come from: a mirror of them, if not from themselves."""
    trusted_sources: bool = False
    """Whether weights may come over plain HTTP and from private addresses: then every account's manifests may name any
    address that pods reach, but for the metadata services of clouds."""
    service_accounts: str = ""
    """Kubernetes service accounts that manifests may name, separated by commas."""
    ingress_class: str = "traefik"
    ingress_namespace: str = "traefik"
    cluster_issuer: str = "letsencrypt"

    # Reconcile.
    lease_seconds: float = Field(default=60.0, gt=0)
    poll_fast_seconds: float = Field(default=2.0, gt=0)
    poll_slow_seconds: float = Field(default=30.0, gt=0)
    answer_check_clusters: str = ""
    """Names of the platform's own clusters, separated by commas, whose Services the workers can reach: those that they
    run in. Generative hosts there are asked for one token once in a while. Empty: none are."""
    answer_check_namespace: str = "smarter"
    """The namespace that the workers run in there; the accounts' network policies let it in, to the serving port."""
    answer_check_seconds: float = Field(default=300.0, gt=0)
    """Between two questions to one host."""
    answer_check_failures: int = Field(default=3, gt=0)
    """So many questions in a row without an answer make a host degraded."""
    log_level: str = "INFO"

    @property
    def answer_check_names(self) -> frozenset[str]:
        return frozenset(name.strip() for name in self.answer_check_clusters.split(",") if name.strip())

    @property
    def simulated_path(self) -> Path:
        return self.simulated_cluster_file or self.state_dir / "simulated-cluster.sqlite3"


def database_from_url(url: str) -> dict[str, object]:
    """A Django database entry. ValueError for anything but Postgres."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ValueError("DATABASE_URL must be postgres://user:password@host:port/name")
    return {
        "ENGINE": "django_prometheus.db.backends.postgresql",
        "NAME": parts.path.lstrip("/"),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or 5432),
    }
