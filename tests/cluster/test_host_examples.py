"""What is rendered from every example passes the real server's strict checks."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from smarter.cli.rendering import FEATURES, Settings, render_body
from smarter.cluster.kubernetes import KubernetesCluster, connection_from_kubeconfig
from smarter.core import naming
from smarter.core.errors import PermanentError
from smarter.core.objects import NAMESPACE, ObjectRef, owner_uid_of
from tests.cluster.harness import ControlPlane

pytestmark = pytest.mark.control_plane

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "examples"
EXAMPLES = sorted(FOLDER.glob("*.yaml"))
ACCOUNT = "-".join(f"{int.from_bytes(uuid.uuid4().bytes) % 10_000:04}" for _ in range(3))
FEATURE_SETS = (frozenset[str](), frozenset({"cert-manager"}), frozenset(FEATURES))


@pytest.fixture(scope="module")
def port(control_plane: ControlPlane) -> Iterator[KubernetesCluster]:
    client = KubernetesCluster(connection_from_kubeconfig(control_plane.kubeconfig.read_text()))
    host = next(path for path in EXAMPLES if "LLMHost\n" in path.read_text())
    for body in render_body(host.read_bytes(), Settings(ACCOUNT)).objects:
        if owner_uid_of(body) is None:
            client.apply(body)
    yield client
    client.delete(ObjectRef(NAMESPACE, "", naming.namespace(ACCOUNT)))
    client.close()


def test_there_are_examples_of_hosts() -> None:
    assert len([path for path in EXAMPLES if "kind: LLMHost\n" in path.read_text()]) >= 2


@pytest.mark.parametrize("features", FEATURE_SETS, ids=lambda features: "+".join(sorted(features)) or "bare")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_server_accepts_what_is_rendered(port: KubernetesCluster, path: Path, features: frozenset[str]) -> None:
    rendered = render_body(path.read_bytes(), Settings(ACCOUNT, features=features))
    assert rendered.errors == ()
    for body in rendered.objects:
        port.apply(body, dry_run=True)
    assert bool(rendered.objects) == ("kind: LLMHost\n" in path.read_text())


def test_the_server_would_refuse_a_field_that_it_does_not_know(port: KubernetesCluster) -> None:
    rendered = render_body(EXAMPLES[0].read_bytes(), Settings(ACCOUNT))
    body = next(body for body in rendered.objects if body["kind"] == "Deployment")
    body["spec"]["template"]["spec"]["containers"][0]["imagePolicy"] = "Always"
    with pytest.raises(PermanentError):
        port.apply(body, dry_run=True)


def test_the_walls_are_accepted_too(port: KubernetesCluster) -> None:
    rendered = render_body(EXAMPLES[0].read_bytes(), Settings(ACCOUNT))
    walls = [body for body in rendered.objects if owner_uid_of(body) is None]
    assert {body["kind"] for body in walls} >= {"Namespace", "ServiceAccount", "ResourceQuota", "NetworkPolicy"}
    for body in walls:
        port.apply(body, dry_run=True)
