"""The golden cases: a manifest as a user writes it, and the objects that come of it."""

from pathlib import Path

import yaml

from smarter.cli.rendering import Rendered, Settings, render_body
from smarter.core.facts import Environment
from smarter.core.objects import KubernetesObject

FOLDER = Path(__file__).parent / "llm_host"
CASES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
BOOTSTRAP = FOLDER.parent / "namespace.yaml"


def rendered(case: str) -> Rendered:
    folder = FOLDER / case
    path = folder / "options.yaml"
    options = yaml.safe_load(path.read_text()) if path.exists() else {}
    domain = options.get("domain", Environment().api_domain)
    environment = Environment(api_domain=domain, service_accounts=tuple(options.get("service_accounts", ())))
    settings = Settings(environment=environment, features=frozenset(options.get("features", ())))
    return render_body((folder / "manifest.yaml").read_bytes(), settings)


def own_objects(found: Rendered) -> list[KubernetesObject]:
    """Without what the namespace holds before any workload; that is the same in every case."""
    return [body for body in found.objects if "smarter.sh/owner-uid" in body["metadata"].get("labels", {})]


def namespace_objects(found: Rendered) -> list[KubernetesObject]:
    return [body for body in found.objects if "smarter.sh/owner-uid" not in body["metadata"].get("labels", {})]
