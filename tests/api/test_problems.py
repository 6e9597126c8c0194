"""Every no is a problem document."""

import json

import pytest
from django.db import OperationalError, connection
from django.test import Client

from smarter.apps.accounts.services import create_api_key
from smarter.apps.resources import queries
from tests.api.conftest import Caller, Problem
from tests.db.resources.toys import gadget, shelf

pytestmark = pytest.mark.django_db


def test_without_a_key(ann: Caller, problem: Problem) -> None:
    for header in ({}, {"Authorization": "Bearer nonsense"}, {"Authorization": f"Bearer {ann.key[:-1]}x"},
                   {"Authorization": "Token \u00e9"}, {"Authorization": "Bearer " + "a" * 9000}):  # fmt: skip
        response = Client(raise_request_exception=False).get("/api/v1/gadgets", headers=header)
        assert problem(response)["code"] == "unauthenticated"
        assert response["WWW-Authenticate"].startswith("Bearer")


def test_both_schemes_work(ann: Caller) -> None:
    for scheme in ("Bearer", "Token", "bearer"):
        assert ann.get("/whoami", Authorization=f"{scheme} {ann.key}").status_code == 200


def test_a_role_that_is_too_small(ann: Caller, viewer: Caller, problem: Problem) -> None:
    ann.apply(gadget())
    assert viewer.get("/gadgets/lamp").status_code == 200
    for response in (
        viewer.apply(gadget(size=2)),
        viewer.apply(shelf()),
        viewer.delete("/gadgets/lamp"),
        viewer.post("/gadgets/lamp/deploy"),
        viewer.post("/gadgets/lamp/undeploy"),
    ):
        assert problem(response)["code"] == "forbidden"


def test_a_scope_that_is_too_small(ann: Caller, problem: Problem) -> None:
    _, key = create_api_key(ann.account, ann.user, "reader", scopes=["read"])
    reader = Caller(ann.account, ann.user, key.get_secret_value())
    assert reader.get("/gadgets").status_code == 200
    assert problem(reader.apply(gadget()))["code"] == "forbidden"
    assert problem(reader.post("/gadgets/lamp/deploy"))["code"] == "forbidden"


def test_addresses_and_methods(ann: Caller, problem: Problem) -> None:
    assert problem(ann.get("/gadgets/lamp/nothing"))["status"] == 404
    assert problem(ann.get("/gadgets/"))["status"] == 404
    assert problem(Client().get("/elsewhere"))["status"] == 404
    response = ann.post("/gadgets")
    assert problem(response)["code"] == "method_not_allowed"
    assert "GET" in response["Allow"]
    assert problem(ann.get("/apply"))["status"] == 405
    assert problem(ann.call("PATCH", "/gadgets/lamp"))["status"] == 405
    assert ann.call("OPTIONS", "/gadgets").status_code == 200


def test_a_form_that_is_not_offered(ann: Caller, problem: Problem) -> None:
    assert problem(ann.get("/gadgets", Accept="application/xml"))["code"] == "not_acceptable"


def test_a_crash_tells_nothing(ann: Caller, problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*args: object, **options: object) -> None:
        raise RuntimeError("canary of the inside")

    monkeypatch.setattr(queries, "list_stored", crash)
    response = ann.get("/gadgets")
    assert problem(response)["code"] == "internal"
    assert b"canary" not in response.content


def test_a_crash_outside_the_views_is_a_problem_too(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*args: object, **options: object) -> None:
        raise RuntimeError("canary of the inside")

    monkeypatch.setattr("smarter.apps.api.views.health.render", crash)
    response = Client(raise_request_exception=False).get("/")
    assert problem(response)["code"] == "internal"


def test_a_host_that_is_not_ours(problem: Problem, settings: object) -> None:
    settings.ALLOWED_HOSTS = ["api.example.com"]  # type: ignore[attr-defined] # pytest-django's wrapper
    response = Client(raise_request_exception=False).get("/elsewhere", headers={"Host": "evil.example.com"})
    assert problem(response)["status"] in (400, 404)


def test_the_database_is_away(ann: Caller, problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise OperationalError("connection to server at 10.0.0.1 failed: canary")

    monkeypatch.setattr(connection, "cursor", refuse)
    for response in (ann.get("/gadgets"), ann.apply(gadget())):
        assert problem(response)["code"] == "unavailable"
        assert response["Retry-After"] == "5"
        assert b"canary" not in response.content
    assert Client().get("/healthz").status_code == 200
    assert Client().get("/readyz").status_code == 503


def test_request_ids(ann: Caller) -> None:
    assert ann.get("/whoami", X_Request_ID="trace-1.2_3")["X-Request-ID"] == "trace-1.2_3"
    for strange in ("a b", "x" * 65, '"}\x1b[31m', "a/b"):
        assert ann.get("/whoami", X_Request_ID=strange)["X-Request-ID"] != strange


def test_a_request_id_reaches_the_audit_trail(ann: Caller) -> None:
    ann.apply(gadget(), X_Request_ID="trace-77")
    with connection.cursor() as cursor:
        cursor.execute("SELECT request_id, key_id FROM resources_auditevent")
        [(request_id, key_id)] = cursor.fetchall()
    assert request_id == "trace-77"
    assert len(key_id) == 12


def test_a_mistake_in_json_has_a_place(ann: Caller, problem: Problem) -> None:
    broken = json.dumps(gadget(size=1), indent=1).replace('"size": 1', '"size": 1,, ')
    document = problem(ann.post("/apply", broken))
    assert document["errors"][0]["line"] is not None
