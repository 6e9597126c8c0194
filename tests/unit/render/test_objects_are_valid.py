"""Every object of every golden case passes the strict schemas of each Kubernetes release that is supported, and the
restricted profile."""

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from smarter.core.objects import ACCOUNT_LABEL, OBJECT_KINDS, OWNER_UID_LABEL, KubernetesObject
from smarter.core.quantities import parse_bytes, parse_cpu_millis
from smarter.kinds import KINDS
from tests.golden.cases import CASES, rendered
from tests.kubernetes_schemas import VERSIONS, schema_faults
from tests.restricted import faults

# No release of Kubernetes has the schemas of other projects.
FOREIGN = {"Certificate"}
LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
DNS_LABEL = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")


@cache
def every_object() -> tuple[KubernetesObject, ...]:
    """Each that differs, once."""
    distinct = {json.dumps(body): body for case in CASES for body in rendered(case).objects}
    return tuple(distinct.values())


def pods() -> Iterator[dict[str, Any]]:
    for body in every_object():
        if body["kind"] in ("Deployment", "Job"):
            yield body["spec"]["template"]


@pytest.mark.parametrize("version", VERSIONS)
def test_schemas(version: str) -> None:
    seen = {}
    for body in every_object():
        if body["kind"] not in FOREIGN:
            assert schema_faults(body, version) == []
            seen[body["kind"]] = body
    assert set(seen) == {
        "Namespace", "ServiceAccount", "ResourceQuota", "LimitRange", "NetworkPolicy", "Secret",
        "PersistentVolumeClaim", "Job", "Deployment", "Service", "Ingress",
    }  # fmt: skip


def test_the_schemas_bite() -> None:
    body = copy.deepcopy(next(body for body in every_object() if body["kind"] == "Deployment"))
    body["spec"]["template"]["spec"]["containers"][0]["imagPullPolicy"] = "Always"
    assert any("imagPullPolicy" in fault for fault in schema_faults(body, VERSIONS[-1]))


def test_restricted_profile() -> None:
    """Whatever a server must be let off is in its record, with the reason."""
    for template in pods():
        waived = template["spec"]["securityContext"]["runAsUser"] == 0
        expected = ["engine.runAsNonRoot", "engine.runAsUser", "pod.runAsUser"] if waived else []
        assert faults(template["spec"]) == expected


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("securityContext", "runAsNonRoot"), False),
        (("securityContext", "seccompProfile"), {}),
        (("containers", 0, "securityContext"), {}),
        (("initContainers", 0, "securityContext", "privileged"), True),
        (("hostNetwork",), True),
        (("volumes",), [{"name": "x", "hostPath": {"path": "/"}}]),
    ],
)
def test_the_profile_bites(path: tuple[Any, ...], value: Any) -> None:
    spec = copy.deepcopy(next(pods())["spec"])
    target = spec
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = value
    assert faults(spec)


def test_names_and_labels() -> None:
    for body in every_object():
        metadata = body["metadata"]
        name = metadata["name"]
        assert len(name) <= 63
        assert DNS_LABEL.fullmatch(name), name
        assert metadata.get("namespace", "smarter-1234-5678-9012") == "smarter-1234-5678-9012"
        for value in metadata["labels"].values():
            assert LABEL_VALUE.fullmatch(value), value
        assert metadata["labels"][ACCOUNT_LABEL] == "1234-5678-9012"


def test_selectors_meet_their_pods() -> None:
    for case in CASES:
        bodies = rendered(case).objects
        templates = [body["spec"]["template"] for body in bodies if body["kind"] == "Deployment"]
        for body in bodies:
            if body["kind"] not in ("Deployment", "Service"):
                continue
            selector = body["spec"]["selector"]
            wanted = selector.get("matchLabels", selector)
            meets = [one for one in templates if wanted.items() <= one["metadata"]["labels"].items()]
            assert len(meets) == 1


def test_quantities_are_as_the_server_would_write_them() -> None:
    for template in pods():
        for container in (*template["spec"]["containers"], *template["spec"].get("initContainers", ())):
            resources = container["resources"]
            assert resources["requests"]["memory"] == resources["limits"]["memory"]
            assert "cpu" not in resources["limits"]
            parse_cpu_millis(resources["requests"]["cpu"])
            parse_bytes(resources["requests"]["memory"])


def test_pods_have_no_rights_and_no_neighbours() -> None:
    for template in pods():
        spec = template["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["enableServiceLinks"] is False
        # The second one is the operator's, who let manifests name it.
        assert spec["serviceAccountName"] in ("smarter-workload", "weights-reader")
        for toleration in spec.get("tolerations", ()):
            assert toleration["key"]
            assert not toleration["key"].startswith(("node-role.kubernetes.io/", "node.kubernetes.io/"))


def test_kinds_say_which_objects_they_render() -> None:
    """The reconciler looks for these and no others; an object of another kind would never be found again."""
    known = {kind.kind for kind in KINDS[("smarter.sh/v1", "LLMHost")].object_kinds}
    own = [body for body in every_object() if OWNER_UID_LABEL in body["metadata"]["labels"]]
    assert {body["kind"] for body in own} == known
    assert all((body["apiVersion"], body["kind"]) in OBJECT_KINDS for body in every_object())
