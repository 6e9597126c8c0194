"""What the objects of an LLMHost hold, where a golden file would not say why."""

import json
from typing import Any

import pytest

from smarter.core.errors import PermanentError
from smarter.core.facts import Environment
from tests.llm_hosts import LLAMA, UID, VLLM, engine_of, facts, host, kinds_of, objects, one, secret


def pod_of(found: list[dict[str, Any]]) -> dict[str, Any]:
    spec: dict[str, Any] = one(found, "Deployment")["spec"]["template"]["spec"]
    return spec


def test_order_of_creation() -> None:
    found = objects(host({"network.ingress": True}))
    assert kinds_of(found) == ["Secret", "PersistentVolumeClaim", "Deployment", "Service", "Ingress", "Certificate"]


def test_certificate_only_where_the_cluster_has_cert_manager() -> None:
    assert "Certificate" not in kinds_of(objects(host({"network.ingress": True}), features=frozenset()))


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ({}, ["PersistentVolumeClaim"]),
        ({"storage.retain": False}, []),
        ({"storage.existingClaim": "mine"}, []),
        ({"network.ingress": True}, ["PersistentVolumeClaim"]),
    ],
)
def test_what_stays_of_an_undeployed_host(changes: dict[str, Any], kinds: list[str]) -> None:
    assert kinds_of(objects(host(changes), deployed=False, secrets={})) == kinds


def test_a_claim_of_the_user_is_mounted_and_never_written() -> None:
    found = objects(host({"storage.existingClaim": "team-weights", "storage.retain": False}))
    assert "PersistentVolumeClaim" not in kinds_of(found)
    assert pod_of(found)["volumes"][0] == {
        "name": "models",
        "persistentVolumeClaim": {"claimName": "team-weights"},
    }


@pytest.mark.parametrize("missing", ["key", "hf"])
def test_without_a_value_nothing_is_rendered(missing: str) -> None:
    manifest = host({"network.apiKeySecret": "key", "model.tokenSecret": "hf"})
    present = {name: value for name, value in facts(manifest).secrets.items() if name != missing}
    with pytest.raises(PermanentError) as caught:
        objects(manifest, secrets=present)
    assert caught.value.reason == "SecretMissing"
    assert missing in caught.value.message


def test_no_value_outside_the_secret() -> None:
    manifest = host({"network.apiKeySecret": "key", "model.tokenSecret": "hf", "network.ingress": True})
    values = {"key": secret("key", "canary-key-1234"), "hf": secret("hf", "canary-token-5678")}
    found = objects(manifest, secrets=values)
    others = json.dumps([body for body in found if body["kind"] != "Secret"])
    assert "canary" not in others
    assert "Y2FuYXJ5" not in others
    assert len(one(found, "Secret")["data"]) == 2


def test_blanks_around_a_token_are_cut_off() -> None:
    manifest = host({"model.tokenSecret": "hf"})
    plain = objects(manifest, secrets={**facts(manifest).secrets, "hf": secret("hf", "hf_abc")})
    blank = objects(manifest, secrets={**facts(manifest).secrets, "hf": secret("hf", " hf_abc\n")})
    assert one(plain, "Secret")["data"] == one(blank, "Secret")["data"]


def test_a_changed_value_restarts_the_pods_and_a_new_description_does_not() -> None:
    manifest = host({"network.apiKeySecret": "key"})
    templates = [
        one(objects(manifest, secrets={"key": secret("key", "v")}), "Deployment")["spec"]["template"],
        one(objects(manifest, secrets={"key": secret("key", "v")}, generation=7), "Deployment")["spec"]["template"],
    ]
    assert templates[0] == templates[1]
    changed = {"key": type(secret("key"))("key", secret("key").value, "another-checksum")}
    assert one(objects(manifest, secrets=changed), "Deployment")["spec"]["template"] != templates[0]


def test_selector_holds_the_identity_alone() -> None:
    spec = one(objects(host()), "Deployment")["spec"]
    assert spec["selector"] == {"matchLabels": {"smarter.sh/owner-uid": UID}}
    assert one(objects(host()), "Service")["spec"]["selector"] == {"smarter.sh/owner-uid": UID}


@pytest.mark.parametrize(
    ("base", "changes", "strategy"),
    [
        (VLLM, {}, {"type": "Recreate"}),
        (LLAMA, {}, {"type": "Recreate"}),
        (VLLM, {"storage.accessMode": "ReadWriteMany"},
         {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}),
        (LLAMA, {"storage.accessMode": "ReadWriteMany"},
         {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}),
    ],
)  # fmt: skip
def test_an_update_never_waits_for_itself(
    base: dict[str, Any], changes: dict[str, Any], strategy: dict[str, Any]
) -> None:
    assert one(objects(host(changes, base)), "Deployment")["spec"]["strategy"] == strategy


@pytest.mark.parametrize("period", [1, 7, 10, 299, 300])
@pytest.mark.parametrize("timeout", [60, 61, 3600, 21600])
def test_times_agree(period: int, timeout: int) -> None:
    changes = {"healthCheck.periodSeconds": period, "healthCheck.startupTimeoutSeconds": timeout}
    found = objects(host(changes))
    container = engine_of(found)
    startup = container["startupProbe"]
    assert timeout <= startup["failureThreshold"] * startup["periodSeconds"] < timeout + period
    assert one(found, "Deployment")["spec"]["progressDeadlineSeconds"] > 2 * timeout
    assert {"name": "VLLM_ENGINE_READY_TIMEOUT_S", "value": str(timeout)} in container["env"]
    probes = [container[name] for name in ("startupProbe", "readinessProbe", "livenessProbe")]
    assert all(probe["timeoutSeconds"] >= 5 for probe in probes)
    assert container["livenessProbe"]["failureThreshold"] >= 6


def test_a_health_path_holds_for_all_probes() -> None:
    container = engine_of(objects(host({"healthCheck.path": "/ping", "engine.port": 9000})))
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[name]["httpGet"] == {"path": "/ping", "port": "http", "scheme": "HTTP"}
    assert container["ports"] == [{"name": "http", "containerPort": 9000, "protocol": "TCP"}]
    assert container["args"][container["args"].index("--port") + 1] == "9000"
    assert "VLLM_PORT" not in {entry["name"] for entry in container["env"]}


def test_shared_memory() -> None:
    def shm(changes: dict[str, Any]) -> str:
        volume = pod_of(objects(host(changes)))["volumes"][-1]
        assert volume["emptyDir"]["medium"] == "Memory"
        return str(volume["emptyDir"]["sizeLimit"])

    assert shm({}) == "8Gi"
    assert shm({"resources.shmSize": "20Gi"}) == "20Gi"
    assert shm({"resources.memory": "4Gi"}) == "2Gi"
    assert shm({"resources.memory": None, "resources.shmSize": "16Gi"}) == "16Gi"
    found = objects(host({"resources.memory": None, "resources.shmSize": "16Gi"}))
    assert engine_of(found)["resources"]["limits"]["memory"] == "18Gi"


def test_the_compute_wins_over_the_manifest() -> None:
    manifest = host({"compute": "gpu_l4_1x", "resources.nodeSelector": {"zone": "a"}})
    assert pod_of(objects(manifest))["nodeSelector"] == {
        "node.kubernetes.io/instance-type": "g6.2xlarge",
        "zone": "a",
    }


def test_gpus_are_asked_for_and_tolerated() -> None:
    found = objects(host({"resources.gpuCount": 4, "resources.memory": "96Gi"}))
    resources = engine_of(found)["resources"]
    assert resources["requests"]["nvidia.com/gpu"] == resources["limits"]["nvidia.com/gpu"] == "4"
    assert {"key": "nvidia.com/gpu", "operator": "Exists"} in pod_of(found)["tolerations"]
    assert "NVIDIA_VISIBLE_DEVICES" not in {entry["name"] for entry in engine_of(found)["env"]}


def test_without_gpus_none_can_be_had() -> None:
    found = objects(host(base=LLAMA))
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in engine_of(found)["env"]
    assert all("gpu" not in toleration["key"] for toleration in pod_of(found)["tolerations"])


def test_settings_of_the_cluster() -> None:
    environment = Environment(
        api_domain="models.example.com",
        fetch_image="registry.example.com/smarter:1.2",
        ingress_class="nginx",
        cluster_issuer="internal",
        storage_class="fast",
    )
    found = objects(host({"network.ingress": True}), environment=environment)
    assert pod_of(found)["initContainers"][0]["image"] == "registry.example.com/smarter:1.2"
    assert one(found, "PersistentVolumeClaim")["spec"]["storageClassName"] == "fast"
    assert one(found, "Ingress")["spec"]["ingressClassName"] == "nginx"
    assert one(found, "Certificate")["spec"]["issuerRef"]["name"] == "internal"
    assert one(found, "Ingress")["spec"]["rules"][0]["host"] == "case-host.llmhost.1111-2222-3333.models.example.com"


def test_certificate_has_no_common_name_and_public_paths_are_listed() -> None:
    found = objects(host({"network.ingress": True}))
    assert "commonName" not in one(found, "Certificate")["spec"]
    rules = one(found, "Ingress")["spec"]["rules"]
    assert [path["path"] for rule in rules for path in rule["http"]["paths"]] == ["/v1"]
    assert one(found, "Ingress")["spec"]["tls"][0]["secretName"] == one(found, "Certificate")["spec"]["secretName"]
    labels = one(found, "Certificate")["spec"]["secretTemplate"]["labels"]
    assert "smarter.sh/owner-uid" not in labels, "the key pair would be pruned as an object that nobody wants"


def test_the_api_key_is_asked_for_inside_the_cluster_too() -> None:
    names = [entry["name"] for entry in engine_of(objects(host()))["env"] if "valueFrom" in entry]
    assert names == ["VLLM_API_KEY"]
    open_to_all = objects(host({"network.ingress": True, "network.allowUnauthenticated": True}))
    assert "Secret" not in kinds_of(open_to_all)
    assert all("valueFrom" not in entry for entry in engine_of(open_to_all)["env"])


def test_a_token_goes_to_the_fetch_alone() -> None:
    found = objects(host({"model.tokenSecret": "hf"}))
    fetch = pod_of(found)["initContainers"][0]
    assert {entry["name"] for entry in fetch["env"]} == {"HOME", "HF_TOKEN"}
    assert "HF_TOKEN" not in {entry["name"] for entry in engine_of(found)["env"]}
    assert fetch["command"] == ["python", "-m", "smarter.fetch"]
    assert fetch["resources"]["limits"]["memory"] == engine_of(found)["resources"]["limits"]["memory"]


def test_one_volume_a_host() -> None:
    first = one(objects(host()), "PersistentVolumeClaim")["metadata"]["name"]
    second = one(objects(host(), uid="another-uid"), "PersistentVolumeClaim")["metadata"]["name"]
    assert first != second
