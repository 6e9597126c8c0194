"""What a cluster tells of itself."""

import pytest

from smarter.core.objects import NODE
from tests.contract.cluster.conftest import Backend


def test_version(backend: Backend) -> None:
    assert backend.cluster.info().version.startswith("v1.")


def test_features(backend: Backend) -> None:
    assert "cert-manager" in backend.cluster.info().features
    assert "kaito" not in backend.cluster.info().features


def test_nodes(backend: Backend) -> None:
    nodes = {node.name: node for node in backend.cluster.info().nodes}
    assert {body["metadata"]["name"] for body in backend.cluster.list(NODE)} <= set(nodes)
    gpu_nodes = [node for node in nodes.values() if node.gpus and "smarter.sh/compute" in node.labels]
    assert {node.labels["smarter.sh/compute"] for node in gpu_nodes} >= {"gpu_l4_1x", "gpu_l4_4x", "gpu_h100_8x"}
    assert all(node.ready and node.cpu_millis > 0 and node.memory_bytes > 2**30 for node in gpu_nodes)
    assert any(node.gpus == 0 for node in nodes.values())


@pytest.mark.parametrize(("compute", "gpus"), [("gpu_l4_1x", 1), ("gpu_l4_4x", 4), ("gpu_h100_8x", 8)])
def test_gpus_of_a_node(backend: Backend, compute: str, gpus: int) -> None:
    nodes = [node for node in backend.cluster.info().nodes if node.labels.get("smarter.sh/compute") == compute]
    assert nodes
    assert all(node.gpus == gpus for node in nodes)
