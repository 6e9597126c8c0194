"""More than five thousand manifests that the rules accept, of every engine and source: what is rendered is valid, keeps
to the restricted profile, holds no secret value and no text of the user where none may be, and is the same twice."""

import base64
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from scripts.engine_docs.samples import fields
from smarter.core.objects import KubernetesObject
from smarter.engines import ENGINES
from smarter.sources import SOURCES
from tests.kubernetes_schemas import VERSIONS, schema_faults
from tests.llm_hosts import KIND
from tests.restricted import faults
from tests.unit.render.any_manifest import (
    CANARY,
    FIELDS,
    PAIRS,
    Drawn,
    facts_of,
    manifest_of,
    manifests,
    needed,
    refused,
)

WANTED = 5_000
EACH = -(-WANTED // len(PAIRS))
SEED = 4
DNS_LABEL = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
VALUE = re.compile(r"value-of-\w+:0123456789")
# Of other projects; their schemas are not Kubernetes'. The Certificate has a test of its own.
FOREIGN = {"Certificate"}
# What an engine's waiver waives. The fetch has none.
WAIVED = {"tgi": {"pod.runAsUser", "engine.runAsNonRoot", "engine.runAsUser"}}


def test_there_are_enough() -> None:
    assert len(PAIRS) * EACH >= WANTED
    assert {engine for engine, _ in PAIRS} == set(ENGINES)
    assert {source for _, source in PAIRS} == set(SOURCES)
    assert set(FIELDS) | {"engine.name", "model.source", "model.repository"} == set(fields())


@pytest.mark.parametrize(("engine", "source"), PAIRS, ids=map("/".join, PAIRS))
def test_objects(engine: str, source: str) -> None:
    seen: set[str] = set()
    index = -1
    for index, drawn in enumerate(islice(manifests(engine, source, SEED), EACH)):
        seen |= drawn.fields
        bodies = KIND.render(drawn.manifest, drawn.facts)
        assert json.dumps(bodies) == json.dumps(KIND.render(drawn.manifest, drawn.facts))
        away = KIND.render(drawn.manifest, replace(drawn.facts, deployed=False))
        assert len(away) <= 1
        version = VERSIONS[index % len(VERSIONS)]
        assert_all(bodies, drawn, engine, version)
        for body in away:
            assert_valid(body, version)
            assert_names(body)
    assert index + 1 == EACH
    assert_the_rest_is_refused(engine, source, set(FIELDS) - seen)


def assert_all(bodies: list[KubernetesObject], drawn: Drawn, engine: str, version: str = VERSIONS[-1]) -> None:
    for body in bodies:
        assert_valid(body, version)
        assert_names(body)
        assert_no_value(body, drawn)
    for template in templates(bodies):
        assert_restricted(template["spec"], engine)
        assert_no_expansion(template["spec"])
    assert_whole(bodies)


def assert_the_rest_is_refused(engine: str, source: str, unseen: set[str]) -> None:
    """A field that came up in no manifest is one that this pair does not take, whatever its value."""
    rng = random.Random(SEED)
    for path in unseen:
        for _ in range(12):
            manifest = manifest_of({**needed(engine, source), path: FIELDS[path](rng)})
            assert refused(manifest, facts_of(manifest)), f"{path} never came up, and is taken"


def assert_valid(body: KubernetesObject, version: str) -> None:
    if body["kind"] not in FOREIGN:
        assert schema_faults(body, version) == []


def assert_names(body: KubernetesObject) -> None:
    metadata = body["metadata"]
    assert DNS_LABEL.fullmatch(metadata["name"]), metadata["name"]
    found = [metadata] + [template["metadata"] for template in templates([body])]
    for one in found:
        assert CANARY not in json.dumps([one.get("annotations"), one.get("labels")]).lower()
        for value in one.get("labels", {}).values():
            assert LABEL_VALUE.fullmatch(value), value


def assert_no_value(body: KubernetesObject, drawn: Drawn) -> None:
    """Neither as it is nor in base64, but in the data of a Secret."""
    shown = {**body, "data": None, "stringData": None} if body["kind"] == "Secret" else body
    text = json.dumps(shown)
    assert not VALUE.search(text)
    for fact in drawn.facts.secrets.values():
        assert base64.b64encode(fact.value.get_secret_value().encode()).decode() not in text


def assert_restricted(spec: dict[str, Any], engine: str) -> None:
    waived = WAIVED.get(engine, set()) if spec["containers"][0]["name"] == "engine" else set()
    assert set(faults(spec)) - waived == set()


def test_waivers_are_those_that_engines_ask_for() -> None:
    assert {name for name, engine in ENGINES.items() if engine.user.waiver} == set(WAIVED)


def assert_no_expansion(spec: dict[str, Any]) -> None:
    for container in containers(spec):
        texts = [*container.get("command", []), *container.get("args", [])]
        texts += [entry["value"] for entry in container["env"] if "value" in entry]
        for text in texts:
            assert not re.search(r"\$\(", text.replace("$$", ""))


def assert_whole(bodies: list[KubernetesObject]) -> None:
    """What objects say of one another is there: volumes, keys of secrets, claims, ports, pods of the Service."""
    by_kind = {body["kind"]: body for body in bodies}
    keys = set(by_kind["Secret"]["data"]) if "Secret" in by_kind else set()
    for template in templates(bodies):
        volumes = {volume["name"] for volume in template["spec"]["volumes"]}
        for container in containers(template["spec"]):
            names = [entry["name"] for entry in container["env"]]
            assert len(names) == len(set(names)), names
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
            wanted = {entry["valueFrom"]["secretKeyRef"]["key"] for entry in container["env"] if "valueFrom" in entry}
            assert wanted <= keys
    deployment, service = by_kind["Deployment"]["spec"], by_kind["Service"]["spec"]
    assert service["selector"].items() <= deployment["template"]["metadata"]["labels"].items()
    ports = {port["name"] for port in deployment["template"]["spec"]["containers"][0]["ports"]}
    assert {port["targetPort"] for port in service["ports"]} <= ports


def _put(path: tuple[Any, ...], value: Any) -> Callable[[KubernetesObject], None]:
    def change(body: KubernetesObject) -> None:
        target = body
        for part in path[:-1]:
            target = target[part]
        target[path[-1]] = value

    return change


POD = ("spec", "template", "spec")
ENGINE = (*POD, "containers", 0)


@pytest.mark.parametrize(
    "change",
    [
        _put(("metadata", "annotations"), {"note": "a canary"}),
        _put(("metadata", "labels", "canary.example.com"), "x"),
        _put((*POD[:2], "metadata", "labels", "x"), "Canary"),
        _put(("metadata", "name"), "a_b"),
        _put(("metadata", "name"), "a" * 64),
        _put((*ENGINE, "env", 0), {"name": "A", "value": "value-of-hub_token:0123456789"}),
        _put((*ENGINE, "args", 0), base64.b64encode(b"value-of-hub_token:0123456789").decode()),
        _put((*ENGINE, "args", 0), "$(HF_TOKEN)"),
        _put((*ENGINE, "securityContext"), {}),
        _put((*ENGINE, "volumeMounts", 0, "name"), "nowhere"),
        _put((*ENGINE, "env", 0), {"name": "HOME", "value": "x"}),
        _put((*ENGINE, "env", 0), {"name": "K", "valueFrom": {"secretKeyRef": {"name": "s", "key": "none"}}}),
        _put((*ENGINE, "ports", 0, "name"), "other"),
        _put((*ENGINE, "imagePolicy"), "Always"),
        _put((*POD[:2], "metadata", "labels"), {}),
    ],
)
def test_the_checks_bite(change: Callable[[KubernetesObject], None]) -> None:
    manifest = manifest_of({**needed("vllm", "huggingface"), "model.tokenSecret": "hub_token"})
    drawn = Drawn(manifest, facts_of(manifest), frozenset())
    bodies = KIND.render(drawn.manifest, drawn.facts)
    assert_all(bodies, drawn, "vllm")
    change(next(body for body in bodies if body["kind"] == "Deployment"))
    with pytest.raises(AssertionError):
        assert_all(bodies, drawn, "vllm")


def templates(bodies: list[KubernetesObject]) -> Iterator[dict[str, Any]]:
    for body in bodies:
        if body["kind"] in ("Deployment", "Job"):
            yield body["spec"]["template"]


def containers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [*spec["containers"], *spec.get("initContainers", ())]
