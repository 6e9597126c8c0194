import pytest
from pydantic import SecretStr

from smarter.apps.clusters import services
from smarter.apps.clusters.models import Cluster
from smarter.apps.clusters.store import STORES
from smarter.apps.secrets import services as secrets
from smarter.core.errors import Refused
from smarter.models.sam.base import validate
from tests.db.accounts.builders import CLUSTER, actor_of, manifest, member, platform_actor, tenant
from tests.db.clusters.kubeconfigs import REFUSED, TOKEN, kubeconfig

pytestmark = pytest.mark.django_db
STORE = STORES[CLUSTER.key]


@pytest.fixture
def acme(db):
    made = tenant("acme")
    secrets.put(made.account, made.admin, "production_kubeconfig", SecretStr(kubeconfig()))
    return made


def cluster(name="production", spec="type: kubernetes, kubeconfigSecret: production_kubeconfig", metadata=""):
    return manifest(CLUSTER, f"{{name: {name}{metadata}}}", f"{{{spec}}}")


def apply(made, parsed, expected_version=None):
    return STORE.apply(made.actor, parsed, expected_version=expected_version)


def refused(call, *args, **kwargs) -> Refused:
    with pytest.raises(Refused) as caught:
        call(*args, **kwargs)
    return caught.value


def test_a_cluster_is_registered_with_its_secret(acme):
    made = apply(acme, cluster())
    same = apply(acme, cluster())
    row = Cluster.for_account(acme.account).get()

    assert (made.action, same.action) == ("created", "unchanged")
    assert row.kubeconfig_secret.name == "production_kubeconfig"
    assert made.stored.status["reachable"] is None
    assert TOKEN not in repr(made)
    got = STORE.get(acme.actor, CLUSTER, "production")
    document = {"apiVersion": got.api_version, "kind": got.kind, "metadata": got.metadata, "spec": got.spec}
    assert validate(CLUSTER.model, {**document, "status": got.status})[1] == []


def test_the_default_moves(acme):
    apply(acme, cluster(spec="type: kubernetes, kubeconfigSecret: production_kubeconfig, default: true"))
    apply(acme, cluster("trial", spec="type: simulated, default: true"))
    assert services.choose(acme.account).name == "trial"

    moved = apply(acme, cluster("trial", spec="type: simulated"))

    assert (moved.action, moved.stored.generation) == ("changed", 2)
    assert services.choose(acme.account) is None


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ("type: kubernetes", "spec.kubeconfigSecret"),
        ("type: kubernetes, kubeconfigSecret: absent", "spec.kubeconfigSecret"),
        ("type: simulated, kubeconfigSecret: production_kubeconfig", "spec.kubeconfigSecret"),
    ],
)
def test_credentials_must_fit_the_type(acme, spec, path):
    error = refused(apply, acme, cluster(spec=spec))

    assert (error.status, error.problems[0].path) == (422, path)
    assert not Cluster.all_accounts.exists()


def test_a_secret_of_another_account_is_absent(acme):
    other = tenant("other")

    foreign = refused(apply, other, cluster())
    absent = refused(apply, other, cluster(spec="type: kubernetes, kubeconfigSecret: x"))

    assert [problem.message for problem in foreign.problems] == [problem.message for problem in absent.problems]


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_a_dangerous_kubeconfig_is_refused(acme, text):
    secrets.put(acme.account, acme.admin, "production_kubeconfig", SecretStr(text))

    error = refused(apply, acme, cluster())

    assert (error.status, error.problems[0].path) == (422, "spec.kubeconfigSecret")
    assert not Cluster.all_accounts.exists()


def test_the_type_never_changes(acme):
    apply(acme, cluster())

    assert refused(apply, acme, cluster(spec="type: simulated")).problems[0].path == "spec.type"


def test_if_match_and_delete(acme):
    version = apply(acme, cluster()).stored.resource_version

    assert refused(apply, acme, cluster(metadata=", tags: [a]"), "99").status == 412
    assert refused(STORE.delete, acme.actor, CLUSTER, "production", expected_version="99").status == 412
    assert secrets.exists(acme.account, ["production_kubeconfig"])
    assert refused(secrets.delete, acme.account, "production_kubeconfig").code == "in_use"
    STORE.delete(acme.actor, CLUSTER, "production", expected_version=str(version))
    assert secrets.delete(acme.account, "production_kubeconfig")
    assert refused(STORE.delete, acme.actor, CLUSTER, "production", expected_version=None).status == 404


def test_members_register_nothing_and_others_see_nothing(acme):
    other = tenant("other")
    apply(acme, cluster())
    actor = actor_of(member(acme.account, "bob", "member"), acme.account)

    assert refused(STORE.apply, actor, cluster("x"), expected_version=None).status == 403
    assert refused(STORE.delete, actor, CLUSTER, "production", expected_version=None).status == 403
    assert STORE.get(actor, CLUSTER, "production") is not None
    assert STORE.get(other.actor, CLUSTER, "production") is None
    assert STORE.list(other.actor, CLUSTER, limit=10, offset=0) == ([], 0)
    assert refused(STORE.delete, other.actor, CLUSTER, "production", expected_version=None).status == 404


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "[::1]", "[::ffff:127.0.0.1]", "localhost", "a.localhost"])
def test_only_the_platform_has_a_cluster_on_this_machine(acme, host):
    text = SecretStr(kubeconfig(server=f"https://{host}:6443"))
    platform = platform_actor()
    secrets.put(acme.account, acme.admin, "production_kubeconfig", text)
    secrets.put(platform.account, platform.user, "production_kubeconfig", text)

    error = refused(apply, acme, cluster())

    assert (error.status, error.problems[0].path) == (422, "spec.kubeconfigSecret")
    assert STORE.apply(platform, cluster(), expected_version=None).action == "created"
