"""What belongs to another account is answered exactly like what does not exist, on every address there is."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern

from smarter.apps.api.urls import urlpatterns
from smarter.apps.clusters.models import Cluster
from smarter.apps.resources.models import Resource, ResourceState
from tests.api.conftest import Caller
from tests.db.resources.toys import gadget, secret

pytestmark = pytest.mark.django_db

# How each address is called. A new one without an entry fails the first test below.
CALLS: dict[str, tuple[str, ...]] = {
    "manifests": ("GET",),
    "manifest": ("GET", "DELETE"),
    "deploy": ("POST",),
    "undeploy": ("POST",),
    "logs": ("GET",),
    "events": ("GET",),
    "objects": ("GET",),
    "plan": ("GET",),
}
# Nothing of any account is behind these, or the account is the caller's whatever is asked.
WITHOUT_NAMES = {"openapi", "apply", "kinds", "kind-schema", "kind-example", "whoami", "version"}


def routes() -> dict[str, str]:
    return {route.name: f"/{route.pattern}" for route in urlpatterns if isinstance(route, URLPattern)}


def test_every_address_is_covered() -> None:
    assert set(routes()) == set(CALLS) | WITHOUT_NAMES


def paths() -> list[tuple[str, str]]:
    return [(method, routes()[name]) for name, methods in CALLS.items() for method in methods]


def told(caller: Caller, method: str, path: str) -> tuple[int, bytes, dict[str, str]]:
    response = caller.call(method, path, X_Request_ID="same")
    return response.status_code, response.content, dict(response.headers)


@pytest.mark.parametrize(("method", "route"), paths())
@pytest.mark.parametrize(("plural", "name"), [("gadgets", "lamp"), ("secrets", "pass_word")])
def test_foreign_is_absent(
    ann: Caller, ben: Caller, cluster: Cluster, method: str, route: str, plural: str, name: str
) -> None:
    path = route.replace("<str:plural>", plural).replace("<str:name>", name)
    before = told(ben, method, path)
    ann.apply(secret(), gadget(password="pass_word"), query="?deploy=true")
    with CaptureQueriesContext(connection) as queries:
        after = told(ben, method, path)
    assert after == before
    assert Resource.for_account(ann.account).get().deployed
    assert "canary" not in str(queries.captured_queries)


def test_a_foreign_name_can_be_used_for_ones_own(ann: Caller, ben: Caller) -> None:
    ann.apply(gadget(size=1))
    assert ben.apply(gadget(size=2)).json()["results"][0]["action"] == "created"
    assert ann.get("/gadgets/lamp").json()["spec"] == {"size": 1}
    ben.delete("/gadgets/lamp")
    assert ann.get("/gadgets/lamp").status_code == 200


def test_foreign_references_are_absent(ann: Caller, ben: Caller) -> None:
    document = gadget(uses="lantern", password="pass_word")

    def refusal() -> tuple[int, bytes]:
        response = ben.apply(document, X_Request_ID="same")
        return response.status_code, response.content

    absent = refusal()
    ann.apply(secret(), gadget("lantern"))
    assert refusal() == absent
    assert absent[0] == 422


def test_owner_fields_come_from_the_key(ann: Caller, ben: Caller) -> None:
    forged: dict[str, Any] = {**gadget(), "status": {"accountNumber": ben.account.number, "username": "ben_admin"}}
    ann.apply(forged)
    assert ann.get("/gadgets/lamp").json()["status"]["accountNumber"] == ann.account.number
    assert ben.get("/gadgets").json()["total"] == 0
    for field in ("accountNumber", "uid", "owner"):
        assert ann.apply({**gadget(), "metadata": {"name": "lamp", field: "x"}}).status_code == 422


def test_the_header_of_the_platform_is_refused_to_tenants(ann: Caller, ben: Caller) -> None:
    response = ann.get("/gadgets", X_Smarter_Account=ben.account.number)
    absent = ann.get("/gadgets", X_Smarter_Account="0000-0000-0009")
    assert response.status_code == absent.status_code == 403


def test_state_of_others_is_never_touched(ann: Caller, ben: Caller) -> None:
    ann.apply(gadget())
    before = ResourceState.objects.values().get()
    ben.apply(gadget())
    ben.delete("/gadgets/lamp")
    assert ResourceState.objects.values().get() == before
