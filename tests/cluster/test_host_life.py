"""The life of a host on a real control plane: from a manifest to active, through edits, to nothing."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from smarter.apps.costs.models import UsageInterval
from smarter.core.objects import POD, SECRET, KubernetesObject
from smarter.kinds import KINDS
from tests.cluster.harness import ControlPlane, doom, wait_for
from tests.cluster.host_world import LLM_HOST, PUBLIC, SMALL, RealWorld, real_world

pytestmark = pytest.mark.control_plane

GPU = PUBLIC.replace("Qwen/Qwen3-0.6B-GGUF\n    file: Qwen3-0.6B-Q8_0.gguf", "Qwen/Qwen3-8B-FP8").replace(
    'name: llama_cpp\n  resources:\n    cpu: "2"\n    memory: 4Gi',
    'name: vllm\n  resources:\n    cpu: "4"\n    memory: 24Gi\n    gpuCount: 1',
)
OWN = {"Secret", "PersistentVolumeClaim", "Deployment", "Service", "Ingress", "Certificate"}
WALLS = {
    "resourcequota": {"smarter"},
    "limitrange": {"smarter"},
    "networkpolicy": {"default-deny", "allow-dns", "allow-serving", "allow-fetch"},
}


@pytest.fixture
def world(db: None, control_plane: ControlPlane) -> Iterator[RealWorld]:
    with real_world(control_plane) as made:
        yield made


def image_of(world: RealWorld) -> str:
    deployment = world.kubectl("deployment")[0]
    return str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])


def names(world: RealWorld, kind: str) -> set[str]:
    return {body["metadata"]["name"] for body in world.kubectl(kind)}


def set_image(text: str, image: str) -> str:
    return text.replace("    name: llama_cpp\n", f"    name: llama_cpp\n    image: {image}\n")


def test_a_manifest_becomes_a_running_host_with_all_its_objects(world: RealWorld) -> None:
    world.apply(GPU)
    status = world.until_phase("active")
    uid = world.host().uid
    assert world.kinds(uid) == OWN | {"Pod"}
    assert (status["readyReplicas"], status["observedGeneration"]) == (1, 1)
    assert status["endpoint"].endswith(".svc.cluster.local/v1")
    world.until(lambda: world.host().state.ready, "ready")
    for kind, expected in WALLS.items():
        assert names(world, kind) >= expected
    account = world.plane.get("serviceaccount", "smarter-workload", "-n", world.namespace)
    assert account["automountServiceAccountToken"] is False
    pod = world.kubectl("pods")[0]
    assert pod["spec"]["nodeName"].startswith("gpu-l4-1x-")
    assert pod["spec"]["serviceAccountName"] == "smarter-workload"
    assert UsageInterval.for_account(world.actor.account).get().pod_uid == pod["metadata"]["uid"]


def test_the_pods_stand_up_to_the_restricted_profile(world: RealWorld) -> None:
    world.apply(PUBLIC)
    world.until_phase("active")
    labels = world.plane.get("namespace", world.namespace)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "baseline"
    assert labels["pod-security.kubernetes.io/warn"] == "restricted"
    pod = world.kubectl("pods")[0]
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert pod["spec"]["enableServiceLinks"] is False
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    assert not [volume for volume in pod["spec"]["volumes"] if "hostPath" in volume or "projected" in volume]
    naked = {"name": "naked", "namespace": world.namespace}
    container = {"name": "a", "image": "example.com/a:1", "securityContext": {"privileged": True}}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": naked, "spec": {"containers": [container]}}
    with pytest.raises(AssertionError, match="PodSecurity"):
        world.plane.apply(body)


def test_the_quota_of_the_account_counts_and_refuses(world: RealWorld) -> None:
    world.apply(SMALL)
    world.until_phase("active")
    quota = wait_for(
        lambda: (world.plane.get("resourcequota", "smarter", "-n", world.namespace).get("status") or {}).get("used"),
        "the quota has counted",
    )
    assert quota["requests.cpu"] != "0"
    hard = {"apiVersion": "v1", "kind": "ResourceQuota"}
    metadata = {"name": "tight", "namespace": world.namespace}
    world.plane.apply({**hard, "metadata": metadata, "spec": {"hard": {"requests.cpu": quota["requests.cpu"]}}})
    world.apply(SMALL.replace("name: small", "name: more"))
    world.until(lambda: "quota" in (world.status("more").get("message") or "").lower(), "the quota is named")
    assert world.host("more").state.phase in {"error", "pending"}
    assert world.host().state.phase == "active"


def test_a_second_apply_of_the_same_changes_no_version(world: RealWorld) -> None:
    world.apply(PUBLIC)
    world.until(lambda: world.host().state.ready, "ready")
    settled = wait_for(lambda: calm(world), "the controllers are done")
    world.apply(PUBLIC)
    for _ in range(3):
        world.look()
    assert world.versions(world.host().uid) == settled
    assert world.host().generation == 1


def calm(world: RealWorld) -> dict[str, str] | None:
    """Versions once the cluster's own controllers have stopped writing their statuses."""
    first = world.versions(world.host().uid)
    world.plane.kubectl("version")
    world.look()
    return first if world.versions(world.host().uid) == first else None


def test_a_changed_image_rolls_once(world: RealWorld) -> None:
    world.apply(SMALL)
    world.until_phase("active")
    before = {body["metadata"]["uid"] for body in world.kubectl("replicasets")}
    world.apply(set_image(SMALL, "ghcr.io/ggml-org/llama.cpp:server-b9999"))
    world.look()
    world.until_phase("active")
    wait_for(lambda: len(world.kubectl("pods")) == 1, "the old pod is gone")
    after = world.kubectl("replicasets")
    assert len([body for body in after if body["metadata"]["uid"] not in before]) == 1
    assert image_of(world) == "ghcr.io/ggml-org/llama.cpp:server-b9999"
    intervals = UsageInterval.for_account(world.actor.account)
    world.until(lambda: intervals.filter(period__endswith__isnull=True).count() == 1, "one open interval")
    assert intervals.count() == 2


def test_ingress_off_removes_what_made_it_public(world: RealWorld) -> None:
    world.apply(PUBLIC)
    world.until_phase("active")
    assert {"Ingress", "Certificate"} <= world.kinds(world.host().uid)
    world.apply(SMALL)
    world.until_phase("active")
    assert {"Ingress", "Certificate"}.isdisjoint(world.kinds(world.host().uid))
    assert names(world, "ingress") == names(world, "certificates.cert-manager.io") == set()


def test_undeploy_keeps_the_weights_and_delete_leaves_nothing(world: RealWorld) -> None:
    world.apply(PUBLIC)
    world.until_phase("active")
    uid = world.host().uid
    volume = world.kubectl("pvc")[0]["metadata"]["uid"]
    world.undeploy()
    world.until(lambda: world.kinds(uid) == {"PersistentVolumeClaim"}, "only the volume is left")
    world.until_phase("inactive")
    world.apply(PUBLIC)
    world.until_phase("active")
    assert world.kubectl("pvc")[0]["metadata"]["uid"] == volume
    world.delete()
    world.until(lambda: not world.exists(), "the row is gone")
    assert world.objects(uid) == []
    left = world.kubectl(
        "deployments,replicasets,pods,services,ingresses,pvc,certificates.cert-manager.io,secrets",
        "-l",
        "app.kubernetes.io/managed-by=smarter",
    )
    assert left == []
    assert not UsageInterval.for_account(world.actor.account).filter(period__endswith__isnull=True).exists()


@pytest.mark.parametrize("kind", ["deployment", "service", "secret", "ingress", "certificates.cert-manager.io"])
def test_what_a_hand_removed_comes_back(world: RealWorld, kind: str) -> None:
    world.apply(PUBLIC)
    world.until(lambda: world.host().state.ready, "ready")
    world.look()
    before = owned(world, kind)
    world.plane.kubectl("delete", kind, before["metadata"]["name"], "-n", world.namespace)
    world.look()
    world.look()
    assert owned(world, kind)["metadata"]["uid"] != before["metadata"]["uid"]
    world.until(lambda: world.host().state.ready, "ready again")


def owned(world: RealWorld, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = world.kubectl(kind, "-l", f"smarter.sh/owner-uid={world.host().uid}")[0]
    return found


def test_what_a_hand_changed_is_changed_back(world: RealWorld) -> None:
    world.apply(SMALL)
    world.until_phase("active")
    world.look()
    name = owned(world, "deployment")["metadata"]["name"]
    world.plane.kubectl("set", "image", f"deployment/{name}", "*=example.com/bad:1", "-n", world.namespace)
    assert image_of(world) == "example.com/bad:1"
    world.look()
    world.look()
    assert image_of(world) != "example.com/bad:1"
    world.until_phase("active")


def test_secrets_are_given_by_reference_only(world: RealWorld) -> None:
    world.apply(SMALL)
    world.until_phase("active")
    secret = owned(world, "secret")
    values = {value for value in secret["data"].values() if len(value) > 16}
    assert values
    readable = [body for body in world.objects(world.host().uid) if body["kind"] != SECRET.kind]
    texts = "".join(str(body) for body in readable)
    decoded = world.plane.kubectl("get", "secret", secret["metadata"]["name"], "-n", world.namespace, "-o", "json")
    assert secret["metadata"]["uid"] in decoded
    assert not [value for value in values if value in texts]
    assert [body for body in readable if body["kind"] == POD.kind]


SHARED = SMALL.replace(
    "    size: 5Gi\n", "    size: 5Gi\n    accessMode: ReadWriteMany\n    storageClass: kwok-volume-rwx\n"
)
BAD = "ghcr.io/ggml-org/llama.cpp:server-b0"


def condition(world: RealWorld, kind: str) -> dict[str, Any]:
    return next((one for one in world.status()["conditions"] if one["type"] == kind), {})


def strategy(world: RealWorld) -> dict[str, Any]:
    found: dict[str, Any] = owned(world, "deployment")["spec"]["strategy"]
    return found


def replicas(world: RealWorld) -> set[str]:
    return {pod["metadata"]["uid"] for pod in world.kubectl("pods", "-l", "smarter.sh/compute")}


def test_a_rollout_uses_the_room_that_there_is(world: RealWorld) -> None:
    world.apply(SHARED)
    world.until_phase("active")
    world.apply(set_image(SHARED, "ghcr.io/ggml-org/llama.cpp:server-b9999"))
    world.look()
    assert strategy(world) == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    world.until(lambda: world.host().state.ready, "ready")
    assert condition(world, "Rollout")["reason"] == "Surge"
    settled = wait_for(lambda: calm(world), "the controllers are done")
    world.apply(set_image(SHARED, "ghcr.io/ggml-org/llama.cpp:server-b9999"))
    world.look()
    assert world.versions(world.host().uid) == settled
    tight = {"requests.cpu": "3"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "tight", "namespace": world.namespace}}
    world.plane.apply({**quota, "spec": {"hard": tight}})
    wait_for(lambda: world.kubectl("resourcequota", "tight").get("status", {}).get("used"), "the quota has counted")
    world.apply(set_image(SHARED, "ghcr.io/ggml-org/llama.cpp:server-b9998"))
    world.look()
    assert strategy(world) == {"type": "Recreate"}
    world.until(lambda: world.host().state.ready, "ready")
    assert "quota" in condition(world, "Rollout")["message"]


@pytest.mark.parametrize("text", [SMALL, SHARED], ids=["recreate", "rolling"])
def test_the_last_good_revision_is_put_back(world: RealWorld, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    give_up_on(monkeypatch, BAD)
    world.apply(text)
    world.until(lambda: world.host().state.ready, "ready")
    good = image_of(world)
    world.apply(set_image(text, BAD))
    world.until(lambda: world.host().state.restored, "given up")
    world.until(lambda: image_of(world) == good and world.status()["readyReplicas"] == 1, "the good one serves")
    world.until(lambda: world.host().state.phase == "degraded", "told")
    assert not world.host().state.ready
    assert "Generation 2 did not start" in world.status()["message"]
    settled = wait_for(lambda: calm(world), "the controllers are done")
    for _ in range(3):
        world.look()
    assert world.versions(world.host().uid) == settled
    world.apply(set_image(text, "ghcr.io/ggml-org/llama.cpp:server-b9999"))
    world.until(lambda: world.host().state.ready, "the next one is tried")


def give_up_on(monkeypatch: pytest.MonkeyPatch, image: str) -> None:
    """Its pods never start, and the observer waits no longer than until that is seen."""

    def render(manifest: Any, facts: Any) -> list[KubernetesObject]:
        bodies = LLM_HOST.render(manifest, facts)
        return [doom(body, "image-pull-failure") if _runs(body, image) else body for body in bodies]

    def observe(manifest: Any, facts: Any, live: list[KubernetesObject], now: Any) -> Any:
        bad = any(_runs(body, image) for body in live)
        waits = any(body["kind"] == POD.kind and "ImagePull" in str(body.get("status")) for body in live)
        return replace(LLM_HOST.observe(manifest, facts, live, now), failed=bad and waits)

    monkeypatch.setitem(KINDS, LLM_HOST.key, replace(LLM_HOST, render=render, observe=observe))


def _runs(body: KubernetesObject, image: str) -> bool:
    return body["kind"] == "Deployment" and image in str(body["spec"]["template"])


def test_scaling_and_metadata_leave_replicas_alone(world: RealWorld) -> None:
    world.apply(SHARED)
    world.until_phase("active")
    first = replicas(world)
    world.apply(SHARED.replace("  name: small\n", "  name: small\n  tags: [one]\n") + "  scaling:\n    replicas: 2\n")
    world.until_phase("active")
    wait_for(lambda: len(replicas(world)) == 2, "two replicas")
    assert first < replicas(world)


def test_a_strategy_that_a_hand_changed_is_changed_back(world: RealWorld) -> None:
    world.apply(SMALL)
    world.until_phase("active")
    world.look()
    name, before = owned(world, "deployment")["metadata"]["name"], replicas(world)
    patch = '{"spec": {"strategy": {"type": "RollingUpdate"}}}'
    world.plane.kubectl("patch", "deployment", name, "-n", world.namespace, "-p", patch)
    assert strategy(world)["type"] == "RollingUpdate"
    world.look()
    world.look()
    assert strategy(world) == {"type": "Recreate"}
    assert replicas(world) == before


def test_a_volume_that_cannot_grow_says_so(world: RealWorld) -> None:
    world.apply(SMALL)
    world.until_phase("active")
    world.apply(SMALL.replace("size: 5Gi", "size: 9Gi"))
    grown = lambda: world.kubectl("pvc")[0]["spec"]["resources"]["requests"]["storage"] == "9Gi"  # noqa: E731
    told = lambda: condition(world, "Reconciled").get("reason") == "VolumeNotGrown"  # noqa: E731
    world.until(lambda: grown() or told(), "grown or told")
    assert grown() or "retain: false" in world.status()["message"]
