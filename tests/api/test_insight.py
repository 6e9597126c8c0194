"""Logs, events, objects and plan, with a cluster that the test scripts."""

from typing import Any

import pytest

from smarter.apps.clusters.models import Cluster as ClusterRow
from smarter.apps.resources import live
from smarter.apps.resources.models import Reference, Resource, ResourceState
from smarter.cluster.port import ClusterInfo
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.objects import (
    OWNER_UID_LABEL,
    SECRET,
    KubernetesObject,
    ObjectKind,
    ObjectRef,
    kind_of,
)
from smarter.core.plan import stamped
from tests.api.conftest import Caller, Problem
from tests.db.resources.toys import gadget, secret

pytestmark = pytest.mark.django_db


class FakeCluster:
    """Holds objects by namespace; `fault` is raised by every call."""

    def __init__(self) -> None:
        self.objects: list[KubernetesObject] = []
        self.fault: Exception | None = None
        self.asked: list[tuple[Any, ...]] = []

    def _answer(self) -> None:
        if self.fault:
            raise self.fault

    def list(
        self, kind: ObjectKind, *, label_selector: str = "", namespace: str | None = None
    ) -> list[KubernetesObject]:
        self._answer()
        key, _, value = label_selector.partition("=")
        return [
            body
            for body in self.objects
            if kind_of(body) == kind
            and body["metadata"]["namespace"] == namespace
            and body["metadata"]["labels"].get(key) == value
        ]

    def logs(self, namespace: str, pod: str, *, container: str, tail_lines: int = 200, previous: bool = False) -> str:
        self._answer()
        self.asked.append((namespace, pod, container, tail_lines, previous))
        return f"line of {pod}/{container}\n"

    def apply(self, body: KubernetesObject, *, force: bool = True, dry_run: bool = False) -> KubernetesObject:
        raise AssertionError("reading writes nothing")

    def get(self, ref: ObjectRef) -> KubernetesObject | None:
        raise AssertionError("not needed here")

    def delete(self, ref: ObjectRef, *, uid: str | None = None) -> bool:
        raise AssertionError("reading deletes nothing")

    def info(self) -> ClusterInfo:
        raise AssertionError("not needed here")

    def close(self) -> None: ...


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, cluster: ClusterRow) -> FakeCluster:
    made = FakeCluster()
    monkeypatch.setattr(live, "client_for", lambda row: made)
    return made


@pytest.fixture
def row(ann: Caller, fake: FakeCluster) -> Resource:
    ann.apply(gadget(size=1), query="?deploy=true")
    ResourceState.objects.update(touched=True)
    return Resource.for_account(ann.account).get()


def pod(row: Resource, name: str, phase: str = "Running", created: str = "2026-01-01T00:00:00Z") -> KubernetesObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": f"smarter-{row.account.number}",
            "labels": {OWNER_UID_LABEL: str(row.uid)},
            "creationTimestamp": created,
        },
        "spec": {"containers": [{"name": "server"}], "initContainers": [{"name": "fetch"}]},
        "status": {"phase": phase},
    }


def test_logs_of_the_most_telling_pod(ann: Caller, row: Resource, fake: FakeCluster) -> None:
    fake.objects = [
        pod(row, "older", created="2026-01-01T00:00:00Z"),
        pod(row, "newer", created="2026-01-02T00:00:00Z"),
        pod(row, "newest", "Pending", created="2026-01-03T00:00:00Z"),
    ]
    answer = ann.get("/gadgets/lamp/logs").json()
    assert (answer["pod"], answer["container"]) == ("newer", "server")
    assert answer["logs"] == "line of newer/server\n"
    assert answer["pods"] == ["older", "newer", "newest"]
    ann.get("/gadgets/lamp/logs?pod=newest&container=fetch&tailLines=7&previous=true")
    assert fake.asked[-1] == (f"smarter-{ann.account.number}", "newest", "fetch", 7, True)


def test_logs_only_of_its_own_pods(
    ann: Caller, ben: Caller, row: Resource, fake: FakeCluster, problem: Problem
) -> None:
    ben.apply(gadget(), query="?deploy=true")
    theirs = pod(Resource.for_account(ben.account).get(), "theirs")
    fake.objects = [theirs, pod(row, "mine")]
    assert problem(ann.get("/gadgets/lamp/logs?pod=theirs"))["status"] == 404
    assert problem(ann.get("/gadgets/lamp/logs?container=../x"))["status"] == 404
    assert [asked[1] for asked in fake.asked] == []


@pytest.mark.parametrize("query", ["tailLines=0", "tailLines=5001", "tailLines=all", "previous=perhaps"])
def test_strange_parameters(ann: Caller, row: Resource, problem: Problem, query: str) -> None:
    assert problem(ann.get(f"/gadgets/lamp/logs?{query}"))["status"] == 400


def test_no_pods_no_logs(ann: Caller, row: Resource, problem: Problem) -> None:
    assert problem(ann.get("/gadgets/lamp/logs"))["code"] == "no_pods"
    ann.apply(gadget("idle"))
    assert problem(ann.get("/gadgets/idle/logs"))["code"] == "no_pods"


def test_a_cluster_that_is_away(ann: Caller, row: Resource, fake: FakeCluster, problem: Problem) -> None:
    fake.fault = TemporaryError("timed out", reason="ClusterUnavailable", delay_seconds=7)
    response = ann.get("/gadgets/lamp/logs")
    assert (problem(response)["status"], response["Retry-After"]) == (503, "7")
    assert problem(ann.get("/gadgets/lamp/plan"))["code"] == "cluster_unavailable"
    objects = ann.get("/gadgets/lamp/objects").json()
    assert objects["cluster"] == {"answered": False, "message": "timed out"}
    assert [body["kind"] for body in objects["rendered"]] == ["Deployment"]
    fake.fault = PermanentError("no rights", reason="Forbidden")
    assert problem(ann.get("/gadgets/lamp/logs"))["code"] == "cluster_refused"
    assert ann.apply(gadget(size=2)).status_code == 200


def test_objects_as_rendered_and_as_live(ann: Caller, row: Resource, fake: FakeCluster) -> None:
    labels = {OWNER_UID_LABEL: str(row.uid)}
    namespace = f"smarter-{ann.account.number}"
    value = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": namespace, "labels": labels},
        "data": {"api-key": "canary"},
    }
    fake.objects = [pod(row, "mine"), value]
    answer = ann.get("/gadgets/lamp/objects")
    assert [body["kind"] for body in answer.json()["live"]] == ["Pod"]
    assert answer.json()["cluster"] == {"answered": True, "message": ""}
    assert b"canary" not in answer.content
    assert kind_of(value) == SECRET


def test_the_plan_is_the_difference_to_the_cluster(ann: Caller, row: Resource, fake: FakeCluster) -> None:
    changes = ann.get("/gadgets/lamp/plan").json()["changes"]
    assert [(one["action"], one["kind"], one["reason"]) for one in changes] == [("create", "Deployment", "missing")]
    rendered = ann.get("/gadgets/lamp/objects").json()["rendered"][0]
    fake.objects = [stamped(rendered, 1)]
    assert ann.get("/gadgets/lamp/plan").json() == {"changes": [], "held": [], "unchanged": 1, "keptVolumes": []}
    fake.objects[0]["spec"]["replicas"] = 9
    assert ann.get("/gadgets/lamp/plan").json()["changes"][0]["reason"] == "drifted at spec.replicas"
    ann.post("/gadgets/lamp/undeploy")
    assert [one["action"] for one in ann.get("/gadgets/lamp/plan").json()["changes"]] == ["delete"]


def test_a_plan_compares_the_real_values_of_secrets(ann: Caller, fake: FakeCluster) -> None:
    ann.apply(secret(), gadget(password="pass_word"), query="?deploy=true")
    row = Resource.for_account(ann.account).get()
    rendered = ann.get("/gadgets/lamp/objects").json()["rendered"][0]
    used = Reference.objects.get(from_resource=row).to_secret
    assert rendered["spec"]["template"]["metadata"]["annotations"]["checksum"] == used.checksum
    fake.objects = [stamped(rendered, 1)]
    assert ann.get("/gadgets/lamp/plan").json()["changes"] == []
    ann.apply(secret(value="another"))
    assert ann.get("/gadgets/lamp/plan").json()["changes"][0]["reason"] == "changed"


def test_objects_of_what_the_platform_shares_are_not_shown(ann: Caller, fake: FakeCluster, problem: Problem) -> None:
    assert ann.get("/shelves/oak").status_code == 200
    for action in ("objects", "plan", "logs"):
        assert problem(ann.get(f"/shelves/oak/{action}"))["status"] == 404
