import os
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from pydantic import SecretStr

from smarter.apps.accounts import services as accounts
from smarter.apps.clusters import connections, services
from smarter.apps.clusters.models import AccountNamespace, Cluster
from smarter.apps.secrets.models import Secret
from smarter.cluster.port import ClusterInfo, NodeInfo
from smarter.core.errors import PermanentError, Refused, TemporaryError
from tests.db.accounts.builders import tenant
from tests.db.clusters.kubeconfigs import REFUSED, TOKEN, kubeconfig

pytestmark = pytest.mark.django_db


class FakeCluster:
    """Answers `info`, and remembers that it was closed."""

    def __init__(self, answer: ClusterInfo | Exception) -> None:
        self.answer = answer
        self.closed = False

    def info(self) -> ClusterInfo:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def close(self) -> None:
        self.closed = True


NODE = NodeInfo("n", {}, 8000, 32 << 30, 2, True)
INFO = ClusterInfo("v1.35.0", frozenset({"cert-manager", "keda"}), (NODE, NODE))


def simulated(made, name="c", *, is_default=False, **spec) -> Cluster:
    return services.ensure_cluster(made.account, made.admin, name, type="simulated", is_default=is_default, **spec)


def real(made, name="c", text=None) -> Cluster:
    secret = SecretStr(text or kubeconfig())
    return services.ensure_cluster(made.account, made.admin, name, type="kubernetes", kubeconfig=secret)


def answer_with(monkeypatch, *answers) -> list[FakeCluster]:
    opened: list[FakeCluster] = []

    def open_fake(_cluster):
        opened.append(FakeCluster(answers[min(len(opened), len(answers) - 1)]))
        return opened[-1]

    monkeypatch.setitem(connections._OPENERS, "kubernetes", open_fake)
    return opened


def test_the_accounts_default_wins_over_the_platforms():
    acme, other = tenant("acme"), tenant("other")
    assert services.choose(acme.account) is None
    platform, user = accounts.ensure_platform()
    shared = services.ensure_cluster(platform, user, "shared", type="simulated")
    own = simulated(acme, is_default=True)
    simulated(other, "not_default")

    assert services.choose(acme.account) == own
    assert services.choose(other.account) == shared


def test_an_account_has_one_default():
    acme, other = tenant("acme"), tenant("other")
    foreign = simulated(other, is_default=True)
    first = simulated(acme, "first", is_default=True)
    second = simulated(acme, "second", is_default=True)

    assert services.choose(acme.account) == second
    assert services.choose(other.account) == foreign
    with pytest.raises(IntegrityError), transaction.atomic():
        Cluster.for_account(acme.account).filter(pk=first.pk).update(is_default=True)


def test_registering_twice_changes_nothing():
    acme = tenant("acme")
    first = real(acme)
    second = real(acme)

    assert (first.pk, second.generation, Secret.all_accounts.count()) == (second.pk, 1, 1)
    assert real(acme, text=kubeconfig("token: other")).generation == 1
    assert simulated(acme, apiDomain="x.example.com").generation == 2


def test_another_cluster_behind_the_name_has_no_prepared_namespaces():
    acme = tenant("acme")
    cluster = simulated(acme)
    AccountNamespace.all_accounts.create(cluster=cluster, account=acme.account, bootstrap_hash="x")
    simulated(acme)
    assert AccountNamespace.for_account(acme.account).exists()

    real(acme)

    assert not AccountNamespace.for_account(acme.account).exists()


def test_the_manifest_wins_over_the_platform_in_names():
    acme = tenant("acme")
    plain = services.environment_for(simulated(acme))
    own = services.environment_for(
        simulated(acme, apiDomain="llm.example.com", ingressClass="nginx", clusterIssuer="own", storageClass="fast")
    )

    assert (plain.api_domain, plain.ingress_class) == (settings.SMARTER.api_domain, settings.SMARTER.ingress_class)
    assert (plain.storage_class, plain.fetch_image) == (None, settings.SMARTER.fetch_image)
    assert (own.api_domain, own.ingress_class, own.cluster_issuer, own.storage_class) == (
        "llm.example.com",
        "nginx",
        "own",
        "fast",
    )


def test_the_operator_says_where_weights_may_come_from(settings):
    settings.SMARTER = settings.SMARTER.model_copy(
        update={
            "hub_url": "http://hub.mirror.internal/",
            "registry_url": "http://ollama.mirror.internal",
            "trusted_sources": True,
            "service_accounts": "bucket-reader, other",
        }
    )

    found = services.environment_for(None)

    assert (found.hub_url, found.registry_url) == ("http://hub.mirror.internal", "http://ollama.mirror.internal")
    assert found.trusted_sources is True
    assert found.service_accounts == ("bucket-reader", "other")


def test_declared_features_win_over_found_ones(monkeypatch):
    acme = tenant("acme")
    answer_with(monkeypatch, INFO)
    cluster = services.refresh(real(acme))
    assert services.features_of(cluster) == INFO.features

    cluster.spec = {**cluster.spec, "features": []}
    assert services.features_of(cluster) == frozenset()
    cluster.spec = {**cluster.spec, "features": ["kserve"]}
    assert services.features_of(cluster) == frozenset({"kserve"})


def test_what_the_cluster_says_is_kept_while_it_is_silent(monkeypatch):
    acme = tenant("acme")
    opened = answer_with(monkeypatch, INFO)
    cluster = services.refresh(real(acme))
    known = Cluster.for_account(acme.account).get()
    assert (known.reachable, known.version, known.nodes, known.gpus) == (True, "v1.35.0", 2, 4)

    for error in (TemporaryError("no answer", reason="ClusterUnavailable"), PermanentError("no", reason="Forbidden")):
        opened[0].answer = error
        services.refresh(cluster)
        silent = Cluster.for_account(acme.account).get()
        assert (silent.reachable, silent.message, silent.version) == (False, error.message, "v1.35.0")
        assert silent.features == ["cert-manager", "keda"]
        assert silent.resource_version == known.resource_version

    opened[0].answer = INFO
    assert services.refresh(cluster).message == ""


def test_a_client_lives_as_long_as_its_credentials(monkeypatch):
    acme = tenant("acme")
    opened = answer_with(monkeypatch, INFO)
    cluster = real(acme)

    assert services.client_for(cluster) is services.client_for(Cluster.for_account(acme.account).get())
    real(acme, text=kubeconfig("token: other"))
    client = services.client_for(cluster)

    assert client is opened[1]
    assert (opened[0].closed, opened[1].closed) == (True, False)
    assert services.client_for(cluster) is client


def test_a_child_process_opens_its_own_client(monkeypatch):
    acme = tenant("acme")
    answer_with(monkeypatch, INFO)
    cluster = real(acme)
    before = services.client_for(cluster)

    monkeypatch.setattr(os, "getpid", lambda: -1)

    assert services.client_for(cluster) is not before


def test_expired_credentials_stop_a_cached_client_too(monkeypatch):
    acme = tenant("acme")
    answer_with(monkeypatch, INFO)
    cluster = real(acme)
    services.client_for(cluster)
    Secret.all_accounts.update(expires_at=timezone.now() - timedelta(seconds=1))

    with pytest.raises(TemporaryError) as caught:
        services.client_for(cluster)

    assert caught.value.reason == "CredentialsInvalid"
    assert services.refresh(cluster).reachable is False


def test_a_simulated_cluster_answers_and_tenants_have_their_own():
    acme = tenant("acme")
    platform, user = accounts.ensure_platform()
    shared = services.refresh(services.ensure_cluster(platform, user, "shared", type="simulated"))
    own = services.refresh(simulated(acme))

    assert (shared.reachable, shared.message, own.reachable) == (True, "", True)
    assert shared.nodes > 0
    assert connections.simulated_path(shared) == settings.SMARTER.simulated_path
    assert connections.simulated_path(own) != settings.SMARTER.simulated_path


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_a_kubeconfig_that_would_do_more_than_connect_is_refused(text):
    acme = tenant("acme")

    with pytest.raises(Refused) as caught:
        real(acme, text=text)

    assert caught.value.status == 422
    assert not Cluster.for_account(acme.account).exists()
    assert not Secret.for_account(acme.account).exists()


def test_a_kubeconfig_makes_a_client_and_its_token_is_nowhere_to_be_seen():
    acme = tenant("acme")
    cluster = real(acme)

    client = services.client_for(cluster)

    assert callable(client.info)
    assert TOKEN not in repr(client) + repr(vars(client))
    assert TOKEN not in repr(cluster.__dict__)
