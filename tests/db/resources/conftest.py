"""Toy kinds, two accounts, a cluster: what the tests of manifests start from."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from smarter.apps.accounts.services import ensure_platform
from smarter.apps.clusters.models import Cluster
from smarter.apps.clusters.services import ensure_cluster
from smarter.apps.resources.apply import apply_manifests
from smarter.apps.resources.results import ApplyResult
from tests.db.accounts.builders import Tenant, tenant
from tests.db.resources import toys


@pytest.fixture(autouse=True)
def _toys(monkeypatch: pytest.MonkeyPatch) -> None:
    toys.install(monkeypatch)


@pytest.fixture
def ann(db: None) -> Tenant:
    return tenant("ann")


@pytest.fixture
def ben(db: None) -> Tenant:
    return tenant("ben")


@pytest.fixture
def cluster(db: None) -> Cluster:
    platform, user = ensure_platform()
    return ensure_cluster(platform, user, "sim", type="simulated")


Apply = Callable[..., ApplyResult]


@pytest.fixture
def apply() -> Apply:
    """Applies documents as one body."""

    def run(who: Tenant, *documents: dict[str, Any], **options: Any) -> ApplyResult:
        return apply_manifests(who.actor, "\n".join(map(json.dumps, documents)).encode(), **options)

    return run
