"""Each known failure, on the simulated cluster and on the real control plane: the host is said to be in the right
state, for the right reason, in words that say why and what to do."""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from smarter.cluster.kubernetes import KubernetesCluster, connection_from_kubeconfig
from smarter.cluster.simulated import open_simulated
from tests.cluster.harness import ControlPlane
from tests.failures import places
from tests.failures.places import Place, Ward
from tests.failures.table import FAILURES, Failure

AT_ONCE = 10


def _simulated(folder: Path) -> Place:
    cluster = open_simulated(folder / "cluster.sqlite")
    begun = cluster.now()

    def pause() -> None:
        """At first shorter than any state of a pod lasts, so that none is stepped over; what is left after that are
        restarts with ever longer pauses."""
        early = cluster.now() - begun < timedelta(seconds=20)
        cluster.pass_time(0.25 if early else 4.0)

    return Place(cluster, pause, cluster.now)


def _real(plane: ControlPlane) -> Place:
    cluster = KubernetesCluster(connection_from_kubeconfig(plane.kubeconfig.read_text()))

    def end_by_force(namespace: str) -> None:
        plane.try_kubectl("delete", "deployments", "--all", "-n", namespace)
        plane.try_kubectl("delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false", "-n", namespace)

    return Place(cluster, lambda: time.sleep(0.3), end_by_force=end_by_force)


def _chosen(request: pytest.FixtureRequest, test: str) -> list[Failure]:
    """Those whose tests are to run."""
    ids = {item.callspec.id for item in request.session.items if getattr(item, "originalname", "") == test}
    return [failure for failure in FAILURES if failure.id in ids]


def _wards(place: Place, failures: list[Failure]) -> dict[str, Ward]:
    places.prepare(place)
    wards = [places.admit(place, failure) for failure in failures]
    places.follow(place, wards)
    return {ward.failure.id: ward for ward in wards}


@pytest.fixture(scope="module")
def simulated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ward]:
    """On several clusters: the work of a simulated one grows faster than the number of its hosts."""
    failures, found = _chosen(request, "test_failure_simulated"), {}
    for start in range(0, len(failures), AT_ONCE):
        place = _simulated(tmp_path_factory.mktemp("simulated"))
        found |= _wards(place, failures[start : start + AT_ONCE])
        place.cluster.close()
    return found


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest, control_plane: ControlPlane) -> Iterator[dict[str, Ward]]:
    if not control_plane.has_fates():
        pytest.skip("the cluster of SMARTER_TEST_KUBECONFIG was not made by scripts/control_plane")
    place = _real(control_plane)
    try:
        yield _wards(place, _chosen(request, "test_failure_real"))
    finally:
        places.clean(place)
        place.cluster.close()


def _cases(where: str) -> list[object]:
    group = pytest.mark.xdist_group(f"failures-{where}")
    return [
        pytest.param(failure, marks=(pytest.mark.failure(failure.id, where), group), id=failure.id)
        for failure in FAILURES
    ]


@pytest.mark.parametrize("failure", _cases("simulated"))
def test_failure_simulated(simulated: dict[str, Ward], failure: Failure) -> None:
    _is_told(simulated[failure.id])


@pytest.mark.control_plane
@pytest.mark.parametrize("failure", _cases("real"))
def test_failure_real(real: dict[str, Ward], failure: Failure) -> None:
    _is_told(real[failure.id])


def _is_told(ward: Ward) -> None:
    """While it serves it may be said to be healthy; never without the reason."""
    found = ward.match
    assert found is not None, places.summary(ward)
    assert found.status["hostStatus"] == found.phase
    assert found.phase == "active" or not found.ready
    if found.phase in ("error", "pending"):
        assert found.status["healthy"] is False


def test_ids_are_of_their_own_and_many() -> None:
    ids = [failure.id for failure in FAILURES]
    assert len(ids) == len(set(ids))
    assert len(ids) >= 60


def test_the_documentation_names_every_reason() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "status.md").read_text()
    reasons = {failure.reason or failure.why or failure.id for failure in FAILURES}
    missing = {reason for reason in reasons if f"`{reason}`" not in text}
    assert missing == set()
