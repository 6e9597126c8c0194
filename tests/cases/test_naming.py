"""Cases of naming and validation: what a manifest may be called and say, and what its children are called."""

import re
from typing import Any

import pytest

from smarter.apps.resources.models import Resource
from smarter.core import naming
from smarter.core.objects import KubernetesObject
from smarter.models.sam.llm_host import SAMLLMHost
from tests.cases.conftest import Desk
from tests.llm_hosts import KIND, facts, host, objects, one

DNS_LABEL_1035 = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")
LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
PUBLIC = {"network.ingress": True}


def names_in(found: list[KubernetesObject]) -> set[str]:
    """Of the objects and of everything that they refer to by name."""
    names = {body["metadata"]["name"] for body in found}
    for body in found:
        names |= {entry["secretName"] for entry in body.get("spec", {}).get("tls", ())}
    return names | {one(found, "Certificate")["spec"]["secretName"]}


def named(name: str, uid: str) -> list[KubernetesObject]:
    manifest: SAMLLMHost = host(PUBLIC, name=name)
    return KIND.render(manifest, facts(manifest, uid=uid))


@pytest.mark.django_db
def test_c02_name_in_the_50_to_63_range(desk: Desk) -> None:
    name = "a" * 55
    errors = desk.refuse(PUBLIC, name=name)
    assert set(errors) == {"metadata.name"}
    assert "50" in errors["metadata.name"]
    assert desk.apply(PUBLIC, name="a" * 50).status == 200


@pytest.mark.parametrize("length", range(1, 51))
def test_c02_every_child_of_every_length_has_a_good_name(length: int) -> None:
    for name in ("a" * length, ("7b_" * 20)[:length].rstrip("_"), ("x_" * 30)[:length].rstrip("_") or "x"):
        found = named(name, "0d6cfb0c-6f6e-4a43-8f5f-2f1b8f2f4c11")
        for child in names_in(found):
            assert DNS_LABEL_1035.fullmatch(child), child
        hostname = one(found, "Ingress")["spec"]["rules"][0]["host"]
        assert all(len(label) <= 63 for label in hostname.split("."))
        assert names_in(found) == names_in(named(name, "0d6cfb0c-6f6e-4a43-8f5f-2f1b8f2f4c11"))
        assert names_in(found).isdisjoint(names_in(named(name, "1d6cfb0c-6f6e-4a43-8f5f-2f1b8f2f4c11")))


@pytest.mark.parametrize("length", range(1, 64))
def test_c02_suffixes_of_children_fit(length: int) -> None:
    base = naming.object_name("lh", "a" * length, "an account", "a resource")
    for suffix in ("", "-tls", "-fetch", "-weights", "-service"):
        assert DNS_LABEL_1035.fullmatch(base + suffix)


@pytest.mark.django_db
def test_c03_name_that_begins_with_a_digit(desk: Desk) -> None:
    desk.run(name="7b_qwen")
    for kind in ("Service", "Deployment", "PersistentVolumeClaim", "Secret"):
        assert DNS_LABEL_1035.fullmatch(desk.live(kind, "7b_qwen")["metadata"]["name"])
    assert "7b_qwen" in desk.refuse({}, name="7b-qwen")["metadata.name"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "suggested"), [("mistral_7b_v0.1", "mistral_7b_v0_1"), ("a..b", "a_b"), (".a", "a"), ("a.", "a")]
)
def test_c04_dots_in_a_name(desk: Desk, name: str, suggested: str) -> None:
    errors = desk.refuse(PUBLIC, name=name)
    assert set(errors) == {"metadata.name"}
    assert f"'{suggested}'" in errors["metadata.name"]
    assert desk.apply(PUBLIC, name=suggested).status == 200
    hostname = one(objects(host(PUBLIC, name=suggested)), "Ingress")["spec"]["rules"][0]["host"]
    label, rest = hostname.split(".", 1)
    assert (label, rest.split(".")[0]) == (suggested.replace("_", "-"), "llmhost")


@pytest.mark.django_db
def test_c06_bad_name_leaves_everybody_else_alone(desk: Desk, other: Desk) -> None:
    errors = desk.refuse({}, name="ibm-granite/granite-3b-code-instruct-accelerator")
    assert set(errors) == {"metadata.name"}
    other.run()
    assert other.status()["healthy"] is True


@pytest.mark.django_db
def test_c06_stored_row_with_a_bad_name_stops_nobody(desk: Desk, other: Desk) -> None:
    """As an older release, or a hand in the database, might have left it."""
    desk.apply(deploy=True)
    Resource.for_account(desk.world.actor.account).filter(name="case_host").update(name="ibm-granite/granite-3b")
    other.run()
    assert other.status()["hostStatus"] == "active"


def labels_in(value: Any) -> dict[str, str]:
    """Every label of every object, template and selector."""
    found: dict[str, str] = {}
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("labels", "matchLabels", "selector") and all(isinstance(one, str) for one in inner.values()):
                found |= inner
            found |= labels_in(inner)
    elif isinstance(value, list):
        for inner in value:
            found |= labels_in(inner)
    return found


@pytest.mark.django_db
def test_c06_slash_in_the_served_name_and_no_repository_in_a_label(desk: Desk) -> None:
    changes = {"model.servedName": "ibm-granite/granite-3b", "model.repository": "ibm-granite/granite-3b", **PUBLIC}
    answer = desk.apply(changes)
    assert (answer.status, answer.errors) == (200, {})
    labels = labels_in(objects(host(changes)))
    assert labels
    assert all(LABEL_VALUE.fullmatch(value) for value in labels.values()), labels


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("toleration", "field"),
    [
        ({"key": "pool", "operator": "Exists", "value": "gpu", "effect": "NoSchedule"}, ".value"),
        ({"kye": "pool"}, ""),
        ({"key": "pool", "effect": "noSchedule"}, ".effect"),
        ({"key": "pool", "effect": "NoExecute", "tolerationSeconds": "60"}, ".tolerationSeconds"),
        ({"key": "pool", "operator": "exists"}, ".operator"),
        ({"key": 7}, ".key"),
        ({"key": "pool", "value": True}, ".value"),
    ],
)
def test_c07_toleration_that_kubernetes_would_refuse(desk: Desk, toleration: dict[str, Any], field: str) -> None:
    good = {"key": "fine", "operator": "Exists"}
    errors = desk.refuse({"resources.tolerations": [good, toleration]})
    assert f"spec.resources.tolerations[1]{field}" in errors
    assert not any("tolerations[0]" in path for path in errors)


@pytest.mark.django_db
def test_c07_null_tolerations_are_none(desk: Desk) -> None:
    document = {"resources": {"cpu": "4", "memory": "24Gi", "gpuCount": 1, "tolerations": None}}
    answer = desk.apply(base={"model": {"repository": "Qwen/Qwen3-8B"}, "engine": {"name": "vllm"}, **document})
    assert (answer.status, answer.errors) == (200, {})


QUANTITIES = [
    ("resources.memory", "24GB"),
    ("resources.memory", "24gi"),
    ("resources.memory", "24 Gi"),
    ("resources.shmSize", "8GiB"),
    ("storage.size", "50 Gi"),
    ("storage.size", "50g"),
    ("resources.cpu", "4 cores"),
    ("resources.cpu", "4,5"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "text"), QUANTITIES)
def test_c08_quantity_with_a_bad_unit(desk: Desk, path: str, text: str) -> None:
    errors = desk.refuse({path: text})
    assert set(errors) == {f"spec.{path}"}
    assert re.search(r"\b\d+(?:Gi|m)\b", errors[f"spec.{path}"]), "the message shows a good one"


@pytest.mark.django_db
def test_c08_quantities_that_are_good(desk: Desk) -> None:
    for index, (path, text) in enumerate(
        [("resources.cpu", "3500m"), ("resources.memory", "24Gi"), ("resources.memory", "25G"), ("storage.size", "50G")]
    ):
        assert desk.apply({path: text}, name=f"good_{index}").status == 200, text


@pytest.mark.django_db
def test_c08_shared_memory_larger_than_the_memory(desk: Desk) -> None:
    errors = desk.refuse({"resources.memory": "24Gi", "resources.shmSize": "64Gi"})
    assert "shared memory" in errors["spec.resources.memory"]
