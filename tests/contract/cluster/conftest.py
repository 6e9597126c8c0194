"""The same cases for the simulated cluster and for a real Kubernetes control plane. A case that differs between the two
is a fault of the simulation.
"""

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from smarter.cluster.kubernetes import KubernetesCluster, connection_from_kubeconfig
from smarter.cluster.port import Cluster
from smarter.cluster.simulated import open_simulated
from smarter.core.objects import NAMESPACE, NODE, SERVICE_ACCOUNT, KubernetesObject, ObjectRef
from tests.contract.cluster import bodies

SIMULATED_STEP_SECONDS = 0.25


@dataclass(frozen=True)
class Backend:
    """One cluster, seen by two field managers, and a way to let time pass."""

    cluster: Cluster
    other: Cluster
    pause: Callable[[], None]

    def eventually(self, check: Callable[[], Any], what: str, seconds: float = 120.0) -> Any:
        """The first true answer of `check`."""
        deadline = time.monotonic() + seconds
        while True:
            answer = check()
            if answer:
                return answer
            assert time.monotonic() < deadline, f"not after {seconds:.0f} s: {what}"
            self.pause()


def _simulated(folder: Path) -> Backend:
    path = folder / "cluster.sqlite"
    cluster, other = open_simulated(path), open_simulated(path, field_manager="other")
    return Backend(cluster, other, lambda: cluster.pass_time(SIMULATED_STEP_SECONDS))


def _real(kubeconfig: Path) -> Backend:
    connection = connection_from_kubeconfig(kubeconfig.read_text())
    other = KubernetesCluster(connection, field_manager="other")
    return Backend(KubernetesCluster(connection), other, lambda: time.sleep(0.1))


@pytest.fixture(scope="session", params=["simulated", pytest.param("real", marks=pytest.mark.control_plane)])
def backend(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    if request.param == "simulated":
        made = _simulated(tmp_path_factory.mktemp("simulated"))
    else:
        made = _real(request.getfixturevalue("control_plane").kubeconfig)
    yield made
    made.cluster.close()
    made.other.close()


@pytest.fixture
def cluster(backend: Backend) -> Cluster:
    return backend.cluster


@pytest.fixture
def namespace(backend: Backend) -> Iterator[str]:
    """Ready for pods, and deleted afterwards without waiting for its end."""
    name = f"contract-{uuid.uuid4().hex[:10]}"
    backend.cluster.apply(bodies.namespace(name))
    account = ObjectRef(SERVICE_ACCOUNT, name, "default")
    backend.eventually(lambda: backend.cluster.get(account), "the default ServiceAccount")
    yield name
    backend.cluster.delete(ObjectRef(NAMESPACE, "", name))


@pytest.fixture
def make_node(backend: Backend) -> Iterator[Callable[..., KubernetesObject]]:
    """Nodes of the test's own, so that what others schedule does not matter. Their pods ask for them by label."""
    made: list[str] = []

    def make(**options: Any) -> KubernetesObject:
        name = f"contract-{uuid.uuid4().hex[:10]}"
        made.append(name)
        backend.cluster.apply(bodies.node(name, **options))
        ref = ObjectRef(NODE, "", name)

        def ready() -> KubernetesObject | None:
            node = backend.cluster.get(ref)
            return node if node is not None and bodies.condition(node, "Ready") == "True" else None

        return backend.eventually(ready, "the node is Ready")

    yield make
    for name in made:
        backend.cluster.delete(ObjectRef(NODE, "", name))
