"""Every change that people make to a host that runs: what it touches, and what it leaves alone."""

import base64
from dataclasses import replace
from typing import Any

import pytest

from smarter.apps.resources.models import Hostname
from smarter.cluster.simulated import Fault, open_simulated
from smarter.core.errors import Refused
from smarter.core.objects import SECRET, KubernetesObject, ObjectRef
from smarter.engines import ENGINES
from tests.db.reconcile.test_rollout import SHARED, condition, deployment, pods
from tests.db.reconcile.world import HOST, World

TEXT = HOST.format(name="a")
SECRET_TEXT = """\
apiVersion: smarter.sh/v1
kind: Secret
metadata:
  name: {name}
spec:
  config:
    value: {value}
"""


def one(world: World, kind: str) -> KubernetesObject | None:
    return next((body for body in world.objects(world.host().uid) if body["kind"] == kind), None)


def pod_uids(world: World) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods(world)}


def engine(world: World) -> dict[str, Any]:
    found: dict[str, Any] = deployment(world)["spec"]["template"]["spec"]["containers"][0]
    return found


def with_secret(world: World, name: str, value: str) -> None:
    world.apply(SECRET_TEXT.format(name=name, value=value), deploy=False)


def writes_of(world: World, kind: str) -> list[tuple[str, str]]:
    return [entry for entry in world.writes() if entry[1] == kind]


def test_a_change_of_metadata_only_restarts_nothing(world: World) -> None:
    """C31."""
    world.apply(TEXT)
    world.settle()
    before, uid, generation = pod_uids(world), one(world, "PersistentVolumeClaim"), world.host().generation
    world.sim.clear_request_log()
    world.apply(TEXT.replace("  name: a\n", "  name: a\n  description: another text\n  tags: [one, two]\n"))
    for _ in range(4):
        world.round()
    assert world.writes() == []
    assert pod_uids(world) == before
    assert one(world, "PersistentVolumeClaim") == uid
    assert world.host().generation == generation


def test_scaling_leaves_the_other_replicas_alone(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    first = pod_uids(world)
    world.apply(SHARED + "  scaling:\n    replicas: 2\n")
    world.settle()
    assert len(pod_uids(world)) == 2
    assert first < pod_uids(world)
    assert world.status()["replicas"] == world.status()["readyReplicas"] == 2
    both = pod_uids(world)
    world.apply(SHARED)
    for _ in range(20):
        world.round()
    world.settle()
    assert len(pod_uids(world)) == 1
    assert pod_uids(world) < both


def test_it_moves_to_another_compute(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    assert pods(world)[0]["spec"]["nodeName"].startswith("gpu-l4-")
    world.apply(SHARED + "  compute: gpu_l4_4x\n")
    world.settle()
    assert [pod["spec"]["nodeName"] for pod in pods(world)] == ["gpu-l4x4-1"]
    assert world.host().placed_on == "gpu_l4_4x"
    found = condition(world, "Rollout")
    assert found is not None
    assert found["reason"] == "Surge", "the old node is full, the new one has room"


@pytest.mark.parametrize(
    ("field", "key"), [("network:\n    apiKeySecret", "api-key"), ("model:\n    tokenSecret", "weights-token")]
)
def test_a_secret_that_is_rotated_reaches_the_pods_once(world: World, field: str, key: str) -> None:
    with_secret(world, "mine", "first-value-1")
    parent, _, child = field.partition("\n")
    text = TEXT.replace(f"  {parent}\n", f"  {field}: mine\n", 1)
    assert child.strip() in text
    world.apply(text)
    world.settle()
    before = pod_uids(world)
    world.sim.clear_request_log()
    with_secret(world, "mine", "second-value-2")
    world.settle()
    held = one(world, "Secret")
    assert held is not None
    assert base64.b64decode(held["data"][key]).decode() == "second-value-2"
    assert pod_uids(world).isdisjoint(before)
    assert len(pod_uids(world)) == 1
    assert writes_of(world, "Deployment") == [("apply", "Deployment")]
    assert condition(world, "Rollout") is not None


def test_a_secret_that_is_applied_again_with_the_same_value_changes_nothing(world: World) -> None:
    with_secret(world, "mine", "first-value-1")
    world.apply(TEXT.replace("  network:\n", "  network:\n    apiKeySecret: mine\n"))
    world.settle()
    world.sim.clear_request_log()
    with_secret(world, "mine", "first-value-1")
    for _ in range(4):
        world.round()
    assert world.writes() == []


def test_a_node_type_that_is_changed_reaches_what_runs_there(world: World) -> None:
    compute = """\
apiVersion: smarter.sh/v1
kind: LLMHostCompute
metadata:
  name: own
spec:
  node:
    instanceType: own
    cpu: 8
    memoryGb: 32
    gpu: {{type: L4, count: 1, memoryGb: 24}}
    labels: {{node.kubernetes.io/instance-type: {kind}}}
  cost: {{perHour: 1.0, currency: USD}}
"""
    world.apply(compute.format(kind="g6.2xlarge"), deploy=False)
    world.apply(TEXT + "  compute: own\n")
    world.settle()
    world.apply(compute.format(kind="g6.12xlarge"), deploy=False)
    world.settle()
    assert [pod["spec"]["nodeName"] for pod in pods(world)] == ["gpu-l4x4-1"]


def test_ingress_comes_and_goes_without_a_restart(world: World) -> None:
    closed = TEXT.replace("ingress: true", "ingress: false")
    world.apply(closed)
    world.settle()
    before = pod_uids(world)
    world.apply(TEXT)
    world.settle()
    assert world.status()["publicUrl"]
    assert one(world, "Ingress") is not None
    world.apply(closed)
    world.settle()
    assert one(world, "Ingress") is None
    assert one(world, "Certificate") is None
    assert world.status()["publicUrl"] is None
    assert not Hostname.all_accounts.filter(resource=world.host()).exists()
    assert pod_uids(world) == before


def test_another_host_name_releases_the_old_one(world: World) -> None:
    def named(text: str, name: str) -> str:
        return text.replace("ingress: true", f"ingress: true\n    hostname: {name}")

    world.apply(named(TEXT, "one.example.org"))
    world.settle()
    before = pod_uids(world)
    with pytest.raises(Refused) as refused:
        world.apply(named(HOST.format(name="b"), "one.example.org"))
    assert refused.value.code == "hostname_taken"
    world.apply(named(TEXT, "two.example.org"))
    world.settle()
    ingress, certificate = one(world, "Ingress"), one(world, "Certificate")
    assert ingress is not None and certificate is not None
    assert [rule["host"] for rule in ingress["spec"]["rules"]] == ["two.example.org"]
    assert certificate["spec"]["dnsNames"] == ["two.example.org"]
    assert world.status()["publicUrl"] == "https://two.example.org/v1"
    assert pod_uids(world) == before
    world.apply(named(HOST.format(name="b"), "one.example.org"))


def test_a_volume_grows_and_only_its_request_does(world: World) -> None:
    """C28."""
    world.apply(TEXT + "  storage:\n    size: 50Gi\n")
    world.settle()
    before, old_pods = one(world, "PersistentVolumeClaim"), pod_uids(world)
    world.sim.clear_request_log()
    world.apply(TEXT + "  storage:\n    size: 100Gi\n")
    world.settle()
    after = one(world, "PersistentVolumeClaim")
    assert before is not None and after is not None
    assert world.writes() == [("apply", "PersistentVolumeClaim")]
    assert after["spec"]["resources"]["requests"]["storage"] == "100Gi"
    kept = {"accessModes", "storageClassName", "volumeName"}
    assert {name: after["spec"].get(name) for name in kept} == {name: before["spec"].get(name) for name in kept}
    assert pod_uids(world) == old_pods


def test_other_changes_never_touch_the_claim(world: World) -> None:
    """C28. Nor does a default of the platform that has changed since."""
    world.apply(TEXT)
    world.settle()
    world.sim.clear_request_log()
    world.cluster.spec = {**world.cluster.spec, "storageClass": "another"}
    world.cluster.save(update_fields=["spec"])
    world.apply(TEXT.replace("v0.33.0", "v0.33.1"))
    world.settle()
    assert writes_of(world, "PersistentVolumeClaim") == []


@pytest.mark.parametrize(
    ("field", "value"), [("size", "40Gi"), ("storageClass", "fast"), ("accessMode", "ReadWriteMany")]
)
def test_what_cannot_change_is_refused_with_the_way_out(world: World, field: str, value: str) -> None:
    world.apply(TEXT + "  storage:\n    size: 50Gi\n")
    world.settle()
    with pytest.raises(Refused) as refused:
        world.apply(
            TEXT + f"  storage:\n    size: 50Gi\n    {field}: {value}\n".replace("size: 50Gi\n    size", "size")
        )
    problem = next(problem for problem in refused.value.problems if problem.code == "immutable")
    assert problem.path == f"spec.storage.{field}"
    assert "retain: false" in problem.message
    assert "delete" in problem.message
    assert world.host().generation == 1


def test_the_way_out_leads_there(world: World) -> None:
    world.apply(TEXT + "  storage:\n    size: 50Gi\n")
    world.settle()
    world.apply(TEXT + "  storage:\n    size: 50Gi\n    retain: false\n")
    world.undeploy()
    for _ in range(20):
        world.round()
    world.apply(TEXT + "  storage:\n    size: 40Gi\n")
    world.settle()
    found = one(world, "PersistentVolumeClaim")
    assert found is not None
    assert found["spec"]["resources"]["requests"]["storage"] == "40Gi"


def test_a_volume_that_cannot_grow_says_so_and_holds_up_nothing_else(world: World) -> None:
    world.apply(TEXT + "  storage:\n    size: 50Gi\n")
    world.settle()
    world.sim.inject(Fault(verb="apply", kind="PersistentVolumeClaim", status=403, times=50, message="cannot resize"))
    world.apply(TEXT.replace("v0.33.0", "v0.33.1") + "  storage:\n    size: 100Gi\n")
    for _ in range(20):
        world.round()
    assert engine(world)["image"].endswith("v0.33.1")
    found = condition(world, "Reconciled")
    assert found is not None
    assert (found["status"], found["reason"]) == ("False", "VolumeNotGrown")
    assert "old size" in found["message"]
    assert "old size" in world.status()["message"]
    state = world.host().state
    assert (state.ready, state.phase, state.observed_generation) == (False, "active", 2), "the new pods are observed"
    world.sim.clear_faults()
    world.settle()
    assert world.host().state.ready


def test_removed_variables_labels_and_tolerations_really_go(world: World) -> None:
    """C61."""
    full = TEXT.replace(
        "    image: vllm/vllm-openai:v0.33.0\n",
        '    image: vllm/vllm-openai:v0.33.0\n    env:\n      VLLM_A: "1"\n      VLLM_B: "2"\n',
    ).replace(
        "    gpuCount: 1\n",
        "    gpuCount: 1\n    tolerations:\n      - key: mine\n        operator: Exists\n"
        "    nodeSelector:\n      kubernetes.io/arch: amd64\n",
    )
    world.apply(full)
    world.settle()
    template = deployment(world)["spec"]["template"]["spec"]
    names = {entry["name"] for entry in template["containers"][0]["env"]}
    assert {"VLLM_A", "VLLM_B"} <= names
    assert "kubernetes.io/arch" in template["nodeSelector"]
    assert any(entry.get("key") == "mine" for entry in template["tolerations"])
    world.apply(TEXT.replace("v0.33.0\n", 'v0.33.0\n    env:\n      VLLM_A: "1"\n'))
    world.settle()
    template = deployment(world)["spec"]["template"]["spec"]
    names = {entry["name"] for entry in template["containers"][0]["env"]}
    assert "VLLM_A" in names
    assert "VLLM_B" not in names
    assert "kubernetes.io/arch" not in template["nodeSelector"]
    assert not any(entry.get("key") == "mine" for entry in template["tolerations"])


def test_conflicts_are_tried_again_until_it_works(world: World) -> None:
    """C62."""
    world.apply(TEXT)
    world.settle()
    world.sim.clear_request_log()
    world.sim.inject(Fault(verb="apply", kind="Deployment", status=409, times=2))
    world.apply(TEXT.replace("v0.33.0", "v0.33.1"))
    world.settle()
    tries = [entry for entry in world.sim.request_log() if (entry.verb, entry.kind) == ("apply", "Deployment")]
    assert [entry.outcome for entry in tries] == ["Conflict", "Conflict", "ok"]
    assert engine(world)["image"].endswith("v0.33.1")


def test_six_cycles_order_one_certificate(world: World) -> None:
    """C67."""
    secrets = set()
    for _ in range(6):
        world.apply(TEXT)
        world.settle()
        certificate = one(world, "Certificate")
        assert certificate is not None
        name = certificate["spec"]["secretName"]
        held = world.sim.get(ObjectRef(SECRET, certificate["metadata"]["namespace"], name))
        assert held is not None
        secrets.add((name, held["metadata"]["uid"]))
        world.undeploy()
        world.settle(phase="inactive")
        for _ in range(5):
            world.round()
    assert len(secrets) == 1, "the same certificate, issued once"


def test_a_new_default_image_moves_nothing_that_runs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """C17."""
    text = TEXT.replace("    image: vllm/vllm-openai:v0.33.0\n", "")
    world.apply(text)
    world.settle()
    old, before = engine(world)["image"], pod_uids(world)
    assert ":" in old
    vllm = ENGINES["vllm"]
    newer = replace(vllm, images=replace(vllm.images, gpu="vllm/vllm-openai:v9.9.9"))
    monkeypatch.setitem(ENGINES, "vllm", newer)
    world.apply(text)
    for _ in range(4):
        world.round()
    assert (engine(world)["image"], pod_uids(world)) == (old, before)
    world.apply(text.replace("gpuCount: 1\n", "gpuCount: 1\n  compute: gpu_l4_1x\n"))
    world.settle()
    assert engine(world)["image"] == old, "an edit elsewhere leaves it, too"
    world.undeploy()
    world.settle(phase="inactive")
    world.apply(text)
    world.settle()
    assert engine(world)["image"] == "vllm/vllm-openai:v9.9.9"


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"replicas": 3}},
        {"spec": {"template": {"spec": {"containers": [{"name": "engine", "image": "example.com/bad:1"}]}}}},
        {"spec": {"strategy": {"type": "RollingUpdate"}}},
    ],
    ids=["replicas", "image", "strategy"],
)
def test_drift_made_by_hand_is_reverted_within_two_polls(world: World, patch: dict[str, Any]) -> None:
    world.apply(TEXT)
    world.settle()
    before = deployment(world)["spec"]
    hand = open_simulated(world.sim.path, field_manager="kubectl")
    body = deployment(world)
    metadata = {name: body["metadata"][name] for name in ("name", "namespace")}
    hand.apply({"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": metadata, **patch}, force=True)
    assert deployment(world)["spec"] != before
    world.round()
    world.round()
    after = deployment(world)["spec"]
    for name in ("replicas", "strategy"):
        assert after[name] == before[name]
    assert after["template"]["spec"]["containers"][0]["image"] == before["template"]["spec"]["containers"][0]["image"]
