"""Cases of storage: the volume of a host, and how weights come to it."""

import json
from typing import Any

import pytest

from smarter.core import naming
from smarter.core.objects import PERSISTENT_VOLUME_CLAIM, KubernetesObject, ObjectRef
from tests.cases.conftest import Desk
from tests.cases.manifests import BASE, CPU, SPECS
from tests.llm_hosts import engine_of, host, objects, one
from tests.unit.kinds import observed as seen
from tests.unit.kinds.test_llm_host_observe import look

GIB = 2**30


def claim_writes(desk: Desk) -> list[str]:
    log = desk.world.sim.request_log()
    return [one.verb for one in log if one.kind == "PersistentVolumeClaim" and one.verb in {"apply", "delete"}]


def claim_spec(desk: Desk) -> dict[str, Any]:
    found: dict[str, Any] = desk.live("PersistentVolumeClaim")["spec"]
    return found


@pytest.mark.django_db
def test_c28_existing_claim_grows_and_changes_in_no_other_way(desk: Desk) -> None:
    desk.run({"storage.size": "50Gi", "storage.storageClass": "standard"})
    before = claim_spec(desk)
    desk.world.sim.clear_request_log()
    desk.run({"storage.size": "100Gi", "storage.storageClass": "standard"})
    assert claim_writes(desk) == ["apply"]
    after = claim_spec(desk)
    assert after["resources"]["requests"]["storage"] == "100Gi"
    same = {key: value for key, value in after.items() if key != "resources"}
    assert same == {key: value for key, value in before.items() if key != "resources"}
    desk.world.sim.clear_request_log()
    grown = {"storage.size": "100Gi", "storage.storageClass": "standard"}
    for change, path in (
        ({"storage.size": "40Gi"}, "spec.storage.size"),
        ({"storage.storageClass": "other"}, "spec.storage.storageClass"),
        ({"storage.accessMode": "ReadWriteMany"}, "spec.storage.accessMode"),
    ):
        errors = desk.refuse({**grown, **change})
        assert set(errors) == {path}
        assert any(word in errors[path].lower() for word in ("delete", "undeploy", "retain")), "it says the way out"
    desk.run({**grown, "engine.maxConcurrentRequests": 8})
    desk.rounds(3)
    assert claim_writes(desk) == []
    assert claim_spec(desk) == after


@pytest.mark.parametrize("name", sorted(SPECS))
def test_c30_weights_are_brought_before_the_server_and_never_by_a_hook(name: str) -> None:
    rendered = objects(host(base=SPECS[name]))
    pod = one(rendered, "Deployment")["spec"]["template"]["spec"]
    assert "postStart" not in json.dumps(rendered)
    assert [container["name"] for container in pod["initContainers"]] == ["fetch"]


def test_c30_ollama_is_ready_when_it_knows_the_model() -> None:
    probe = engine_of(objects(host(base=SPECS["ollama"])))["readinessProbe"]
    assert "llama3.1:8b" in " ".join(probe["exec"]["command"])


def fetch_ended(reason: str, message: str, code: int = 3) -> KubernetesObject:
    words = json.dumps({"event": "error", "reason": reason, "message": message})
    return seen.fetching({"terminated": {"exitCode": code, "message": words + "\n"}})


@pytest.mark.django_db
def test_c30_tag_that_does_not_exist_is_an_error_with_the_words_of_the_registry(desk: Desk) -> None:
    assert desk.apply({"model.repository": "definitely-not-a-model:1b"}, base=SPECS["ollama"]).status == 200
    manifest = host({"model.repository": "definitely-not-a-model:1b"}, SPECS["ollama"])
    found = look(
        seen.not_ready(objects(manifest)), fetch_ended("not_found", "the registry has no such model"), manifest=manifest
    )
    assert (found.phase, found.ready) == ("error", False)
    assert "the registry has no such model" in found.message
    assert "model.repository" in found.message


def pods(desk: Desk) -> set[str]:
    found = desk.world.objects(desk.world.host("case_host").uid)
    return {body["metadata"]["uid"] for body in found if body["kind"] == "Pod"}


@pytest.mark.django_db
def test_c31_new_words_about_a_host_restart_nothing(desk: Desk) -> None:
    desk.run()
    before, claim = pods(desk), desk.live("PersistentVolumeClaim")["metadata"]["uid"]
    template = desk.live("Deployment")["spec"]["template"]
    desk.run(tags=["blue"], version="1.0.1")
    desk.rounds(2)
    assert pods(desk) == before
    assert desk.live("Deployment")["spec"]["template"] == template
    desk.run({"engine.maxConcurrentRequests": 8})
    assert pods(desk).isdisjoint(before)
    assert desk.live("PersistentVolumeClaim")["metadata"]["uid"] == claim


@pytest.mark.parametrize("name", sorted(SPECS))
def test_c31_same_weights_lie_in_the_same_place_on_every_start(name: str) -> None:
    """So that the fetch finds its completion marker and brings nothing again."""
    first, again = (
        one(objects(host(changes, SPECS[name])), "Deployment")["spec"]["template"]["spec"]["initContainers"]
        for changes in ({}, {"engine.maxConcurrentRequests": 8} if name not in ("tei", "custom") else {})
    )
    assert first[0]["args"] == again[0]["args"]


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["ReadWriteOnce", "ReadWriteMany"])
def test_c32_missing_storage_class_is_named_and_can_be_deleted(desk: Desk, mode: str) -> None:
    """With ReadWriteMany a Job waits for the same broken volume, and must not stop the deletion."""
    desk.apply({"storage.storageClass": "does-not-exist", "storage.accessMode": mode}, deploy=True)
    assert desk.wait("pending", "does-not-exist")["healthy"] is False
    uid = desk.world.host("case_host").uid
    assert desk.http.delete("/llmhosts/case_host").status_code in (200, 202)
    desk.rounds(10)
    assert not desk.world.exists("case_host")
    assert desk.world.objects(uid) == []


@pytest.mark.django_db
def test_c33_each_host_has_a_claim_of_its_own(desk: Desk) -> None:
    desk.run(name="one")
    desk.run(name="two", base=CPU)
    names = {desk.live("PersistentVolumeClaim", name)["metadata"]["name"] for name in ("one", "two")}
    assert len(names) == 2


@pytest.mark.parametrize(
    "words",
    [
        "0/2 nodes are available: 2 node(s) had volume node affinity conflict.",
        "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) had volume node affinity conflict.",
        "0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity.",
    ],
)
def test_c33_volume_in_another_zone_is_not_told_as_a_lack_of_gpus(words: str) -> None:
    found = look(seen.not_ready(objects(host())), seen.unscheduled(words), manifest=host())
    assert found.phase == "pending"
    assert "volume" in found.message
    assert "zone" in found.message


FILES: list[tuple[dict[str, Any], str]] = [
    ({"model.file": None}, "spec.model.file"),
    ({"model.file": "../../etc/passwd"}, "spec.model.file"),
    ({"model.file": "/etc/passwd"}, "spec.model.file"),
    ({"model.file": "a/../../b.gguf"}, "spec.model.file"),
    ({"model.file": "m-00002-of-00003.gguf"}, "spec.model.file"),
    (
        {"model.source": "url", "model.repository": "https://example.com/models/", "model.file": None},
        "spec.model.repository",
    ),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("changes", "path"), FILES)
def test_c34_file_that_is_no_weights_file(desk: Desk, changes: dict[str, Any], path: str) -> None:
    errors = desk.refuse(changes, base=CPU)
    assert path in errors or (path == "spec.model.repository" and "spec.model.file" in errors)


@pytest.mark.django_db
def test_c34_split_file_is_brought_whole(desk: Desk) -> None:
    """The fetch program brings every part of the set whose first part is named (see tests/unit/fetch)."""
    changes = {"model.file": "m-00001-of-00003.gguf"}
    assert desk.apply(changes, base=CPU).status == 200
    rendered = objects(host(changes, CPU))
    (fetch,) = one(rendered, "Deployment")["spec"]["template"]["spec"]["initContainers"]
    args = fetch["args"]
    assert args[args.index("--file") + 1] == "m-00001-of-00003.gguf"
    model = engine_of(rendered)["args"]
    assert model[model.index("-m") + 1].endswith("/m-00001-of-00003.gguf")


@pytest.mark.django_db
def test_c35_volume_that_is_too_small_is_told_at_apply(desk: Desk) -> None:
    small = {"model.parameterCount": 8_000_000_000, "model.quantization": "bf16", "storage.size": "1Gi"}
    assert "spec.storage.size" in desk.apply(small).warnings
    assert "spec.storage.size" not in desk.apply({**small, "storage.size": "50Gi"}, name="large").warnings


@pytest.mark.parametrize(
    "pod",
    [
        fetch_ended("disk_full", "the volume has too little room"),
        seen.crashed({"exitCode": 1, "message": "OSError: [Errno 28] No space left on device"}),
    ],
    ids=["fetch", "engine"],
)
def test_c35_full_disk_is_an_error_and_not_ready(pod: KubernetesObject) -> None:
    found = look(seen.not_ready(objects(host())), pod, manifest=host())
    assert (found.phase, found.ready, found.status["healthy"]) == ("error", False, False)
    assert "storage.size" in found.message


@pytest.mark.django_db
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"model.source": "s3", "model.repository": "s3://bucket/models/big"},
        {"model.source": "url", "model.repository": "https://example.com/m.gguf", "engine.name": "llama_cpp"},
    ],
    ids=["huggingface", "s3", "url"],
)
def test_c36_fetch_has_the_memory_of_the_host_and_writes_to_the_volume(desk: Desk, changes: dict[str, Any]) -> None:
    changes = {**changes, "resources.memory": "64Gi", "compute": "gpu_l4_4x"}
    answer = desk.apply(changes)
    assert answer.status == 200, answer.errors
    for mode in ("ReadWriteOnce", "ReadWriteMany"):
        rendered = objects(host({**changes, "storage.accessMode": mode}))
        bringing = [
            (body["spec"]["template"]["spec"], container)
            for body in rendered
            if body["kind"] in ("Deployment", "Job")
            for container in [
                *body["spec"]["template"]["spec"].get("initContainers", ()),
                *(body["spec"]["template"]["spec"]["containers"] if body["kind"] == "Job" else ()),
            ]
        ]
        assert bringing
        for pod, container in bringing:
            # A Job of its own streams to the volume and needs little; an init container has the memory of the host.
            in_host = container["name"] in {one["name"] for one in pod.get("initContainers", ())}
            assert container["resources"]["limits"]["memory"] == ("64Gi" if in_host else "2Gi")
            volumes = {volume["name"]: volume for volume in pod["volumes"]}
            (target,) = [mount for mount in container["volumeMounts"] if mount["mountPath"] == "/models"]
            assert "persistentVolumeClaim" in volumes[target["name"]]


PVC = {"model.source": "pvc", "model.repository": "qwen3"}


@pytest.mark.django_db
def test_c37_source_pvc_without_a_claim(desk: Desk) -> None:
    assert set(desk.refuse(PVC)) == {"spec.storage.existingClaim"}


@pytest.mark.django_db
def test_c37_claim_of_the_user_is_never_written(desk: Desk) -> None:
    space = naming.namespace(desk.world.actor.account.number)
    desk.run(name="first", base=CPU)  # The account's namespace is there from now on.
    ref = ObjectRef(PERSISTENT_VOLUME_CLAIM, space, "team-weights")
    body = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "team-weights", "namespace": space, "labels": {"team": "a"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "50Gi"}}},
    }
    desk.world.sim.apply(body)
    claimed = {**PVC, "storage.existingClaim": "team-weights", "storage.retain": False}
    desk.run(claimed)
    before = desk.world.sim.get(ref)
    desk.world.sim.clear_request_log()
    assert "PersistentVolumeClaim" not in desk.live_kinds()
    desk.run({**claimed, "engine.maxConcurrentRequests": 8})
    desk.http.post("/llmhosts/case_host/undeploy")
    desk.world.settle("case_host", "inactive")
    desk.http.delete("/llmhosts/case_host")
    desk.rounds(5)
    assert not desk.world.exists("case_host")
    assert claim_writes(desk) == []
    assert desk.world.sim.get(ref) == before


def test_c37_base_is_what_the_cases_say() -> None:
    assert BASE["model"]["repository"] == "Qwen/Qwen3-8B"
