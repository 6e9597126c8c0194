"""Cases of rollout, update and deletion, through HTTP and a worker, on the simulated cluster."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from smarter.apps.costs.models import UsageInterval
from smarter.apps.reconcile.forget import forget
from smarter.apps.resources.models import Event, Reference, ResourceState
from smarter.apps.secrets.models import Secret
from smarter.cluster.simulated import Fault
from smarter.core.objects import KubernetesObject
from smarter.render.identity import Identity
from tests.cases.conftest import Desk, Fates
from tests.cases.manifests import BASE, CPU, SPECS
from tests.db.reconcile.world import LLM_HOST
from tests.llm_hosts import host, objects, one

PUBLIC = {"network.ingress": True}


def strategy(changes: dict[str, Any], base: dict[str, Any] = BASE) -> str:
    found: str = one(objects(host(changes, base)), "Deployment")["spec"]["strategy"]["type"]
    return found


def selector(changes: dict[str, Any], **metadata: Any) -> dict[str, str]:
    found: dict[str, str] = one(objects(host(changes)), "Deployment")["spec"]["selector"]["matchLabels"]
    return found


@pytest.mark.django_db
def test_c52_volume_of_one_node_is_let_go_before_the_next_pod(desk: Desk) -> None:
    assert strategy({}, CPU) == "Recreate"
    assert strategy({"resources.gpuCount": 1}) == "Recreate"
    desk.run(base=CPU)
    desk.run({"engine.maxConcurrentRequests": 2}, base=CPU)
    assert desk.status()["readyReplicas"] == 1


@pytest.mark.django_db
def test_c53_selector_knows_the_host_and_nothing_that_changes(desk: Desk) -> None:
    before = selector({})
    for changes in (
        {"model.repository": "other/model"},
        {"engine.image": "vllm/vllm-openai:v0.33.1"},
        {"engine.name": "llama_cpp", "model.file": "m.gguf"},
        {"compute": "gpu_l4_4x"},
        {"scaling.replicas": 2, "storage.accessMode": "ReadWriteMany"},
    ):
        assert selector(changes) == before
    desk.run()
    live = desk.live("Deployment")["spec"]["selector"]
    desk.run({"engine.maxConcurrentRequests": 2}, version="2.0.0", tags=["new"])
    assert desk.live("Deployment")["spec"]["selector"] == live
    assert not {"version", "2.0.0", "vllm"} & {*live["matchLabels"], *live["matchLabels"].values()}


@pytest.mark.django_db
def test_c53_deployment_with_the_selector_of_another_release_is_replaced_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = Identity.selector
    with monkeypatch.context() as older:
        older.setattr(Identity, "selector", lambda self: {**newer(self), "app.kubernetes.io/managed-by": "smarter"})
        desk.run()
    first = desk.live("Deployment")
    desk.world.sim.clear_request_log()
    desk.run({"engine.maxConcurrentRequests": 2})
    desk.rounds(5)
    second = desk.live("Deployment")
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert second["spec"]["selector"] != first["spec"]["selector"]
    log = [one for one in desk.world.sim.request_log() if one.kind == "Deployment" and one.verb in ("apply", "delete")]
    assert len([one for one in log if one.outcome != "ok"]) <= 1
    assert [one.verb for one in log if one.outcome == "ok"] == ["delete", "apply"]


@pytest.mark.django_db
def test_c56_same_name_again_within_a_second(desk: Desk) -> None:
    desk.run(PUBLIC)
    first = desk.world.host("case_host").uid
    assert desk.http.delete("/llmhosts/case_host").status_code in (200, 202)
    at_once = desk.apply(PUBLIC, deploy=True)
    assert at_once.status in (200, 409)
    assert b"already exists" not in at_once.response.content
    for _ in range(20):
        if desk.apply(PUBLIC, deploy=True).status == 200:
            break
        desk.world.round()
    desk.world.settle("case_host")
    again = desk.world.host("case_host").uid
    assert again != first
    assert desk.world.objects(first) == []
    assert {"Ingress", "Certificate"} <= desk.live_kinds()
    assert "already exists" not in desk.status()["message"]


def bringing(mode: str) -> dict[str, Any]:
    """The second class is one whose volumes several nodes may mount."""
    storage_class = {"ReadWriteOnce": "standard", "ReadWriteMany": "kwok-volume-rwx"}[mode]
    storage = {"storage.accessMode": mode, "storage.storageClass": storage_class}
    return {"model.source": "s3", "model.repository": "s3://bucket/models/big", **storage}


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["ReadWriteOnce", "ReadWriteMany"])
def test_c57_finished_download_does_not_hold_the_volume(desk: Desk, mode: str) -> None:
    desk.run(bringing(mode))
    uid = desk.world.host("case_host").uid
    had_job = "Job" in desk.live_kinds()
    assert had_job == (mode == "ReadWriteMany")
    desk.world.sim.clear_request_log()
    desk.http.delete("/llmhosts/case_host")
    desk.rounds(10)
    assert not desk.world.exists("case_host")
    assert desk.world.objects(uid) == []
    deleted = [one.kind for one in desk.world.sim.request_log() if one.verb == "delete" and one.outcome == "ok"]
    for kind in ("Deployment", "Job") if had_job else ("Deployment",):
        assert deleted.index(kind) < deleted.index("PersistentVolumeClaim")


@pytest.mark.django_db
def test_c58_what_is_referred_to_stays_and_a_dependant_can_always_go(desk: Desk) -> None:
    assert desk.secret("hf_token", "hf_abc").status == 200
    desk.run({"model.tokenSecret": "hf_token"})
    refused = desk.http.delete("/secrets/hf_token")
    assert refused.status_code == 409
    assert b"case_host" in refused.content
    # As if somebody had forced it: the Secret is gone, and the host still refers to it.
    Reference.objects.filter(to_secret__name="hf_token").delete()
    Secret.for_account(desk.world.actor.account).filter(name="hf_token").delete()
    uid = desk.world.host("case_host").uid
    desk.rounds(3)
    assert desk.http.delete("/llmhosts/case_host").status_code in (200, 202)
    desk.rounds(10)
    assert not desk.world.exists("case_host")
    assert desk.world.objects(uid) == []


@pytest.mark.django_db
def test_c58_compute_that_is_in_use_stays(desk: Desk) -> None:
    text = desk.http.get("/kinds/LLMHostCompute/example").content.decode()
    assert desk.http.post("/apply", text).status_code == 200
    (own,) = [line.split(":")[1].strip() for line in text.splitlines() if line.startswith("  name:")]
    assert desk.apply({"compute": own}).status == 200
    refused = desk.http.delete(f"/llmhostcomputes/{own}")
    assert refused.status_code == 409
    assert b"case_host" in refused.content
    assert desk.http.delete("/llmhosts/case_host").status_code in (200, 202)
    assert desk.http.delete(f"/llmhostcomputes/{own}").status_code in (200, 202)


@pytest.mark.django_db
def test_c59_host_on_a_cluster_that_is_gone(desk: Desk) -> None:
    desk.run()
    desk.world.sim.inject(Fault(times=100_000))
    assert desk.http.delete("/llmhosts/case_host").status_code in (200, 202)
    desk.rounds(3)
    assert desk.world.exists("case_host")
    state = ResourceState.objects.get(resource__name="case_host")
    assert "scripted fault" in state.last_error
    # It is tried ever more rarely, up to once in a minute.
    for _ in range(8):
        ResourceState.objects.filter(pk=state.pk).update(next_check_at=timezone.now())
        desk.world.round()
    state.refresh_from_db()
    assert state.next_check_at - timezone.now() > timedelta(seconds=50)
    status = desk.status()
    assert "scripted fault" in status["message"]
    # Nobody but a platform administrator may take the record away from what may remain.
    forced = desk.http.delete("/llmhosts/case_host?force=true")
    assert forced.status_code == 403
    assert desk.world.exists("case_host")
    admin = replace(desk.world.actor, is_platform_admin=True)
    found = forget(admin, LLM_HOST, "case_host")
    assert not desk.world.exists("case_host")
    assert any(name.startswith("Deployment") for name in found.remains)
    told = Event.for_account(desk.http.account).get(reason="Deleted")
    assert "may remain" in told.message
    # The cost ends where the cluster was heard of last.
    assert not UsageInterval.for_account(desk.http.account).filter(period__upper_inf=True).exists()


@pytest.mark.django_db
def test_c60_not_stopped_until_it_is_seen_to_be_gone(desk: Desk, fates: Fates) -> None:
    fates.fate = "crash-loop"
    desk.apply(base=CPU, deploy=True)
    desk.wait("error")
    desk.world.sim.inject(Fault(verb="delete", kind="Deployment", status=403, message="may not be deleted", times=3))
    assert desk.http.post("/llmhosts/case_host/undeploy").status_code == 200
    desk.rounds(1)
    status = desk.status()
    assert status["hostStatus"] not in ("inactive", "stopped")
    assert "may not be deleted" in status["message"]
    assert "Deployment" in desk.live_kinds()
    desk.rounds(6)
    assert desk.status()["hostStatus"] == "inactive"
    assert desk.live_kinds() <= {"PersistentVolumeClaim"}


def engine(desk: Desk) -> dict[str, Any]:
    found: dict[str, Any] = desk.live("Deployment")["spec"]["template"]["spec"]
    return found


def variables(pod: dict[str, Any]) -> set[str]:
    return {entry["name"] for entry in pod["containers"][0]["env"]}


@pytest.mark.django_db
def test_c61_what_is_taken_out_of_the_manifest_is_taken_out_of_the_cluster(desk: Desk) -> None:
    more = {
        "engine.env": {"VLLM_A": "1", "VLLM_B": "2"},
        "engine.args": ["--seed", "1"],
        "resources.tolerations": [{"key": "pool", "operator": "Exists"}],
        "resources.nodeSelector": {"kubernetes.io/os": "linux"},
    }
    desk.run(more)
    before = engine(desk)
    assert {"VLLM_A", "VLLM_B"} <= variables(before)
    desk.run({"engine.env": {"VLLM_A": "1"}})
    after = engine(desk)
    assert "VLLM_A" in variables(after)
    assert "VLLM_B" not in variables(after)
    assert "--seed" not in after["containers"][0]["args"]
    assert "pool" not in {one["key"] for one in after["tolerations"]}
    assert len(after["tolerations"]) == len(before["tolerations"]) - 1
    assert "kubernetes.io/os" not in after["nodeSelector"]
    assert after["schedulerName"] == before["schedulerName"], "fields of the server are left alone"


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["Deployment", "Secret"])
def test_c62_conflict_is_tried_again(desk: Desk, kind: str) -> None:
    desk.run()
    desk.world.sim.inject(Fault(verb="apply", kind=kind, status=409, message="the object has been modified", times=2))
    desk.world.sim.clear_request_log()
    changes = {"engine.port": 9000, "network.apiKeySecret": "other"}
    desk.secret("other", "another-value")
    desk.run(changes)
    tried = [one for one in desk.world.sim.request_log() if (one.verb, one.kind) == ("apply", kind)]
    assert [one.outcome for one in tried].count("ok") == 1
    assert len(tried) <= 5


def test_c62_manifests_of_the_cases_are_whole() -> None:
    rendered: list[KubernetesObject] = objects(host(base=SPECS["vllm"]))
    assert one(rendered, "Deployment")
