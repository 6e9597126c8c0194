"""One body of manifests, one transaction."""

import dataclasses
import json
from typing import Any

import pytest

from smarter.apps.clusters.models import Cluster
from smarter.apps.resources.apply import apply_manifests
from smarter.apps.resources.built_ins import ensure_built_ins
from smarter.apps.resources.models import AuditEvent, Event, Hostname, Reference, Resource, ResourceState
from smarter.apps.secrets.models import Secret
from smarter.core.errors import Refused
from smarter.kinds import KINDS
from tests.db.accounts.builders import Tenant, actor_of, member
from tests.db.resources.conftest import Apply
from tests.db.resources.toys import GADGET, gadget, secret, shelf

pytestmark = pytest.mark.django_db


def row(who: Tenant, name: str = "lamp") -> Resource:
    return Resource.for_account(who.account).get(name=name)


def codes(refused: pytest.ExceptionInfo[Refused]) -> set[str]:
    return {problem.code for problem in refused.value.problems}


def test_a_first_apply_creates_generation_one_and_is_due_at_once(ann: Tenant, apply: Apply) -> None:
    [outcome] = apply(ann, gadget(size=2)).outcomes
    stored = row(ann)
    assert (outcome.action, outcome.generation, outcome.name) == ("created", 1, "lamp")
    assert (stored.spec, stored.generation, stored.deployed) == ({"size": 2}, 1, False)
    assert stored.resource_version == outcome.resource_version
    assert stored.state.next_check_at is not None


def test_the_same_again_changes_nothing(ann: Tenant, apply: Apply) -> None:
    first = apply(ann, gadget(size=2)).outcomes[0]
    second = apply(ann, gadget(size=2)).outcomes[0]
    assert second.action == "unchanged"
    assert (second.generation, second.resource_version) == (first.generation, first.resource_version)


def test_the_order_of_keys_is_no_change(ann: Tenant, apply: Apply) -> None:
    apply(ann, gadget(size=2, color="red"))
    assert apply(ann, gadget(color="red", size=2)).outcomes[0].action == "unchanged"


def test_a_changed_spec_is_a_new_generation_with_a_fresh_version(ann: Tenant, apply: Apply) -> None:
    first = apply(ann, gadget(size=2)).outcomes[0]
    second = apply(ann, gadget(size=3)).outcomes[0]
    assert (second.action, second.generation) == ("changed", 2)
    assert second.resource_version > first.resource_version


def test_changed_metadata_keeps_the_generation(ann: Tenant, apply: Apply) -> None:
    first = apply(ann, gadget(size=2)).outcomes[0]
    described = gadget(size=2)
    described["metadata"]["description"] = "new words"
    second = apply(ann, described).outcomes[0]
    assert (second.action, second.generation) == ("changed", 1)
    assert second.resource_version > first.resource_version


def test_new_comments_are_kept_and_are_no_change(ann: Tenant, apply: Apply) -> None:
    apply(ann, gadget(size=2))
    text = b"# why two\napiVersion: toys.example.io/v1\nkind: Gadget\nmetadata: {name: lamp}\nspec: {size: 2}\n"
    assert apply_manifests(ann.actor, text).outcomes[0].action == "unchanged"
    assert "# why two" in row(ann).applied_text


def test_a_version_is_never_used_twice_even_for_a_name_that_is(ann: Tenant, apply: Apply) -> None:
    first = apply(ann, gadget()).outcomes[0]
    Resource.for_account(ann.account).delete()
    assert apply(ann, gadget()).outcomes[0].resource_version > first.resource_version


def test_status_of_a_client_changes_no_byte(ann: Tenant, apply: Apply) -> None:
    apply(ann, {**gadget(size=2), "status": {"hostStatus": "active", "deployed": True, "accountNumber": "x"}})
    assert row(ann).state.status == {}
    assert not row(ann).deployed


def test_nothing_is_stored_when_one_of_many_is_wrong(ann: Tenant, apply: Apply) -> None:
    with pytest.raises(Refused) as refused:
        apply(ann, secret(), gadget("good"), gadget("bad", size=101), gadget("worse", uses="nobody"))
    assert codes(refused) == {"too_big", "reference_not_found"}
    assert {problem.document for problem in refused.value.problems} == {2, 3}
    for model in (Resource, ResourceState, Reference, Event, AuditEvent, Secret):
        rows = model._default_manager if model in (ResourceState, Reference) else model.all_accounts
        assert not rows.exists(), model


def test_schema_faults_and_rules_between_fields_come_in_one_answer(ann: Tenant, apply: Apply) -> None:
    with pytest.raises(Refused) as refused:
        apply(ann, gadget("one", size=101), gadget("two", unknown=1))
    assert codes(refused) == {"too_big", "unknown_field"}
    assert refused.value.status == 422


def test_a_body_may_refer_to_itself_in_any_order(ann: Tenant, apply: Apply) -> None:
    result = apply(ann, gadget("top", uses="base", password="pass_word"), gadget("base"), secret())
    assert [outcome.name for outcome in result.outcomes] == ["top", "base", "pass_word"]
    targets = {ref.field: ref for ref in Reference.objects.filter(from_resource=row(ann, "top"))}
    assert targets["spec.uses"].to_resource == row(ann, "base")
    assert targets["spec.password"].to_secret.name == "pass_word"


def test_a_circle_of_references_is_stored(ann: Tenant, apply: Apply) -> None:
    apply(ann, gadget("one", uses="two"), gadget("two", uses="one"))
    assert Reference.objects.count() == 2


def test_references_follow_the_spec(ann: Tenant, apply: Apply) -> None:
    apply(ann, secret(), gadget("base"), gadget(uses="base", password="pass_word"))
    apply(ann, gadget(password="pass_word"))
    assert list(Reference.objects.values_list("field", flat=True)) == ["spec.password"]


def test_a_foreign_name_is_absent_with_the_same_words(ann: Tenant, ben: Tenant, apply: Apply) -> None:
    def fault() -> list[dict[str, Any]]:
        with pytest.raises(Refused) as refused:
            apply(ann, gadget(uses="lantern", password="pass_word"))
        return [problem.as_dict() for problem in refused.value.problems]

    absent = fault()
    apply(ben, secret(), gadget("lantern"))
    assert fault() == absent
    assert len(absent) == 2


def test_a_shared_kind_of_the_platform_may_be_referred_to(ann: Tenant, apply: Apply) -> None:
    ensure_built_ins()
    [outcome] = apply(ann, gadget(shelf="oak", size=4)).outcomes
    assert outcome.price is not None
    assert (outcome.price.compute, str(outcome.price.per_hour)) == ("oak", "1.000000")


def test_the_accounts_own_wins_over_the_platforms(ann: Tenant, apply: Apply) -> None:
    ensure_built_ins()
    apply(ann, shelf("oak", price="7"))
    [outcome] = apply(ann, gadget(shelf="oak")).outcomes
    assert outcome.price is not None and outcome.price.per_hour == 7
    assert Reference.objects.get().to_resource.account == ann.account


def test_a_node_type_of_the_same_body_counts(ann: Tenant, apply: Apply) -> None:
    result = apply(ann, gadget(shelf="new"), shelf("new", price="3"))
    assert result.outcomes[0].price is not None and result.outcomes[0].price.per_hour == 3


def test_built_ins_are_applied_once(db: None) -> None:
    assert ensure_built_ins() >= 2
    audited = AuditEvent.all_accounts.count()
    assert ensure_built_ins() == 0
    assert AuditEvent.all_accounts.count() == audited


def test_rules_against_what_is_stored(ann: Tenant, apply: Apply) -> None:
    apply(ann, gadget(color="red"))
    ResourceState.objects.update(touched=True)
    with pytest.raises(Refused) as refused:
        apply(ann, gadget(color="blue"))
    assert codes(refused) == {"immutable"}
    assert row(ann).spec == {"color": "red"}


def test_warnings_do_not_refuse(ann: Tenant, apply: Apply) -> None:
    [outcome] = apply(ann, gadget(size=99)).outcomes
    assert [problem.code for problem in outcome.warnings] == ["large"]


def test_facts_refuse(ann: Tenant, apply: Apply) -> None:
    with pytest.raises(Refused) as refused:
        apply(ann, gadget(size=13))
    assert codes(refused) == {"unlucky"}


def test_deploy_launches_and_makes_the_secret(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    [outcome] = apply(ann, gadget(generates="lamp_key"), deploy=True).outcomes
    stored = row(ann)
    assert outcome.deployed and stored.deployed and stored.deployed_at is not None
    assert stored.cluster == cluster
    assert Secret.for_account(ann.account).get(name="lamp_key").generated_for == stored.uid
    assert set(Event.for_account(ann.account).values_list("reason", flat=True)) == {"Created", "Launched"}


def test_deploying_what_is_stored_is_a_new_generation(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    apply(ann, gadget())
    [outcome] = apply(ann, gadget(), deploy=True).outcomes
    assert (outcome.action, outcome.generation) == ("changed", 2)
    again = apply(ann, gadget(), deploy=True).outcomes[0]
    assert (again.action, again.generation) == ("unchanged", 2)


def test_an_apply_without_deploy_does_not_undeploy(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    apply(ann, gadget(), deploy=True)
    assert apply(ann, gadget(size=5)).outcomes[0].deployed


def test_an_apply_leaves_the_columns_of_the_reconciler_alone(
    ann: Tenant, cluster: Cluster, apply: Apply, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(ann, gadget())

    def meanwhile(*arguments: Any) -> list[Any]:
        Resource.for_account(ann.account).update(placed_on="oak", cluster=cluster)
        return []

    monkeypatch.setitem(KINDS, GADGET.key, dataclasses.replace(GADGET, check=meanwhile))
    apply(ann, gadget(size=2))
    assert (row(ann).placed_on, row(ann).cluster, row(ann).spec) == ("oak", cluster, {"size": 2})


def test_a_planted_secret_is_not_adopted(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    apply(ann, secret("lamp_key", "weak"))
    before = bytes(Secret.for_account(ann.account).get().envelope)
    with pytest.raises(Refused) as refused:
        apply(ann, gadget(generates="lamp_key"), deploy=True)
    assert refused.value.status == 409
    assert bytes(Secret.for_account(ann.account).get().envelope) == before
    assert not Resource.for_account(ann.account).exists()


def test_deploy_of_a_kind_that_cannot_run_is_refused(ann: Tenant, apply: Apply) -> None:
    with pytest.raises(Refused) as refused:
        apply(ann, shelf(), deploy=True)
    assert codes(refused) == {"not_deployable"}


def test_deploy_skips_what_cannot_run_beside_what_can(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    result = apply(ann, secret(), gadget(password="pass_word"), deploy=True)
    assert [outcome.deployed for outcome in result.outcomes] == [False, True]


def test_deploy_without_any_cluster_says_so(ann: Tenant, apply: Apply) -> None:
    with pytest.raises(Refused) as refused:
        apply(ann, gadget(), deploy=True)
    assert codes(refused) == {"no_cluster"}


def test_a_dry_run_answers_like_the_real_apply_and_stores_nothing(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    documents = [secret(), gadget(size=2, password="pass_word", generates="lamp_key")]
    dry = apply(ann, *documents, deploy=True, dry_run=True)
    for model in (Resource, Secret, Event, AuditEvent, Hostname):
        assert not model.all_accounts.exists(), model
    real = apply(ann, *documents, deploy=True)

    def told(result: Any) -> list[tuple[Any, ...]]:
        return [(o.kind.name, o.name, o.action, o.generation, o.deployed, o.price) for o in result.outcomes]

    assert told(dry) == told(real)
    assert [ref.kind.kind for ref in dry.outcomes[1].plan.objects.created] == ["Deployment"]


def test_a_dry_run_tells_fields_objects_and_restarts(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    apply(ann, gadget(size=1, host="a.example.com"), deploy=True)
    plan = apply(ann, gadget(size=2), dry_run=True).outcomes[0].plan
    assert plan is not None and plan.memory is not None
    assert [(change.path, change.before, change.after) for change in plan.fields] == [
        ("spec.host", "a.example.com", None),
        ("spec.size", 1, 2),
    ]
    assert [ref.kind.kind for ref in plan.objects.changed] == ["Deployment"]
    assert [ref.kind.kind for ref in plan.objects.deleted] == ["Service"]
    assert plan.objects.restarts == ()


def test_a_dry_run_sees_that_a_new_secret_value_restarts(ann: Tenant, cluster: Cluster, apply: Apply) -> None:
    user = gadget(password="pass_word")
    apply(ann, secret(), user, deploy=True)
    plan = apply(ann, secret(value="another-value"), user, dry_run=True).outcomes[1].plan
    assert plan is not None
    assert [ref.kind.kind for ref in plan.objects.restarts] == ["Deployment"]
    assert plan.fields == []


def test_a_plan_never_shows_a_secret(ann: Tenant, apply: Apply) -> None:
    apply(ann, secret(value="canary-one"))
    result = apply(ann, secret(value="canary-two"), dry_run=True)
    assert "canary" not in repr(result)


def test_a_stale_version_is_refused(ann: Tenant, apply: Apply) -> None:
    first = apply(ann, gadget(size=1)).outcomes[0]
    apply(ann, gadget(size=2))
    with pytest.raises(Refused) as refused:
        apply(ann, gadget(size=3), expected_version=str(first.resource_version))
    assert refused.value.status == 412
    assert row(ann).spec == {"size": 2}


def test_a_version_for_what_is_not_there_is_refused(ann: Tenant, apply: Apply) -> None:
    for version in ("1", "*"):
        with pytest.raises(Refused) as refused:
            apply(ann, gadget(), expected_version=version)
        assert refused.value.status == 412
    with pytest.raises(Refused):
        apply(ann, secret(), expected_version="*")


def test_a_version_speaks_of_one_document(ann: Tenant, apply: Apply) -> None:
    with pytest.raises(Refused) as refused:
        apply(ann, gadget("one"), gadget("two"), expected_version="1")
    assert refused.value.status == 400


def test_roles(ann: Tenant, cluster: Cluster) -> None:
    viewer = actor_of(member(ann.account, "vic", "viewer"), ann.account)
    plain = actor_of(member(ann.account, "mel", "member"), ann.account)
    body, board = json.dumps(gadget()).encode(), json.dumps(shelf()).encode()
    for actor, document in ((viewer, body), (plain, board)):
        with pytest.raises(Refused) as refused:
            apply_manifests(actor, document)
        assert refused.value.status == 403
    assert apply_manifests(plain, body, deploy=True).outcomes[0].deployed


def test_a_host_name_belongs_to_one_resource(ann: Tenant, ben: Tenant, cluster: Cluster, apply: Apply) -> None:
    apply(ann, gadget(host="Shop.example.com"))
    with pytest.raises(Refused) as refused:
        apply(ben, gadget(host="shop.EXAMPLE.com"))
    assert refused.value.status == 409
    assert [(p.code, p.path) for p in refused.value.problems] == [("hostname_taken", "spec.host")]
    assert not Resource.for_account(ben.account).exists()
    apply(ann, gadget(host="other.example.com"))
    apply(ben, gadget(host="shop.example.com"))
    assert dict(Hostname.all_accounts.values_list("hostname", "account__name")) == {
        "other.example.com": "ann",
        "shop.example.com": "ben",
    }


def test_what_no_longer_fits_the_schema_can_be_replaced(ann: Tenant, apply: Apply) -> None:
    apply(ann, gadget())
    Resource.for_account(ann.account).update(spec={"gone_field": 1}, spec_hash="x")
    assert apply(ann, gadget(size=2)).outcomes[0].action == "changed"
    assert apply(ann, gadget(size=3), dry_run=True).outcomes[0].plan is not None


def test_a_new_api_key_is_revealed_once_and_not_by_a_dry_run(ann: Tenant, apply: Apply) -> None:
    token = {
        "apiVersion": "smarter.sh/v1",
        "kind": "SmarterAuthToken",
        "metadata": {"name": "robot", "description": "d", "version": "1.0.0"},
        "spec": {"config": {"isActive": True, "username": "ann_admin"}},
    }
    assert apply(ann, token, dry_run=True).outcomes[0].reveal == {}
    [outcome] = apply(ann, token).outcomes
    assert outcome.reveal["key"].get_secret_value()
    assert apply(ann, token).outcomes[0].reveal == {}
