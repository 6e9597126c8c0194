"""Cases of GPUs: slices of them, several of them, those of another maker, and hosts that do not use theirs."""

from typing import Any

import pytest

from smarter.core.facts import ComputeFact
from tests.cases.conftest import Desk, Fates
from tests.cases.manifests import CPU, SPECS
from tests.llm_hosts import engine_of, host, objects, one
from tests.unit.kinds import observed as seen
from tests.unit.kinds.test_llm_host_observe import look

AVAILABLE = list(SPECS)
SPLITTING = {"vllm": "--tensor-parallel-size", "sglang": "--tp-size", "tgi": "--num-shard"}
MIG = {"resources.gpuResource": "nvidia.com/mig-3g.20gb"}
SLICES = ComputeFact("slices", "p4d.24xlarge", 96_000, 1024 * 2**30, 8, "A100", 20 * 2**30, "nvidia.com/mig-3g.20gb")
MIG_CRASH = """\
(EngineCore pid=89) ERROR 11-30 12:00:01 [core.py:700] EngineCore failed to start.
(EngineCore pid=89) ERROR 11-30 12:00:01 [core.py:700] Traceback (most recent call last):
(EngineCore pid=89) ERROR 11-30 12:00:01 [core.py:700] ValueError: invalid literal for int() with base 10: 'MIG-5c8b'
(APIServer pid=1) pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.
"""


@pytest.mark.parametrize("name", AVAILABLE)
def test_c40_devices_are_the_plugins_to_name(name: str) -> None:
    env = engine_of(objects(host({**MIG, "compute": "slices"}, SPECS[name]), computes=(SLICES,)))["env"]
    assert "CUDA_VISIBLE_DEVICES" not in {entry["name"] for entry in env}


@pytest.mark.django_db
@pytest.mark.parametrize("variable", ["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "cuda_visible_devices"])
def test_c40_no_manifest_names_devices(desk: Desk, variable: str) -> None:
    """They reach past the host, so they are refused, where the report would have them pass with a warning."""
    assert f"spec.engine.env.{variable}" in desk.refuse({**MIG, "engine.env": {variable: "MIG-5c8b"}})


def test_c40_crash_shows_its_first_fault_and_not_the_last() -> None:
    crashed = seen.crashed({"exitCode": 1, "message": MIG_CRASH})
    found = look(seen.not_ready(objects(host())), crashed, manifest=host())
    assert found.phase == "error"
    assert "invalid literal for int() with base 10: 'MIG-5c8b'" in found.message
    assert "root cause above" not in found.message


@pytest.mark.django_db
@pytest.mark.parametrize("resource", ["nvidia.com/gpu.shared", "nvidia.com/mig-2g.10gb"])
def test_c41_slices_do_not_add_up(desk: Desk, resource: str) -> None:
    several = {"resources.gpuResource": resource, "resources.gpuCount": 2}
    assert "spec.resources.gpuCount" in desk.refuse(several)
    assert "spec.resources.gpuCount" in desk.refuse({**several, "engine.tensorParallelSize": 2})


def test_c41_pod_that_a_node_refuses_is_an_error_with_the_nodes_words() -> None:
    words = "Allocate failed due to rpc error: maximum request size for shared resources is 1; found 2"
    refused = seen.failed("UnexpectedAdmissionError", words)
    found = look(seen.not_ready(objects(host())), refused, manifest=host())
    assert (found.phase, found.ready) == ("error", False)
    assert "maximum request size for shared resources is 1" in found.message


@pytest.mark.django_db
def test_c41_failed_pods_do_not_pile_up(desk: Desk, fates: Fates) -> None:
    fates.fate, fates.delay = "evicted", "1s"
    desk.apply(base=CPU, deploy=True)
    desk.rounds(20)
    found = desk.world.objects(desk.world.host("case_host").uid)
    failed = [body for body in found if body["kind"] == "Pod" and body["status"]["phase"] == "Failed"]
    assert 0 < len(failed) <= 12, "the newest, and those of the last seconds"


@pytest.mark.django_db
@pytest.mark.parametrize(("size", "gpus"), [(4, 2), (2, 0), (16, 8)])
def test_c42_more_shards_than_gpus(desk: Desk, size: int, gpus: int) -> None:
    changes: dict[str, Any] = {"engine.tensorParallelSize": size, "resources.gpuCount": gpus}
    errors = desk.refuse(changes)
    assert "gpuCount" in errors["spec.engine.tensorParallelSize"]
    assert str(gpus) in errors["spec.engine.tensorParallelSize"]


@pytest.mark.django_db
@pytest.mark.parametrize("name", list(SPLITTING))
def test_c42_gpus_that_would_idle_are_told(desk: Desk, name: str) -> None:
    changes = {"engine.tensorParallelSize": 2, "resources.gpuCount": 4}
    answer = desk.apply(changes, base=SPECS[name])
    assert "spec.engine.tensorParallelSize" in (answer.errors or answer.warnings)


@pytest.mark.parametrize("name", list(SPLITTING))
@pytest.mark.parametrize("gpus", [1, 2, 4])
def test_c42_model_is_split_over_all_gpus_by_default(name: str, gpus: int) -> None:
    args = engine_of(objects(host({"resources.gpuCount": gpus}, SPECS[name])))["args"]
    assert args[args.index(SPLITTING[name]) + 1] == str(gpus)


def test_c42_llama_cpp_divides_layers_by_itself() -> None:
    two = engine_of(objects(host({"resources.gpuCount": 2}, SPECS["llama_cpp"])))["args"]
    assert not any("tensor" in argument for argument in two)


@pytest.mark.parametrize(
    ("changes", "size"),
    [
        ({"resources.gpuCount": 2}, "8Gi"),
        ({"resources.gpuCount": 2, "resources.shmSize": "20Gi"}, "20Gi"),
        ({"resources.gpuCount": 1, "resources.shmSize": "1Gi"}, "1Gi"),
        ({"resources.gpuCount": 1}, "8Gi"),
    ],
)
@pytest.mark.parametrize("name", AVAILABLE)
def test_c43_shared_memory_is_mounted(name: str, changes: dict[str, Any], size: str) -> None:
    if name == "tei":
        changes = {**changes, "resources.gpuCount": 1}
    pod = one(objects(host(changes, SPECS[name])), "Deployment")["spec"]["template"]["spec"]
    (mount,) = [mount for mount in pod["containers"][0]["volumeMounts"] if mount["mountPath"] == "/dev/shm"]
    (volume,) = [volume for volume in pod["volumes"] if volume["name"] == mount["name"]]
    assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": size}


@pytest.mark.django_db
@pytest.mark.parametrize("name", [name for name in AVAILABLE if name != "custom"])
@pytest.mark.parametrize("resource", ["amd.com/gpu", "habana.ai/gaudi", "gpu.intel.com/i915"])
def test_c44_gpu_of_another_maker_has_no_cuda_image(desk: Desk, name: str, resource: str) -> None:
    """A default for it may come; the CUDA image it must never be."""
    changes = {"resources.gpuResource": resource}
    cuda = engine_of(objects(host(base=SPECS[name])))["image"]
    answer = desk.apply(changes, base=SPECS[name])
    if answer.errors:
        assert "spec.engine.image" in answer.errors
    else:
        assert engine_of(objects(host(changes, SPECS[name])))["image"] != cuda


def test_c45_gpu_is_used_by_image_and_by_flag() -> None:
    found = engine_of(objects(host({"resources.gpuCount": 1}, SPECS["llama_cpp"])))
    assert "cuda" in found["image"]
    flags = [flag for flag in ("-ngl", "--n-gpu-layers", "--gpu-layers") if flag in found["args"]]
    assert len(flags) == 1
    assert found["args"][found["args"].index(flags[0]) + 1] in ("all", "999", "-1", "auto")
    assert found["resources"]["limits"]["nvidia.com/gpu"] == "1"
