"""Deploy, undeploy, delete."""

from datetime import timedelta

import pytest
from django.utils import timezone

from smarter.apps.clusters.models import Cluster
from smarter.apps.resources import lifecycle
from smarter.apps.resources.built_ins import ensure_built_ins
from smarter.apps.resources.models import Event, Hostname, Reference, Resource, ResourceState
from smarter.apps.secrets.models import Secret
from smarter.core.errors import Refused
from smarter.kinds import KINDS
from tests.db.accounts.builders import Tenant, actor_of, member, platform_actor
from tests.db.resources.conftest import Apply
from tests.db.resources.toys import GADGET, SHELF, gadget, secret, shelf

pytestmark = pytest.mark.django_db
SECRET = ("smarter.sh/v1", "Secret")


def row(who: Tenant, name: str = "lamp") -> Resource:
    return Resource.for_account(who.account).get(name=name)


def touch(who: Tenant) -> None:
    """As after a worker's first write to a cluster."""
    ResourceState.objects.filter(resource=row(who)).update(touched=True)


def test_deploy_and_undeploy_each_make_a_generation(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    apply(ann, gadget(generates="lamp_key"))
    lifecycle.deploy(ann.actor, GADGET, "lamp")
    first = row(ann)
    assert (first.generation, first.deployed, first.cluster) == (2, True, cluster)
    assert first.deployed_at is not None
    lifecycle.undeploy(ann.actor, GADGET, "lamp")
    second = row(ann)
    assert (second.generation, second.deployed, second.deployed_at) == (3, False, None)
    assert second.resource_version > first.resource_version
    assert second.cluster == cluster


def test_the_generated_secret_outlives_undeploy_and_goes_with_the_resource(
    ann: Tenant, cluster: Cluster, apply: Apply
) -> None:
    apply(ann, gadget(generates="lamp_key"))
    lifecycle.deploy(ann.actor, GADGET, "lamp")
    lifecycle.undeploy(ann.actor, GADGET, "lamp")
    value = bytes(Secret.for_account(ann.account).get(name="lamp_key").envelope)
    lifecycle.deploy(ann.actor, GADGET, "lamp")
    apply(ann, gadget(generates="lamp_key", size=2))
    assert bytes(Secret.for_account(ann.account).get(name="lamp_key").envelope) == value
    with pytest.raises(Refused) as refused:
        lifecycle.delete(ann.actor, KINDS[SECRET], "lamp_key")
    assert refused.value.status == 409
    assert lifecycle.delete(ann.actor, GADGET, "lamp")
    assert not Secret.for_account(ann.account).exists()


def test_twice_is_once(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    apply(ann, gadget())
    for _ in range(2):
        lifecycle.deploy(ann.actor, GADGET, "lamp")
        assert row(ann).generation == 2
    for _ in range(2):
        lifecycle.undeploy(ann.actor, GADGET, "lamp")
        assert row(ann).generation == 3


def test_deploy_checks_the_facts_of_now(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    apply(ann, gadget())
    Resource.for_account(ann.account).update(spec={"size": 13})
    with pytest.raises(Refused) as refused:
        lifecycle.deploy(ann.actor, GADGET, "lamp")
    assert [problem.code for problem in refused.value.problems] == ["unlucky"]
    assert not row(ann).deployed


def test_deploy_without_a_cluster(ann: Tenant, apply: Apply) -> None:
    apply(ann, gadget())
    with pytest.raises(Refused) as refused:
        lifecycle.deploy(ann.actor, GADGET, "lamp")
    assert refused.value.code == "no_cluster"


def test_what_was_never_on_a_cluster_is_gone_at_once(ann: Tenant, apply: Apply) -> None:
    apply(ann, gadget(host="a.example.com"), shelf())
    assert lifecycle.delete(ann.actor, GADGET, "lamp")
    assert lifecycle.delete(ann.actor, SHELF, "own")
    for model in (Resource, Hostname):
        assert not model.all_accounts.exists()
    assert list(Event.for_account(ann.account).filter(reason="Deleted").values_list("name", flat=True)) == [
        "lamp",
        "own",
    ]


def test_what_was_on_a_cluster_is_deleted_in_two_phases(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    apply(ann, gadget(), deploy=True)
    touch(ann)
    assert not lifecycle.delete(ann.actor, GADGET, "lamp")
    going = row(ann)
    assert going.deleting_at is not None
    for again in (
        lambda: apply(ann, gadget()),
        lambda: lifecycle.deploy(ann.actor, GADGET, "lamp"),
        lambda: lifecycle.undeploy(ann.actor, GADGET, "lamp"),
    ):
        with pytest.raises(Refused) as refused:
            again()
        assert (refused.value.status, refused.value.code) == (409, "deleting")
    assert not lifecycle.delete(ann.actor, GADGET, "lamp")
    assert row(ann).deleting_at == going.deleting_at
    assert lifecycle.finish_delete(going)
    assert not Resource.for_account(ann.account).exists()
    assert apply(ann, gadget()).outcomes[0].uid != str(going.uid)


def test_a_worker_that_holds_a_lease_is_waited_for(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    apply(ann, gadget(), deploy=True)
    ResourceState.objects.update(lease_until=timezone.now() + timedelta(seconds=30))
    assert not lifecycle.delete(ann.actor, GADGET, "lamp")


def test_only_a_deletion_is_finished_and_only_under_the_lease(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    apply(ann, gadget(), deploy=True)
    assert not lifecycle.finish_delete(row(ann))
    touch(ann)
    lifecycle.delete(ann.actor, GADGET, "lamp")
    soon = timezone.now() + timedelta(seconds=30)
    ResourceState.objects.update(lease_token=7, lease_until=soon)
    assert not lifecycle.finish_delete(row(ann), lease_token=6)
    ResourceState.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert not lifecycle.finish_delete(row(ann), lease_token=7)
    assert Resource.for_account(ann.account).exists()
    ResourceState.objects.update(lease_until=soon)
    assert lifecycle.finish_delete(row(ann), lease_token=7)


def test_what_is_referred_to_stays_and_the_answer_names_the_users(ann: Tenant, apply: Apply) -> None:
    apply(ann, secret(), gadget("base"), gadget(uses="base", password="pass_word"))
    for kind, name in ((GADGET, "base"), (KINDS[SECRET], "pass_word")):
        with pytest.raises(Refused) as refused:
            lifecycle.delete(ann.actor, kind, name)
        assert (refused.value.status, refused.value.code) == (409, "in_use")
        assert "Gadget 'lamp'" in refused.value.detail
    lifecycle.delete(ann.actor, GADGET, "lamp")
    assert lifecycle.delete(ann.actor, GADGET, "base")
    assert lifecycle.delete(ann.actor, KINDS[SECRET], "pass_word")


def test_users_in_other_accounts_are_counted_and_not_named(ann: Tenant, apply: Apply) -> None:
    ensure_built_ins()
    apply(ann, gadget("hidden_name", shelf="oak"))
    with pytest.raises(Refused) as refused:
        lifecycle.delete(platform_actor(), SHELF, "oak")
    assert "1 other resources" in refused.value.detail
    assert "hidden_name" not in refused.value.detail


def test_what_is_being_deleted_cannot_be_referred_to(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    apply(ann, gadget(), deploy=True)
    touch(ann)
    lifecycle.delete(ann.actor, GADGET, "lamp")
    with pytest.raises(Refused) as refused:
        apply(ann, gadget("other", uses="lamp"))
    assert [problem.code for problem in refused.value.problems] == ["reference_not_found"]


def test_a_reference_that_came_in_between_keeps_the_row(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    apply(ann, gadget(), gadget("other"), deploy=True)
    touch(ann)
    lifecycle.delete(ann.actor, GADGET, "lamp")
    Reference.objects.create(from_resource=row(ann, "other"), to_resource=row(ann), field="spec.uses")
    assert not lifecycle.finish_delete(row(ann))
    assert Resource.for_account(ann.account).filter(name="lamp").exists()


def test_others_cannot(ann: Tenant, ben: Tenant, cluster: Cluster, apply: Apply) -> None:
    apply(ann, gadget())
    for act in (lifecycle.deploy, lifecycle.undeploy, lifecycle.delete):
        with pytest.raises(Refused) as foreign:
            act(ben.actor, GADGET, "lamp")
        with pytest.raises(Refused) as absent:
            act(ben.actor, GADGET, "nothing")
        assert foreign.value.status == absent.value.status == 404
        assert foreign.value.detail.replace("lamp", "nothing") == absent.value.detail
    viewer = actor_of(member(ann.account, "vic", "viewer"), ann.account)
    for act in (lifecycle.deploy, lifecycle.undeploy, lifecycle.delete):
        with pytest.raises(Refused) as refused:
            act(viewer, GADGET, "lamp")
        assert refused.value.status == 403


def test_versions(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    [outcome] = apply(ann, gadget()).outcomes
    stale = str(outcome.resource_version - 1)
    for act in (lifecycle.deploy, lifecycle.undeploy, lifecycle.delete):
        with pytest.raises(Refused) as refused:
            act(ann.actor, GADGET, "lamp", expected_version=stale)
        assert refused.value.status == 412
    assert lifecycle.delete(ann.actor, GADGET, "lamp", expected_version=str(outcome.resource_version))
