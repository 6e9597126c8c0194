"""Reading manifests."""

from typing import Any

import pytest

from smarter.apps.resources import queries
from smarter.apps.resources.built_ins import ensure_built_ins
from smarter.apps.resources.models import Resource, ResourceState
from smarter.core.errors import Refused
from smarter.kinds import KINDS
from tests.db.accounts.builders import Tenant
from tests.db.resources.conftest import Apply
from tests.db.resources.toys import GADGET, SHELF, gadget, secret, shelf

pytestmark = pytest.mark.django_db


def names(who: Tenant, **options: Any) -> tuple[list[str], int]:
    found, total = queries.list_stored(who.actor, GADGET, **{"limit": 100, "offset": 0, **options})
    return [stored.name for stored in found], total


def test_pages_filters_and_orders(ann: Tenant, ben: Tenant, apply: Apply) -> None:
    apply(ann, *[gadget(name) for name in ("ball", "apple", "cube")])
    apply(ben, gadget("foreign"))
    apply(ann, gadget("apple", size=2))
    assert names(ann) == (["apple", "ball", "cube"], 3)
    assert names(ann, limit=2) == (["apple", "ball"], 3)
    assert names(ann, limit=2, offset=2) == (["cube"], 3)
    assert names(ann, offset=5) == ([], 3)
    assert names(ann, name_filter="b") == (["ball", "cube"], 2)
    assert names(ann, sort="-name")[0] == ["cube", "ball", "apple"]
    assert names(ann, sort="-modified")[0][0] == "apple"
    assert names(ben) == (["foreign"], 1)


@pytest.mark.parametrize("options", [{"sort": "owner__password"}, {"sort": "--name"}, {"name_filter": "a\0"}])
def test_strange_parameters_are_refused(ann: Tenant, options: dict[str, str]) -> None:
    with pytest.raises(Refused) as refused:
        names(ann, **options)
    assert refused.value.status == 400


def test_a_list_costs_the_same_however_long(ann: Tenant, apply: Apply, django_assert_num_queries: Any) -> None:
    apply(ann, *[gadget(f"g{number}") for number in range(3)])
    with django_assert_num_queries(2):
        names(ann)
    apply(ann, *[gadget(f"h{number}", uses="g1") for number in range(30)])
    with django_assert_num_queries(2):
        assert names(ann)[1] == 33


def test_status_has_ownership_and_dependents_of_the_account(ann: Tenant, ben: Tenant, apply: Apply) -> None:
    ensure_built_ins()
    apply(ann, gadget("base"), gadget(uses="base", shelf="oak"))
    apply(ben, gadget("foreign", shelf="oak"))
    stored = queries.get_stored(ann.actor, GADGET, "base")
    assert stored is not None
    assert stored.status["accountNumber"] == ann.account.number
    assert stored.status["username"] == "ann_admin"
    assert stored.status["dependencies"] == [{"kind": "Gadget", "name": "lamp"}]
    oak = queries.get_stored(ann.actor, SHELF, "oak")
    assert oak is not None and oak.status["dependencies"] == [{"kind": "Gadget", "name": "lamp"}]


def test_dependents_of_a_secret(ann: Tenant, apply: Apply) -> None:
    apply(ann, secret(), gadget(password="pass_word"))
    stored = queries.get_stored(ann.actor, KINDS[("smarter.sh/v1", "Secret")], "pass_word")
    assert stored is not None and stored.status["dependencies"] == [{"kind": "Gadget", "name": "lamp"}]


def test_shared_kinds_show_the_platforms_and_own_first(ann: Tenant, ben: Tenant, apply: Apply) -> None:
    ensure_built_ins()
    apply(ann, shelf("oak", price="9"))
    mine = queries.get_stored(ann.actor, SHELF, "oak")
    theirs = queries.get_stored(ben.actor, SHELF, "oak")
    assert mine is not None and mine.spec == {"price": "9"}
    assert theirs is not None and theirs.spec == {"price": "0.25"}
    found, total = queries.list_stored(ben.actor, SHELF, limit=10, offset=0)
    assert ([stored.name for stored in found], total) == (["oak", "pine"], 2)


def test_ready_is_never_told_of_an_older_generation(ann: Tenant, apply: Apply) -> None:
    apply(ann, gadget())
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": ""}
    ResourceState.objects.update(status={"conditions": [ready]}, observed_generation=1, ready=True)

    def told() -> dict[str, Any]:
        stored = queries.get_stored(ann.actor, GADGET, "lamp")
        assert stored is not None
        return stored.status

    assert told()["conditions"] == [ready]
    apply(ann, gadget(size=2))
    assert told()["conditions"][0]["status"] == "Unknown"
    assert told()["observedGeneration"] == 1


def test_events_outlive_what_they_tell_of(ann: Tenant, ben: Tenant, apply: Apply) -> None:
    apply(ann, gadget())
    Resource.for_account(ann.account).delete()
    assert [event.reason for event in queries.events_of(ann.actor, GADGET, "lamp", limit=10)] == ["Created"]
    assert queries.events_of(ben.actor, GADGET, "lamp", limit=10) == []
