"""Server-side apply: what is made, changed, kept, taken over and refused."""

from typing import Any

import pytest

from smarter.cluster.port import Cluster
from smarter.core.objects import CONFIG_MAP, DEPLOYMENT, ObjectRef
from tests.contract.cluster import bodies
from tests.contract.cluster.conftest import Backend
from tests.contract.cluster.watching import refusal


def test_create_gives_identity(cluster: Cluster, namespace: str) -> None:
    made = cluster.apply(bodies.config_map(namespace))
    metadata = made["metadata"]
    assert made["data"] == {"colour": "blue"}
    assert len(metadata["uid"]) == 36
    assert metadata["resourceVersion"]
    assert metadata["creationTimestamp"].endswith("Z")
    assert "managedFields" not in metadata
    assert cluster.get(ObjectRef(CONFIG_MAP, namespace, "settings")) == made


def test_same_apply_changes_nothing(cluster: Cluster, namespace: str) -> None:
    first = cluster.apply(bodies.config_map(namespace))
    assert cluster.apply(bodies.config_map(namespace)) == first


def test_same_deployment_changes_nothing(cluster: Cluster, namespace: str) -> None:
    spec = bodies.pod_spec(
        bodies.container(
            resources={"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": {"memory": "2048Mi"}},
            ports=[{"containerPort": 8000}],
            env=[{"name": "A", "value": "1"}],
            readinessProbe={"httpGet": {"path": "/health", "port": 8000}},
        )
    )
    wanted = bodies.deployment(namespace, spec=spec, replicas=0)
    first = cluster.apply(wanted)
    again = cluster.apply(wanted)
    assert again["metadata"]["generation"] == first["metadata"]["generation"] == 1
    assert again["spec"] == first["spec"]
    container = again["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"] == {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}


def test_change_gives_new_version_and_same_uid(cluster: Cluster, namespace: str) -> None:
    first = cluster.apply(bodies.config_map(namespace))
    second = cluster.apply(bodies.config_map(namespace, data={"colour": "red"}))
    assert second["data"] == {"colour": "red"}
    assert second["metadata"]["uid"] == first["metadata"]["uid"]
    assert second["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]


def test_generation_counts_changes_of_the_spec_only(cluster: Cluster, namespace: str) -> None:
    wanted = bodies.deployment(namespace, replicas=0)
    cluster.apply(wanted)
    wanted["metadata"]["labels"] = {"team": "a"}
    assert cluster.apply(wanted)["metadata"]["generation"] == 1
    wanted["spec"]["minReadySeconds"] = 5
    assert cluster.apply(wanted)["metadata"]["generation"] == 2


def test_field_no_longer_sent_goes(cluster: Cluster, namespace: str) -> None:
    cluster.apply(bodies.config_map(namespace, data={"colour": "blue", "size": "big"}, labels={"a": "b"}))
    after = cluster.apply(bodies.config_map(namespace))
    assert after["data"] == {"colour": "blue"}
    assert "labels" not in after["metadata"]


def test_field_of_another_manager_stays(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.config_map(namespace))
    backend.other.apply(bodies.config_map(namespace, data={"size": "big"}, annotations={"theirs": "yes"}))
    after = backend.cluster.apply(bodies.config_map(namespace, data={"colour": "red"}))
    assert after["data"] == {"colour": "red", "size": "big"}
    assert after["metadata"]["annotations"] == {"theirs": "yes"}


def test_conflict_without_force_names_the_field(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.config_map(namespace))
    theirs = bodies.config_map(namespace, data={"colour": "red"})
    message = refusal(lambda: backend.other.apply(theirs, force=False), "NameTaken")
    assert "colour" in message
    found = backend.cluster.get(ObjectRef(CONFIG_MAP, namespace, "settings"))
    assert found is not None
    assert found["data"] == {"colour": "blue"}


def test_force_takes_the_field(backend: Backend, namespace: str) -> None:
    backend.other.apply(bodies.config_map(namespace))
    assert backend.cluster.apply(bodies.config_map(namespace, data={"colour": "red"}))["data"] == {"colour": "red"}
    refusal(lambda: backend.other.apply(bodies.config_map(namespace), force=False), "NameTaken")


def test_same_value_is_no_conflict(backend: Backend, namespace: str) -> None:
    backend.cluster.apply(bodies.config_map(namespace))
    assert backend.other.apply(bodies.config_map(namespace), force=False)["data"] == {"colour": "blue"}
    backend.cluster.apply(bodies.config_map(namespace, data={"size": "big"}))
    found = backend.cluster.get(ObjectRef(CONFIG_MAP, namespace, "settings"))
    assert found is not None
    assert found["data"] == {"colour": "blue", "size": "big"}


def test_dry_run_answers_and_keeps_nothing(cluster: Cluster, namespace: str) -> None:
    answer = cluster.apply(bodies.deployment(namespace), dry_run=True)
    assert answer["spec"]["strategy"]["type"] == "RollingUpdate"
    assert cluster.get(ObjectRef(DEPLOYMENT, namespace, "host")) is None


def test_dry_run_of_a_change_keeps_nothing(cluster: Cluster, namespace: str) -> None:
    before = cluster.apply(bodies.config_map(namespace))
    assert cluster.apply(bodies.config_map(namespace, data={"colour": "red"}), dry_run=True)["data"] == {
        "colour": "red"
    }
    assert cluster.get(ObjectRef(CONFIG_MAP, namespace, "settings")) == before


def test_dry_run_is_refused_as_the_apply_would_be(cluster: Cluster, namespace: str) -> None:
    wrong = bodies.config_map(namespace) | {"colour": "blue"}
    assert "colour" in refusal(lambda: cluster.apply(wrong, dry_run=True), "Invalid")


def _containers(answer: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer["spec"]["template"]["spec"]["containers"]
    return found


def test_lists_by_key_merge(backend: Backend, namespace: str) -> None:
    env = [{"name": "A", "value": "1"}]
    spec = bodies.pod_spec(bodies.container(env=env))
    backend.cluster.apply(bodies.deployment(namespace, spec=spec, replicas=0))
    theirs = bodies.deployment(namespace, spec={"containers": [{"name": "main", "env": [{"name": "B", "value": "2"}]}]})
    merged = backend.other.apply(theirs, force=False)
    assert _containers(merged)[0]["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    assert _containers(merged)[0]["image"] == "example.com/engine:1"
    spec["containers"][0]["env"] = []
    after = backend.cluster.apply(bodies.deployment(namespace, spec=spec, replicas=0))
    assert _containers(after)[0]["env"] == [{"name": "B", "value": "2"}]


def test_container_no_longer_sent_goes(cluster: Cluster, namespace: str) -> None:
    two = bodies.pod_spec(bodies.container(), bodies.container("proxy"))
    assert len(_containers(cluster.apply(bodies.deployment(namespace, spec=two, replicas=0)))) == 2
    after = cluster.apply(bodies.deployment(namespace, replicas=0))
    assert [container["name"] for container in _containers(after)] == ["main"]


def test_order_of_environment_follows_the_apply(cluster: Cluster, namespace: str) -> None:
    for order in ("ABC", "CAB"):
        env = [{"name": name, "value": name.lower()} for name in order]
        spec = bodies.pod_spec(bodies.container(env=env))
        answer = cluster.apply(bodies.deployment(namespace, spec=spec, replicas=0))
        assert [variable["name"] for variable in _containers(answer)[0]["env"]] == list(order)


def test_arguments_are_replaced_as_one(cluster: Cluster, namespace: str) -> None:
    for args in (["serve", "--port", "8000"], ["serve"]):
        spec = bodies.pod_spec(bodies.container(args=args))
        answer = cluster.apply(bodies.deployment(namespace, spec=spec, replicas=0))
        assert _containers(answer)[0]["args"] == args


def test_volume_changes_its_source(cluster: Cluster, namespace: str) -> None:
    sources: list[dict[str, Any]] = [{"emptyDir": {}}, {"persistentVolumeClaim": {"claimName": "weights"}}]
    for source in sources:
        spec = bodies.pod_spec(bodies.container(), volumes=[{"name": "models", **source}])
        answer = cluster.apply(bodies.deployment(namespace, spec=spec, replicas=0))
        assert answer["spec"]["template"]["spec"]["volumes"] == [{"name": "models", **source}]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("replicas", 1),
        ("strategy", {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}),
        ("revisionHistoryLimit", 10),
        ("progressDeadlineSeconds", 600),
    ],
)
def test_defaults_of_a_deployment(cluster: Cluster, namespace: str, field: str, value: Any) -> None:
    assert cluster.apply(bodies.deployment(namespace), dry_run=True)["spec"][field] == value


def test_defaults_of_a_pod_template(cluster: Cluster, namespace: str) -> None:
    probe = {"httpGet": {"port": 8000}}
    container = bodies.container(ports=[{"containerPort": 8000}], startupProbe=probe)
    volumes = [{"name": "key", "secret": {"secretName": "key"}}]
    spec = bodies.pod_spec(container, serviceAccountName="runner", volumes=volumes)
    answer = cluster.apply(bodies.deployment(namespace, spec=spec), dry_run=True)["spec"]["template"]["spec"]
    assert answer == {
        "containers": [
            {
                "name": "main",
                "image": "example.com/engine:1",
                "imagePullPolicy": "IfNotPresent",
                "ports": [{"containerPort": 8000, "protocol": "TCP"}],
                "resources": {},
                "startupProbe": {
                    "httpGet": {"path": "/", "port": 8000, "scheme": "HTTP"},
                    "failureThreshold": 3,
                    "periodSeconds": 10,
                    "successThreshold": 1,
                    "timeoutSeconds": 1,
                },
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "serviceAccount": "runner",
        "serviceAccountName": "runner",
        "terminationGracePeriodSeconds": 30,
        "volumes": [{"name": "key", "secret": {"secretName": "key", "defaultMode": 420}}],
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("example.com/engine", "Always"),
        ("example.com/engine:latest", "Always"),
        ("example.com:5000/engine", "Always"),
        ("example.com:5000/engine:v2", "IfNotPresent"),
        ("example.com/engine@sha256:" + "0" * 64, "IfNotPresent"),
    ],
)
def test_pull_policy_follows_the_image(cluster: Cluster, namespace: str, image: str, policy: str) -> None:
    spec = bodies.pod_spec(bodies.container(image=image))
    assert (
        _containers(cluster.apply(bodies.deployment(namespace, spec=spec), dry_run=True))[0]["imagePullPolicy"]
        == policy
    )


@pytest.mark.parametrize(
    ("written", "stored"),
    [("1000m", "1"), ("0.5", "500m"), ("2", "2"), ("1500m", "1500m"), ("4000", "4k")],
)
def test_cpu_quantities_are_stored_canonically(cluster: Cluster, namespace: str, written: str, stored: str) -> None:
    spec = bodies.pod_spec(bodies.container(resources={"requests": {"cpu": written}}))
    answer = cluster.apply(bodies.deployment(namespace, spec=spec), dry_run=True)
    assert _containers(answer)[0]["resources"]["requests"]["cpu"] == stored


@pytest.mark.parametrize(
    ("written", "stored"),
    [("1024Mi", "1Gi"), ("1.5Gi", "1536Mi"), ("16G", "16G"), ("0.5Gi", "512Mi"), ("1000Mi", "1000Mi"), ("1e9", "1e9")],
)
def test_memory_quantities_are_stored_canonically(cluster: Cluster, namespace: str, written: str, stored: str) -> None:
    spec = bodies.pod_spec(bodies.container(resources={"requests": {"memory": written}}))
    answer = cluster.apply(bodies.deployment(namespace, spec=spec), dry_run=True)
    assert _containers(answer)[0]["resources"]["requests"]["memory"] == stored
