"""What an apply changes."""

from smarter.apps.resources.claims import path_of_value
from smarter.apps.resources.diff import MASK, field_changes, masked, object_changes


def body(kind: str, name: str, **spec: object) -> dict:
    version = {"Deployment": "apps/v1"}.get(kind, "v1")
    return {"apiVersion": version, "kind": kind, "metadata": {"namespace": "n", "name": name}, "spec": spec}


def test_fields() -> None:
    before = {"spec": {"a": 1, "b": {"c": [1, 2]}, "gone": True, "same": "x"}}
    after = {"spec": {"a": 1.0, "b": {"c": [1, 3, 4]}, "same": "x", "nothing": None}}
    told = [(change.path, change.before, change.after) for change in field_changes(before, after)]
    assert told == [
        ("spec.a", 1, 1.0),
        ("spec.b.c[1]", 2, 3),
        ("spec.b.c[2]", None, 4),
        ("spec.gone", True, None),
    ]


def test_secret_fields_are_masked_at_and_below_their_path() -> None:
    secret = ("spec.config.value", "spec.keys")
    before = {"spec": {"config": {"value": "canary1"}}}
    after = {"spec": {"config": {"value": "canary2"}, "keys": ["canary3"], "keyset": "shown"}}
    told = {change.path: (change.before, change.after) for change in field_changes(before, after, secret)}
    assert told == {
        "spec.config.value": (MASK, MASK),
        "spec.keys[0]": (None, MASK),
        "spec.keyset": (None, "shown"),
    }


def test_objects_and_restarts() -> None:
    before = [
        body("Deployment", "scaled", replicas=1, template={"a": 1}),
        body("Deployment", "rolled", template={"a": 1}),
        body("Service", "gone"),
        body("Service", "same"),
    ]
    after = [
        body("Deployment", "scaled", replicas=2, template={"a": 1}),
        body("Deployment", "rolled", template={"a": 2}),
        body("Service", "same"),
        body("Service", "new"),
    ]
    changes = object_changes(before, after)
    assert [ref.name for ref in changes.created] == ["new"]
    assert [ref.name for ref in changes.changed] == ["scaled", "rolled"]
    assert [ref.name for ref in changes.deleted] == ["gone"]
    assert [ref.name for ref in changes.restarts] == ["rolled"]


def test_data_of_secrets_is_masked() -> None:
    secret = {**body("Secret", "s"), "data": {"api-key": "Y2FuYXJ5"}, "stringData": {"x": "canary"}}
    assert masked(secret)["data"] == {"api-key": MASK}
    assert masked(secret)["stringData"] == {"x": MASK}
    assert secret["data"] == {"api-key": "Y2FuYXJ5"}
    config = {**body("ConfigMap", "c"), "data": {"a": "b"}}
    assert masked(config) == config


def test_the_place_of_a_value() -> None:
    spec = {"network": {"hosts": ["x", "A.example.com"]}}
    assert path_of_value(spec, "a.example.com") == "spec.network.hosts[1]"
    assert path_of_value(spec, "b.example.com") is None
