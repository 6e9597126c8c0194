"""Kinds, schemas, examples, version, whoami, health, and the page at the root."""

import dataclasses
import json

import pytest
import yaml
from django.test import Client

from smarter.kinds import KINDS
from tests.api.conftest import Caller, Problem
from tests.db.resources.toys import GADGET

pytestmark = pytest.mark.django_db


def test_kinds_are_public() -> None:
    items = Client().get("/api/v1/kinds").json()["items"]
    assert {(item["apiVersion"], item["kind"]) for item in items} == set(KINDS)
    gadget = next(item for item in items if item["kind"] == "Gadget")
    assert (gadget["plural"], gadget["group"], gadget["deployable"]) == ("gadgets", "toys.example.io", True)


@pytest.mark.parametrize("spelling", ["Gadget", "gadget", "gadgets", "Gadget.toys.example.io"])
def test_schema_and_example_by_any_spelling(spelling: str) -> None:
    schema = Client().get(f"/api/v1/kinds/{spelling}/schema").json()
    assert "spec" in schema["properties"]
    example = Client().get(f"/api/v1/kinds/{spelling}/example")
    assert example["Content-Type"].startswith("application/yaml")
    assert yaml.safe_load(example.content)["kind"] == "Gadget"
    as_json = Client().get(f"/api/v1/kinds/{spelling}/example", headers={"Accept": "application/json"})
    assert as_json.json()["kind"] == "Gadget"


def test_every_kind_has_a_schema_and_an_example() -> None:
    for kind in KINDS.values():
        base = f"/api/v1/kinds/{kind.name}.{kind.group}"
        assert Client().get(f"{base}/schema").json()["properties"]["spec"]
        assert yaml.safe_load(Client().get(f"{base}/example").content)["kind"] == kind.name


def test_two_kinds_of_one_name_must_be_told_apart(monkeypatch: pytest.MonkeyPatch, problem: Problem) -> None:
    other = dataclasses.replace(GADGET, api_version="other.example.io/v1")
    monkeypatch.setitem(KINDS, other.key, other)
    document = problem(Client().get("/api/v1/kinds/gadget/schema"))
    assert (document["status"], document["code"]) == (400, "ambiguous_kind")
    assert "gadgets.other.example.io, gadgets.toys.example.io" in document["detail"]
    assert Client().get("/api/v1/kinds/gadgets.other.example.io/schema").status_code == 200


def test_unknown_kind(problem: Problem) -> None:
    for path in ("schema", "example"):
        assert problem(Client().get(f"/api/v1/kinds/gadgett/{path}"))["code"] == "unknown_kind"


def test_version() -> None:
    answer = Client().get("/api/v1/version").json()
    assert answer["version"] and "smarter.sh/v1" in answer["apiVersions"]


def test_whoami(ann: Caller) -> None:
    answer = ann.get("/whoami").json()
    assert answer["username"] == "ann_admin"
    assert answer["account"] == {"number": ann.account.number, "companyName": "Ann"}
    assert (answer["role"], answer["isPlatformAdmin"]) == ("admin", False)
    assert ann.key not in json.dumps(answer)


def test_health(problem: Problem) -> None:
    assert Client().get("/healthz").json() == {"status": "ok"}
    ready = Client().get("/readyz")
    assert (ready.status_code, ready.json()["status"], ready.json()["migrations"]) == (200, "ok", "applied")
    assert "workerSecondsSinceWork" in ready.json()


def test_metrics() -> None:
    assert b"django_http_requests" in Client().get("/metrics").content


def test_the_page_at_the_root() -> None:
    response = Client().get("/")
    assert response.status_code == 200
    assert b"/api/v1/openapi.json" in response.content
    assert "default-src 'none'" in response["Content-Security-Policy"]
