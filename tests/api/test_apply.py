"""POST /api/v1/apply."""

import json

import pytest
import yaml

from smarter.apps.clusters.models import Cluster
from smarter.apps.resources.models import Resource
from smarter.kinds import KINDS
from tests.api.conftest import Caller, Problem
from tests.db.resources.toys import gadget, secret, shelf

pytestmark = pytest.mark.django_db
TEXT = "apiVersion: toys.example.io/v1\nkind: Gadget\nmetadata: {name: lamp}\nspec: {size: 2}\n"


def test_each_document_has_a_result_with_its_price(ann: Caller, cluster: Cluster) -> None:
    response = ann.apply(shelf(price="0.5"), gadget(size=3, shelf="own"), query="?deploy=true")
    assert response.status_code == 200
    first, second = response.json()["results"]
    assert (first["kind"], first["action"], first["pricePerHour"]) == ("Shelf", "created", None)
    assert second == {
        **second,
        "document": 1,
        "apiVersion": "toys.example.io/v1",
        "kind": "Gadget",
        "name": "lamp",
        "action": "created",
        "generation": 1,
        "deployed": True,
        "warnings": [],
        "compute": "own",
        "instanceType": "wood",
        "replicas": 3,
        "nodeShare": "1",
        "pricePerHour": "1.5",
        "pricePerMonth": "1095",
        "currency": "USD",
    }
    assert "plan" not in second and "reveal" not in second
    again = ann.apply(gadget(size=3, shelf="own"))
    assert [result["action"] for result in again.json()["results"]] == ["unchanged"]


@pytest.mark.parametrize(
    "content_type",
    ["application/yaml", "application/json", "text/plain", "multipart/form-data; boundary=x", "nonsense", ""],
)
@pytest.mark.parametrize("body", [TEXT, json.dumps(gadget(size=2))], ids=["yaml", "json"])
def test_the_content_type_is_not_believed(ann: Caller, content_type: str, body: str) -> None:
    response = ann.post("/apply", body, Content_Type=content_type)
    assert response.status_code == 200
    assert Resource.for_account(ann.account).get().spec == {"size": 2}


def test_form_data_is_read_as_it_is(ann: Caller) -> None:
    response = ann.post("/apply", "a=1&b=2", Content_Type="application/x-www-form-urlencoded")
    assert response.status_code == 422


def test_answers_in_yaml(ann: Caller) -> None:
    response = ann.post("/apply", TEXT, Accept="application/yaml")
    assert response["Content-Type"].startswith("application/yaml")
    assert yaml.safe_load(response.content)["results"][0]["action"] == "created"


def test_every_fault_has_a_place(ann: Caller, problem: Problem) -> None:
    text = TEXT.replace("{size: 2}", "{size: many, shape: round}") + "---\n" + TEXT.replace("lamp", "La mp")
    document = problem(ann.post("/apply", text))
    assert (document["status"], document["code"]) == (422, "invalid")
    places = {(e["document"], e["path"], e["line"]) for e in document["errors"]}
    assert places == {(0, "spec.size", 4), (0, "spec.shape", 4), (1, "metadata.name", 8)}
    assert all(e["code"] and e["message"] and e["column"] for e in document["errors"])


def test_text_that_cannot_be_read(ann: Caller, problem: Problem) -> None:
    assert problem(ann.post("/apply", "a: [1,"))["code"] == "unreadable"
    assert problem(ann.post("/apply", b""))["errors"][0]["code"] == "empty"
    assert problem(ann.post("/apply", b"\xff\xfea"))["status"] == 400


def test_a_large_body_is_refused_before_it_is_read(ann: Caller, problem: Problem) -> None:
    assert problem(ann.post("/apply", b"#" * (256 * 1024 + 1)))["status"] == 413
    assert ann.post("/apply", TEXT.encode() + b"#" * (256 * 1024 - len(TEXT))).status_code == 200


def test_a_compressed_body_is_refused(ann: Caller, problem: Problem) -> None:
    assert problem(ann.post("/apply", TEXT, Content_Encoding="gzip"))["status"] == 415


def test_a_dry_run_has_a_plan_and_stores_nothing(ann: Caller, cluster: Cluster) -> None:
    response = ann.apply(gadget(size=3, shelf="oak"), query="?dryRun=true&deploy=true")
    assert response.json()["dryRun"] is True
    [result] = response.json()["results"]
    assert {change["path"]: change["after"] for change in result["plan"]["fields"]} == {
        "metadata.name": "lamp",
        "spec.shelf": "oak",
        "spec.size": 3,
    }
    assert [one["kind"] for one in result["plan"]["objects"]["created"]] == ["Deployment"]
    assert result["plan"]["memory"]["verdict"] == "fits"
    assert result["pricePerHour"] == "0.75"
    assert not Resource.for_account(ann.account).exists()


def test_if_match(ann: Caller, problem: Problem) -> None:
    version = ann.apply(gadget(size=1)).json()["results"][0]["resourceVersion"]
    second = ann.apply(gadget(size=2), If_Match=f'"{version}"')
    assert second.status_code == 200
    assert problem(ann.apply(gadget(size=3), If_Match=f'"{version}"'))["status"] == 412
    assert ann.apply(gadget(size=4), If_Match="*").status_code == 200
    for strange in ("abc", '"1", "2"', '"', "-1"):
        assert problem(ann.apply(gadget(size=5), If_Match=strange))["status"] == 400
    assert Resource.for_account(ann.account).get().spec == {"size": 4}


@pytest.mark.parametrize("query", ["?dryRun=maybe", "?deploy=2"])
def test_flags_are_true_or_false(ann: Caller, problem: Problem, query: str) -> None:
    assert problem(ann.apply(gadget(), query=query))["status"] == 400
    assert not Resource.for_account(ann.account).exists()


def test_what_is_read_can_be_applied_again_without_a_change(ann: Caller) -> None:
    text = TEXT.replace("{name: lamp}", "{name: lamp, description: 'yes'}").replace("size: 2", "color: '010'")
    ann.post("/apply", text)
    for accept in ("application/json", "application/yaml"):
        read = ann.get("/gadgets/lamp", Accept=accept)
        again = ann.post("/apply", read.content)
        assert again.json()["results"][0]["action"] == "unchanged", read.content


@pytest.mark.parametrize("kind", sorted(KINDS.values(), key=lambda kind: kind.name), ids=lambda kind: kind.name)
def test_the_example_of_each_kind_is_accepted(ann: Caller, cluster: Cluster, kind: object) -> None:
    text = ann.get(f"/kinds/{kind.name}.{kind.group}/example").content  # type: ignore[attr-defined] # a Kind
    response = ann.post("/apply?dryRun=true", text)
    refused_for_a_reason = {error["code"] for error in response.json().get("errors", [])}
    # Examples may name things that only the reader has, and some kinds are the platform's to write.
    assert (
        response.status_code == 200
        or refused_for_a_reason <= {"reference_not_found", "not_found"}
        or (response.status_code == 403)
    ), response.content


def test_a_secret_value_is_in_no_answer(ann: Caller) -> None:
    answers = [
        ann.apply(secret(value="canary-value")),
        ann.apply(secret(value="canary-other"), query="?dryRun=true"),
        ann.get("/secrets/pass_word"),
        ann.get("/secrets"),
        ann.apply({**secret(value="canary-x"), "spec": {"config": {"value": "canary-y", "canaries": 1}}}),
        ann.apply({**secret(), "spec": {"config": {"value": ["canary-z"]}}}),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 422, 422]
    assert not any(b"canary-" in answer.content for answer in answers)
