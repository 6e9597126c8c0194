"""What a host is said to be, on both clusters, while its pods fare well and ill. The objects are rendered, the troubles
are played by the cluster, and the observer must find the words."""

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from smarter.cluster.kubernetes import KubernetesCluster, connection_from_kubeconfig
from smarter.cluster.port import Cluster
from smarter.cluster.simulated import open_simulated
from smarter.core.facts import Environment
from smarter.core.kind import Observation
from smarter.core.objects import NAMESPACE, OWNER_UID_LABEL, POD, KubernetesObject, ObjectRef, ref_of
from smarter.render.namespace import bootstrap
from tests.cluster.harness import doom
from tests.golden.clusters import clear
from tests.llm_hosts import ACCOUNT, KIND, LLAMA, VLLM, facts, host

SPACE = "smarter-1111-2222-3333"

# The account's namespace is one, so one worker runs all of these.
pytestmark = pytest.mark.xdist_group("golden-fates")


@dataclass(frozen=True)
class Place:
    cluster: Cluster
    pause: Callable[[], None]


@pytest.fixture(scope="module", params=["simulated", pytest.param("real", marks=pytest.mark.control_plane)])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    if request.param == "simulated":
        simulated = open_simulated(tmp_path_factory.mktemp("simulated") / "cluster.sqlite")
        # Shorter than any state of a pod lasts, so that none is stepped over.
        found = Place(simulated, lambda: simulated.pass_time(0.3))
    else:
        kubeconfig: Path = request.getfixturevalue("control_plane").kubeconfig
        real = KubernetesCluster(connection_from_kubeconfig(kubeconfig.read_text()))
        found = Place(real, lambda: time.sleep(0.5))
    for body in bootstrap(ACCOUNT, Environment()):
        found.cluster.apply(body)
    yield found
    clear(found.cluster, ObjectRef(NAMESPACE, "", SPACE))
    found.cluster.close()


def look(place: Place, manifest: Any, uid: str, bodies: list[KubernetesObject]) -> Observation:
    live = [found for body in bodies if (found := place.cluster.get(ref_of(body)))]
    live += place.cluster.list(POD, label_selector=f"{OWNER_UID_LABEL}={uid}", namespace=SPACE)
    found: Observation = KIND.observe(manifest, facts(manifest, uid=uid), live, timezone.now())
    return found


def fare(place: Place, manifest: Any, fate: str | None, good: Callable[[Observation], bool]) -> Observation:
    """Applies the host, with a fate for its pods, and looks until the observation is as it should be."""
    uid = str(uuid.uuid4())
    bodies = KIND.render(manifest, facts(manifest, uid=uid))
    bodies = [doom(body, fate, "2s") if fate and body["kind"] == "Deployment" else body for body in bodies]
    for body in bodies:
        place.cluster.apply(body)
    try:
        deadline = time.monotonic() + 90
        while True:
            found = look(place, manifest, uid, bodies)
            if good(found):
                return found
            assert time.monotonic() < deadline, found
            place.pause()
    finally:
        for body in reversed(bodies):
            place.cluster.delete(ref_of(body))


@pytest.mark.parametrize("base", [VLLM, LLAMA], ids=["gpu", "processors"])
def test_active(place: Place, base: dict[str, Any]) -> None:
    manifest = host({"network.ingress": True, "storage.size": "1Gi"}, base)
    found = fare(place, manifest, None, lambda one: one.ready)
    assert (found.phase, found.message) == ("active", "")
    statuses = {condition.type: condition.status for condition in found.conditions}
    # The real control plane has no ingress controller that would write an address; the simulated one takes a moment.
    assert statuses.pop("IngressReady") in ("True", "Unknown")
    assert set(statuses.values()) == {"True"}


@pytest.mark.parametrize(
    ("fate", "phase", "word"),
    [
        ("image-pull-failure", "error", "cannot be pulled"),
        ("crash-loop", "error", "exit code 1"),
        ("oom-kill", "error", "resources.memory higher"),
        ("failing-probe", "degraded", "health check"),
        ("unschedulable", "pending", "Waiting for a node"),
        ("slow-start", "deploying", "loads the model"),
        # The cluster makes a new one at once, so the reason is told while that one starts.
        ("evicted", "deploying", "ran short of memory"),
    ],
)
def test_trouble(place: Place, fate: str, phase: str, word: str) -> None:
    found = fare(place, host(base=LLAMA), fate, lambda one: one.phase == phase and word in one.message)
    assert not found.ready
    assert found.status["healthy"] is False
