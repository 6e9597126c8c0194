"""The estimate of memory against figures that were worked out by hand, and what is made of it."""

from typing import Any

import pytest

from smarter.core.gpus import compute_capability, visible_bytes
from smarter.core.placement import GIB
from smarter.kinds.sam.llm_host.host import host_of
from smarter.kinds.sam.llm_host.memory import estimate
from tests.llm_hosts import KIND, LLAMA, VLLM, facts, host

LLAMA_8B = {"model.parameterCount": 8_030_000_000, "compute": "gpu_l4_1x"}


@pytest.mark.parametrize(
    ("changes", "gib"),
    [
        (LLAMA_8B, 14.96),
        ({**LLAMA_8B, "model.quantization": "fp32"}, 29.9),
        ({**LLAMA_8B, "model.quantization": "fp8"}, 7.66),
    ],
)
def test_weights(changes: dict[str, Any], gib: float) -> None:
    found = estimate(host_of(host(changes)))
    assert found is not None
    assert found.weights / GIB == pytest.approx(gib, rel=0.02)


def test_file_names_tell_the_precision() -> None:
    q4 = {"model.parameterCount": 8_030_000_000, "model.file": "m-Q4_K_M.gguf"}
    found = estimate(host_of(host(q4, LLAMA)))
    assert found is not None
    assert found.weights / GIB == pytest.approx(8.03e9 * 4.89 / 8 / GIB, rel=0.02)


@pytest.mark.parametrize(
    ("context", "verdict"), [(8192, "fits"), (16384, "tight"), (32768, "does_not_fit"), (131072, "does_not_fit")]
)
def test_an_8b_model_on_an_l4(context: int, verdict: str) -> None:
    manifest = host({**LLAMA_8B, "engine.contextLength": context})
    found = KIND.memory_verdict(manifest, facts(manifest))
    assert found is not None
    assert found.verdict == verdict


def test_without_figures_nothing_is_claimed() -> None:
    manifest = host()
    found = KIND.memory_verdict(manifest, facts(manifest))
    assert found is not None
    assert (found.verdict, found.needed_bytes) == ("unknown", None)


def test_gpu_memory_on_the_label_is_not_all_there() -> None:
    assert visible_bytes(24 * GIB) / GIB == pytest.approx(21.96, rel=0.001)


@pytest.mark.parametrize(
    ("name", "capability"),
    [("L4", "8.9"), ("A100-80", "8.0"), ("NVIDIA H100 NVL", "9.0"), ("t4", "7.5"), ("MI300X", "None")],
)
def test_capabilities(name: str, capability: str) -> None:
    assert str(compute_capability(name)) == capability


@pytest.mark.parametrize(
    ("changes", "compute"),
    [
        ({}, "gpu_l4_1x"),
        ({"resources.cpu": None, "resources.memory": None}, "gpu_t4_1x"),
        ({"resources.cpu": None, "resources.memory": None, "model.quantization": "bf16"}, "gpu_l4_1x_16g"),
        ({"resources.memory": "12Gi", "resources.cpu": "2", "resources.vramRequiredGb": 40}, "gpu_l40s_1x_32g"),
        ({"resources.memory": "12Gi", "resources.cpu": "2", "model.parameterCount": 14_000_000_000}, "gpu_l40s_1x_32g"),
        ({"resources.gpuCount": 8}, "gpu_l4_8x"),
    ],
)
def test_the_cheapest_that_can_do_it(changes: dict[str, Any], compute: str) -> None:
    manifest = host(changes)
    placement = KIND.placement(manifest, facts(manifest))
    assert placement is not None
    assert placement.compute.name == compute


def test_nodes_that_are_there_come_first_and_a_place_is_kept() -> None:
    manifest = host({"resources.cpu": None, "resources.memory": None})
    here = KIND.placement(manifest, facts(manifest, node_labels=({"node.kubernetes.io/instance-type": "g6.12xlarge"},)))
    assert here is not None
    assert here.compute.name == "gpu_l4_4x"
    kept = KIND.placement(manifest, facts(manifest, placed_on="gpu_h100_8x"))
    assert kept is not None
    assert kept.compute.name == "gpu_h100_8x"
    too_old = host({"resources.cpu": None, "resources.memory": None, "model.quantization": "bf16"}, VLLM)
    moved = KIND.placement(too_old, facts(too_old, placed_on="gpu_t4_1x"))
    assert moved is not None
    assert moved.compute.name != "gpu_t4_1x"


def test_price_of_all_replicas() -> None:
    manifest = host({"scaling.replicas": 3, "storage.accessMode": "ReadWriteMany", "compute": "gpu_l4_1x"})
    placement = KIND.placement(manifest, facts(manifest))
    assert placement is not None
    assert str(placement.price_per_hour) == "2.93280000"
