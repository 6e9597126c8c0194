"""Reading, deleting, deploying and undeploying over HTTP."""

import json

import pytest
import yaml

from smarter.apps.accounts.services import SCOPES, ensure_platform
from smarter.apps.clusters.models import Cluster
from smarter.apps.resources.models import Resource, ResourceState
from tests.api.conftest import Caller, Problem, caller
from tests.db.resources.toys import gadget, secret

pytestmark = pytest.mark.django_db


def test_one_manifest(ann: Caller) -> None:
    result = ann.apply(gadget(size=2)).json()["results"][0]
    response = ann.get("/gadgets/lamp")
    assert response.status_code == 200
    manifest = response.json()
    assert list(manifest) == ["apiVersion", "kind", "metadata", "spec", "status"]
    assert (manifest["metadata"], manifest["spec"]) == ({"name": "lamp"}, {"size": 2})
    assert manifest["status"]["accountNumber"] == ann.account.number
    assert manifest["status"]["recordLocator"] == f"gadget/{result['uid']}"
    assert response["ETag"] == f'"{result["resourceVersion"]}"'
    assert (response["Smarter-Uid"], response["Smarter-Generation"]) == (result["uid"], "1")
    assert response["Cache-Control"] == "no-store"


def test_yaml_and_json_say_the_same(ann: Caller) -> None:
    ann.apply(gadget(size=2))
    for media_type in ("application/yaml", "application/x-yaml", "text/yaml"):
        response = ann.get("/gadgets/lamp", Accept=media_type)
        assert response["Content-Type"].startswith(media_type)
        assert yaml.safe_load(response.content)["spec"] == {"size": 2}


def test_a_list_has_items_total_and_columns(ann: Caller) -> None:
    ann.apply(*[gadget(name) for name in ("a", "b", "c")])
    page = ann.get("/gadgets?limit=2&offset=1&sort=-name").json()
    assert [item["metadata"]["name"] for item in page["items"]] == ["b", "a"]
    assert (page["total"], page["limit"], page["offset"]) == (3, 2, 1)
    assert page["columns"] == [{"title": "NAME", "path": "metadata.name"}, {"title": "SIZE", "path": "spec.size"}]
    assert ann.get("/gadgets?name=c").json()["total"] == 1


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=501", "limit=x", "limit=1e2", "limit=%C2%B2", "offset=-1", "sort=owner", "name=%00"]
)
def test_strange_parameters(ann: Caller, problem: Problem, query: str) -> None:
    assert problem(ann.get(f"/gadgets?{query}"))["status"] == 400


@pytest.mark.parametrize("plural", ["gadgets", "GADGETS", "gadgets.toys.example.io"])
def test_spellings_of_a_kind(ann: Caller, plural: str) -> None:
    assert ann.get(f"/{plural}").status_code == 200


def test_unknown_kinds_are_told_with_a_suggestion(ann: Caller, problem: Problem) -> None:
    document = problem(ann.get("/gadgetz"))
    assert (document["status"], document["code"]) == (404, "unknown_kind")
    assert "gadgets" in document["detail"]
    assert problem(ann.get("/gadgets.other.io/lamp"))["status"] == 404


@pytest.mark.parametrize("name", ["nothing", "a%00b", "a%0Ab", "%F0%9F%98%80", "x" * 3000, "..", "a'b", "%25"])
def test_what_is_not_there(ann: Caller, problem: Problem, name: str) -> None:
    for method, action in (("GET", ""), ("DELETE", ""), ("POST", "/deploy"), ("POST", "/undeploy"), ("GET", "/logs"),
                           ("GET", "/events"), ("GET", "/objects"), ("GET", "/plan")):  # fmt: skip
        assert problem(ann.call(method, f"/gadgets/{name}{action}"))["status"] == 404


def test_deploy_undeploy_delete(ann: Caller, cluster: Cluster, problem: Problem) -> None:
    ann.apply(gadget())
    deployed = ann.post("/gadgets/lamp/deploy")
    assert (deployed.status_code, deployed["Smarter-Generation"]) == (200, "2")
    assert Resource.for_account(ann.account).get().deployed
    ResourceState.objects.update(touched=True)
    undeployed = ann.post("/gadgets/lamp/undeploy")
    assert (undeployed.status_code, undeployed["Smarter-Generation"]) == (200, "3")
    assert problem(ann.delete("/gadgets/lamp", If_Match=deployed["ETag"]))["status"] == 412
    going = ann.delete("/gadgets/lamp", If_Match=undeployed["ETag"])
    assert (going.status_code, going.json()["state"]) == (202, "deleting")
    assert problem(ann.apply(gadget()))["code"] == "deleting"
    assert problem(ann.post("/gadgets/lamp/deploy"))["code"] == "deleting"
    assert ann.get("/gadgets/lamp").status_code == 200


def test_delete_at_once(ann: Caller, problem: Problem) -> None:
    ann.apply(secret(), gadget(password="pass_word"))
    assert "Gadget 'lamp'" in problem(ann.delete("/secrets/pass_word"))["detail"]
    gone = ann.delete("/gadgets/lamp")
    assert (gone.status_code, gone.json()) == (200, {"kind": "Gadget", "name": "lamp", "state": "deleted"})
    assert ann.delete("/secrets/pass_word").status_code == 200
    assert problem(ann.get("/gadgets/lamp"))["status"] == 404


def test_events_stay(ann: Caller) -> None:
    ann.apply(gadget())
    ann.delete("/gadgets/lamp")
    items = ann.get("/gadgets/lamp/events").json()["items"]
    assert [item["reason"] for item in items] == ["Deleted", "Created"]
    assert ann.get("/gadgets/lamp/events?limit=1").json()["items"] == items[:1]


def test_what_cannot_be_deployed(ann: Caller, problem: Problem) -> None:
    ann.apply(secret())
    assert problem(ann.post("/secrets/pass_word/deploy"))["code"] == "not_deployable"


def test_what_is_in_a_name_is_not_run(ann: Caller) -> None:
    hostile = "<script>alert(1)</script>"
    ann.apply({**gadget(), "metadata": {"name": "lamp", "description": hostile}})
    response = ann.get("/gadgets/lamp")
    assert response["Content-Type"] == "application/json"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert json.loads(response.content)["metadata"]["description"] == hostile


def test_force_is_for_platform_administrators_and_says_what_may_remain(
    ann: Caller, cluster: Cluster, problem: Problem
) -> None:
    """C59."""
    ann.apply(gadget(), query="?deploy=true")
    remains = {"Deployment smarter-1/gadget-lamp": "u1/1"}
    ResourceState.objects.update(touched=True, fingerprint=remains)
    assert problem(ann.delete("/gadgets/lamp?force=true"))["status"] == 403
    assert problem(ann.delete("/gadgets/lamp?force=maybe"))["status"] == 400
    platform, admin = ensure_platform()
    operator = caller(platform, admin, scopes=SCOPES)
    there = {"X-Smarter-Account": ann.account.number}
    assert problem(operator.delete("/gadgets/lamp2?force=true", **there))["status"] == 404
    gone = operator.delete("/gadgets/lamp?force=true", **there)
    assert (gone.status_code, gone.json()["state"], gone.json()["remains"]) == (200, "deleted", list(remains))
    assert cluster.name in gone.json()["message"]
    assert problem(ann.get("/gadgets/lamp"))["status"] == 404
