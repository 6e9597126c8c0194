"""Every golden object is accepted by a cluster as it is, with strict field validation, and what the server makes of it
counts as what was asked for: a second look plans nothing and a second apply changes nothing."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from smarter.cluster.kubernetes import KubernetesCluster, connection_from_kubeconfig
from smarter.cluster.port import Cluster
from smarter.cluster.simulated import open_simulated
from smarter.core.objects import NAMESPACE, KubernetesObject, ObjectRef, ref_of
from smarter.core.plan import plan, stamped
from tests.golden.cases import CASES, namespace_objects, own_objects, rendered
from tests.golden.clusters import clear

SPACE = ObjectRef(NAMESPACE, "", "smarter-1234-5678-9012")

# The account's namespace is one, so one worker runs all of these.
pytestmark = pytest.mark.xdist_group("golden-objects")


def distinct_cases() -> list[str]:
    """One case for each set of names: cases that share names would change each other's objects."""
    return list({tuple(str(ref_of(body)) for body in own_objects(rendered(case))): case for case in CASES}.values())


@pytest.fixture(scope="module", params=["simulated", pytest.param("real", marks=pytest.mark.control_plane)])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if request.param == "simulated":
        found: Cluster = open_simulated(tmp_path_factory.mktemp("simulated") / "cluster.sqlite")
    else:
        kubeconfig: Path = request.getfixturevalue("control_plane").kubeconfig
        found = KubernetesCluster(connection_from_kubeconfig(kubeconfig.read_text()))
    for body in namespace_objects(rendered("vllm_ingress_certificate")):
        found.apply(body)
    yield found
    clear(found, SPACE)
    found.close()


def live(cluster: Cluster, bodies: list[KubernetesObject]) -> list[KubernetesObject]:
    return [found for body in bodies if (found := cluster.get(ref_of(body)))]


@pytest.mark.parametrize("case", distinct_cases())
def test_accepted_and_settled(cluster: Cluster, case: str) -> None:
    bodies = own_objects(rendered(case))
    for body in bodies:
        cluster.apply(stamped(body, generation=1))
    before = live(cluster, bodies)
    assert len(before) == len(bodies)
    # The Deployment's controller may have begun to write its status, which is no change of ours.
    assert plan(bodies, before, generation=1).changes == ()
    for body in bodies:
        first = cluster.apply(stamped(body, generation=1))
        second = cluster.apply(stamped(body, generation=1))
        assert first["metadata"].get("generation") == second["metadata"].get("generation")
    for body in reversed(bodies):
        cluster.delete(ref_of(body))
    # A claim leaves after the pods that hold it, and the next case has one of the same name.
    until = time.monotonic() + 60
    while live(cluster, bodies) and time.monotonic() < until:
        time.sleep(0.1)
    assert live(cluster, bodies) == []


def test_the_namespace_settles(cluster: Cluster) -> None:
    bodies = namespace_objects(rendered("vllm_ingress_certificate"))
    for body in bodies:
        cluster.apply(stamped(body, generation=1))
    assert plan(bodies, live(cluster, bodies), generation=1).changes == ()
