"""Every way in which pods fare ill on the real control plane shows in the host's status, with what to do about it."""

from collections.abc import Iterator

import pytest

from smarter.apps.costs.models import UsageInterval
from tests.cluster.harness import ControlPlane
from tests.cluster.host_world import PUBLIC, SMALL, RealWorld, give_fate, real_world

pytestmark = pytest.mark.control_plane

FATES = (
    ("image-pull-failure", {"error", "pending"}, "image"),
    ("crash-loop", {"error"}, "exit code"),
    ("oom-kill", {"error"}, "memory"),
    ("failing-probe", {"degraded", "deploying"}, "/health"),
    ("unschedulable", {"pending"}, "node"),
)


@pytest.fixture
def world(db: None, control_plane: ControlPlane) -> Iterator[RealWorld]:
    if not control_plane.has_fates():
        pytest.skip("the cluster of SMARTER_TEST_KUBECONFIG was not made by scripts/control_plane")
    with real_world(control_plane) as made:
        yield made


@pytest.mark.parametrize(("fate", "phases", "word"), FATES, ids=[fate for fate, _, _ in FATES])
def test_a_bad_fate_is_named(
    world: RealWorld, monkeypatch: pytest.MonkeyPatch, fate: str, phases: set[str], word: str
) -> None:
    give_fate(monkeypatch, fate)
    world.apply(SMALL)
    seen: list[tuple[str, str]] = []

    def named() -> bool:
        status = world.status()
        seen.append((status["hostStatus"], status.get("message") or ""))
        return status["hostStatus"] in phases and word in (status.get("message") or "").lower()

    try:
        world.until(named, f"{fate} shows as one of {phases} with {word!r}")
    except AssertionError as error:
        raise AssertionError(f"{error}: {list(dict.fromkeys(seen))}") from error
    assert world.host().state.ready is False
    conditions = {one["type"]: one for one in world.status()["conditions"]}
    assert conditions["Ready"]["status"] == "False"
    assert conditions["Available"]["status"] == "False"
    assert conditions["Available"]["reason"] not in {"", "Ready"}


def test_an_evicted_pod_is_billed_to_its_end_and_replaced(world: RealWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    give_fate(monkeypatch, "evicted", "2s")
    world.apply(SMALL)
    evicted = world.until(lambda: evicted_uids(world), "a pod is evicted")
    intervals = UsageInterval.for_account(world.actor.account)
    closed = intervals.filter(pod_uid=evicted[0], period__endswith__isnull=False)
    world.until(closed.exists, "the time of the evicted pod is over")
    world.until(lambda: intervals.exclude(pod_uid=evicted[0]).exists(), "another pod takes over")


def evicted_uids(world: RealWorld) -> list[str]:
    return [pod["metadata"]["uid"] for pod in world.kubectl("pods") if pod["status"].get("reason") == "Evicted"]


def test_a_slow_start_is_told_and_ends_well(world: RealWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    give_fate(monkeypatch, "slow-start", "4s")
    world.apply(SMALL)
    world.until(lambda: "loads the model" in (world.status().get("message") or ""), "loading")
    assert world.status()["hostStatus"] == "deploying"
    world.until_phase("active")


def test_a_download_is_told_and_ends_well(world: RealWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    give_fate(monkeypatch, "download-progress", "4s")
    world.apply(SMALL)
    world.until(lambda: world.status()["hostStatus"] == "downloading", "downloading")
    assert "weights" in world.status()["message"]
    world.until_phase("active")


def test_a_certificate_that_is_not_issued_keeps_the_host_from_being_ready(
    world: RealWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_fate(monkeypatch, "certificate-pending", kind="Certificate")
    world.apply(PUBLIC)
    world.until_phase("active")
    for _ in range(5):
        world.look()
    assert world.host().state.ready is False
    assert "certificate" in world.status()["message"].lower()
    conditions = {one["type"]: one for one in world.status()["conditions"]}
    assert conditions["CertificateReady"]["status"] in {"False", "Unknown"}
