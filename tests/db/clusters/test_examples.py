"""The example of each kind that has a table of its own applies as it is, and a second time changes nothing."""

import pytest
from pydantic import SecretStr

from smarter.apps.accounts import services as accounts
from smarter.apps.accounts.stores import STORES as ACCOUNT_STORES
from smarter.apps.clusters.store import STORES as CLUSTER_STORES
from smarter.apps.secrets import services as secrets
from smarter.apps.secrets.store import STORES as SECRET_STORES
from smarter.core.manifest import model_of, read_manifests
from smarter.kinds import KINDS
from tests.db.accounts.builders import platform_actor
from tests.db.clusters.kubeconfigs import kubeconfig

STORES = {**ACCOUNT_STORES, **SECRET_STORES, **CLUSTER_STORES}


@pytest.mark.django_db
@pytest.mark.parametrize("key", STORES, ids=lambda key: key[1])
def test_an_example_applies(key):
    actor, kind, store = platform_actor(), KINDS[key], STORES[key]
    manifests, problems = read_manifests(kind.example.encode(), KINDS)
    assert problems == []
    for name in ("first_user", "ci_user"):
        user = accounts.create_user(name, f"{name}@example.com", home_account=actor.account)
        if kind.name == "SmarterAuthToken":
            accounts.add_member(actor.account, user)
    for parsed in manifests:
        secret = getattr(parsed.model.spec, "kubeconfigSecret", None)
        if secret:
            secrets.put(actor.account, actor.user, secret, SecretStr(kubeconfig()))

        first = store.apply(actor, parsed, expected_version=None)
        second = store.apply(actor, parsed, expected_version=None)

        assert (first.action, second.action) == ("created", "unchanged")
        stored = store.get(actor, kind, parsed.name)
        assert stored == second.stored
        assert model_of(kind, stored.metadata, stored.spec)
