"""Desired and live objects to a plan: what is created, changed, deleted, and what is left alone."""

import copy

import pytest

from smarter.core.objects import DESIRED_HASH_ANNOTATION, GENERATION_ANNOTATION, OWNER_UID_LABEL
from smarter.core.plan import desired_hash, first_drift, plan, stamped

LABELS = {OWNER_UID_LABEL: "u1"}


def config_map(name: str, **data: str) -> dict:
    metadata = {"name": name, "namespace": "n", "labels": dict(LABELS)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def claim(name: str, size: str = "50Gi") -> dict:
    metadata = {"name": name, "namespace": "n", "labels": dict(LABELS)}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def as_live(body: dict, generation: int = 1) -> dict:
    live = stamped(body, generation)
    live["metadata"] |= {"uid": f"uid-{body['metadata']['name']}", "resourceVersion": "7"}
    return live


def summary(result) -> list[tuple[str, str]]:
    return [(change.action, change.ref.name) for change in result.changes]


def test_what_is_missing_is_created_in_order() -> None:
    result = plan([config_map("b"), config_map("a")], [], generation=3)
    assert summary(result) == [("create", "b"), ("create", "a")]
    annotations = result.changes[0].body["metadata"]["annotations"]
    assert annotations[GENERATION_ANNOTATION] == "3"
    assert annotations[DESIRED_HASH_ANNOTATION] == desired_hash(config_map("b"))


def test_what_holds_is_left_alone_even_for_a_newer_generation() -> None:
    result = plan([config_map("a", key="v")], [as_live(config_map("a", key="v"))], generation=9)
    assert result.empty
    assert result.unchanged == 1


def test_a_new_desired_state_is_an_update() -> None:
    result = plan([config_map("a", key="new")], [as_live(config_map("a", key="old"))], generation=2)
    assert [(change.action, change.reason) for change in result.changes] == [("update", "changed")]


def test_drift_by_hand_is_reverted_and_named() -> None:
    live = as_live(config_map("a", key="v"))
    live["data"]["key"] = "edited"
    result = plan([config_map("a", key="v")], [live], generation=1)
    assert [(change.action, change.reason) for change in result.changes] == [("update", "drifted at data.key")]


def test_fields_of_others_are_not_drift() -> None:
    live = as_live(config_map("a", key="v"))
    live["data"]["theirs"] = "1"
    live["metadata"]["annotations"]["other.example/x"] = "y"
    live["status"] = {"phase": "Bound"}
    assert plan([config_map("a", key="v")], [live], generation=1).empty


def test_surplus_is_deleted_in_reverse_order_with_its_uid() -> None:
    result = plan([], [as_live(config_map("a")), as_live(config_map("b"))], generation=1)
    assert [(change.action, change.ref.name, change.uid) for change in result.changes] == [
        ("delete", "b", "uid-b"),
        ("delete", "a", "uid-a"),
    ]


def test_a_volume_is_deleted_only_when_asked_for() -> None:
    live = [as_live(claim("weights"))]
    kept = plan([], live, generation=1)
    assert kept.empty
    assert [ref.name for ref in kept.kept_volumes] == ["weights"]
    assert summary(plan([], live, generation=1, delete_volumes=True)) == [("delete", "weights")]


def test_an_object_that_is_going_is_neither_deleted_again_nor_replaced_yet() -> None:
    leaving = as_live(config_map("a"))
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert plan([config_map("a")], [leaving], generation=1).empty
    assert plan([], [leaving], generation=1).empty


@pytest.mark.parametrize(
    ("desired", "live"),
    [
        ({"cpu": "4000m"}, {"cpu": "4"}),
        ({"memory": "1024Mi"}, {"memory": "1Gi"}),
        ({"cpu": 4}, {"cpu": "4"}),
        ({"readOnly": False}, {}),
        ({"list": []}, {}),
        ({"map": {}}, {}),
        ({"replicas": 0}, {}),
        ({"c": [{"name": "engine", "x": 1}]}, {"c": [{"name": "proxy"}, {"name": "engine", "x": 1, "y": 2}]}),
    ],
)
def test_what_the_server_writes_another_way_is_the_same(desired: dict, live: dict) -> None:
    assert first_drift(desired, live) is None


@pytest.mark.parametrize(
    ("desired", "live", "path"),
    [
        ({"cpu": "4"}, {"cpu": "5"}, "cpu"),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "a.b[1]"),
        ({"a": [1]}, {"a": [1, 2]}, "a"),
        ({"a": {"b": 1}}, {"a": "text"}, "a"),
        ({"a": {"b": "x"}}, {}, "a"),
        ({"a": True}, {"a": "true"}, "a"),
        ({"a": "1"}, {"a": True}, "a"),
        ({"c": [{"name": "a"}]}, {"c": [{"name": "b"}]}, "c[0]"),
        ({"c": [{"name": "a", "x": 1}]}, {"c": [{"name": "b"}, {"name": "a", "x": 2}]}, "c[0].x"),
    ],
)
def test_drift_is_found_where_it_is(desired: dict, live: dict, path: str) -> None:
    assert first_drift(desired, live) == path


def test_planning_changes_neither_input() -> None:
    desired, live = [config_map("a", key="v")], [as_live(config_map("a", key="w"))]
    before = copy.deepcopy((desired, live))
    plan(desired, live, generation=1)
    assert (desired, live) == before


def deployment(after: str | None = None, replicas: int = 1) -> dict:
    annotations = {"smarter.sh/after": after} if after else {}
    metadata = {"name": "d", "namespace": "n", "annotations": annotations}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"replicas": replicas}}


def job(name: str, *, complete: bool | None = None) -> dict:
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "n"}, "spec": {}}
    if complete is not None:
        condition = {"type": "Complete", "status": "True"} if complete else {"type": "Failed", "status": "True"}
        body["status"] = {"conditions": [condition]}
    return body


@pytest.mark.parametrize("live_job", [[], [job("j")], [job("j", complete=False)], [job("other", complete=True)]])
def test_an_object_waits_for_its_job(live_job: list[dict]) -> None:
    live = [as_live(body) for body in live_job]
    found = plan([job("j"), deployment("j", 2)], [*live, as_live(deployment("i", 1))], generation=2)
    assert "Deployment" not in [change.ref.kind.kind for change in found.changes]
    assert [(change.action, change.ref.name) for change in found.held] == [("update", "d")]


def test_an_object_follows_its_job() -> None:
    done = {**as_live(job("j")), "status": job("j", complete=True)["status"]}
    found = plan([job("j"), deployment("j")], [done], generation=1)
    assert [(change.action, change.ref.kind.kind) for change in found.changes] == [("create", "Deployment")]
    assert found.held == ()


def test_what_holds_does_not_wait() -> None:
    found = plan([deployment("j")], [as_live(deployment("j"))], generation=1)
    assert (found.changes, found.held, found.unchanged) == ((), (), 1)


@pytest.mark.parametrize(
    ("numbers", "steps"),
    [
        (None, ["drifted at spec.strategy.type"]),
        ({"maxSurge": 1, "maxUnavailable": 0}, ["drifted at spec.strategy.type"]),
        (
            {"maxSurge": "25%", "maxUnavailable": "25%"},
            ["takes over the numbers of its strategy", "drifted at spec.strategy.type"],
        ),
    ],
    ids=["none", "our own", "of others"],
)
def test_numbers_of_others_are_taken_over_before_pods_are_recreated(numbers: object, steps: list[str]) -> None:
    """Kubernetes refuses `Recreate` beside numbers, and an apply lets go of its own ones only."""
    metadata = {"name": "a", "namespace": "n"}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"strategy": {"type": "Recreate"}},
    }
    live = stamped(body, 1)
    live["spec"] = {"strategy": {"type": "RollingUpdate", **({"rollingUpdate": numbers} if numbers else {})}}
    found = plan([body], [live], generation=2).changes
    assert [change.reason for change in found] == steps
    assert found[-1].body is not None
    assert found[-1].body["spec"]["strategy"] == {"type": "Recreate"}
