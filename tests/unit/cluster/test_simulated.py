"""What the simulated cluster has beside the port: a clock, a log, faults on demand, and one file for many processes."""

import multiprocessing
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from smarter.cluster.simulated import Fault, NodeShape, SimulatedCluster, open_simulated
from smarter.cluster.simulation.store import Store
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.objects import CERTIFICATE, CONFIG_MAP, DEPLOYMENT, NAMESPACE, NODE, POD, KubernetesObject, ObjectRef
from tests.contract.cluster import bodies

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
SPACE = "space"
SETTINGS = ObjectRef(CONFIG_MAP, SPACE, "settings")


class Clock:
    """Stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cluster(tmp_path: Path, clock: Clock) -> Iterator[SimulatedCluster]:
    made = open_simulated(tmp_path / "cluster.sqlite", clock)
    made.apply(bodies.namespace(SPACE))
    yield made
    made.close()


def _pods(cluster: SimulatedCluster) -> list[KubernetesObject]:
    return cluster.list(POD, namespace=SPACE)


def _ready_since(pod: KubernetesObject) -> str:
    assert bodies.condition(pod, "Ready") == "True"
    return bodies.condition_part(pod, "Ready", "lastTransitionTime")


def test_nothing_happens_while_the_clock_stands(cluster: SimulatedCluster) -> None:
    cluster.apply(bodies.deployment(SPACE))
    assert [pod["status"]["phase"] for pod in _pods(cluster)] == ["Pending"]
    assert [pod["status"]["phase"] for pod in _pods(cluster)] == ["Pending"]


def test_what_happened_meanwhile_has_its_own_time(cluster: SimulatedCluster, clock: Clock) -> None:
    """Nobody looked for an hour; the pod still became ready within the first second."""
    cluster.apply(bodies.deployment(SPACE))
    clock.pass_seconds(3600)
    assert _ready_since(_pods(cluster)[0]) == "2026-01-01T12:00:00Z"


def test_looking_often_changes_nothing(tmp_path: Path) -> None:
    def life(step: float) -> list[Any]:
        clock = Clock()
        cluster = open_simulated(tmp_path / f"{step}.sqlite", clock)
        cluster.apply(bodies.namespace(SPACE))
        cluster.apply(bodies.deployment(SPACE, fate="crash-loop"))
        for _ in range(int(60 / step)):
            clock.pass_seconds(step)
            _pods(cluster)
        return [pod["status"]["containerStatuses"][0]["restartCount"] for pod in _pods(cluster)]

    assert life(60) == life(0.5) == [3]


def test_the_moved_clock_is_the_clock_of_all(cluster: SimulatedCluster, clock: Clock, tmp_path: Path) -> None:
    other = open_simulated(tmp_path / "cluster.sqlite", clock)
    cluster.apply(bodies.deployment(SPACE))
    other.pass_time(5)
    assert cluster.now() == other.now() == START + timedelta(seconds=5)
    assert _ready_since(_pods(cluster)[0])


def test_endless_fates_stay_bounded(cluster: SimulatedCluster, clock: Clock) -> None:
    """Three days in which a pod would be evicted every few seconds."""
    cluster.apply(bodies.deployment(SPACE, fate="evicted", delay="1s"))
    clock.pass_seconds(3 * 24 * 3600)
    began = time.process_time()
    assert 10 < len(_pods(cluster)) < 1000
    assert time.process_time() - began < 10


def test_back_off_grows(cluster: SimulatedCluster, clock: Clock) -> None:
    cluster.apply(bodies.deployment(SPACE, fate="crash-loop"))
    clock.pass_seconds(3600)
    cluster.list(POD)
    clock.pass_seconds(600)
    before = _pods(cluster)[0]["status"]["containerStatuses"][0]["restartCount"]
    clock.pass_seconds(600)
    after = _pods(cluster)[0]["status"]["containerStatuses"][0]["restartCount"]
    assert 1 <= after - before <= 3, "after a while a container is started every five minutes"


def test_request_log(cluster: SimulatedCluster, clock: Clock, tmp_path: Path) -> None:
    cluster.clear_request_log()
    other = open_simulated(tmp_path / "cluster.sqlite", clock, field_manager="other")
    cluster.apply(bodies.config_map(SPACE), dry_run=True)
    other.apply(bodies.config_map(SPACE))
    cluster.get(SETTINGS)
    cluster.list(CONFIG_MAP, namespace=SPACE)
    cluster.delete(SETTINGS)
    with pytest.raises(PermanentError):
        cluster.apply(bodies.config_map("nowhere"))
    log = cluster.request_log()
    assert [(one.manager, one.verb, one.kind, one.namespace, one.name, one.outcome) for one in log] == [
        ("smarter", "apply", "ConfigMap", SPACE, "settings", "ok"),
        ("other", "apply", "ConfigMap", SPACE, "settings", "ok"),
        ("smarter", "get", "ConfigMap", SPACE, "settings", "ok"),
        ("smarter", "list", "ConfigMap", SPACE, "", "ok"),
        ("smarter", "delete", "ConfigMap", SPACE, "settings", "ok"),
        ("smarter", "apply", "ConfigMap", "nowhere", "settings", "NamespaceMissing"),
    ]
    assert [one.dry_run for one in log] == [True, False, False, False, False, False]
    assert all(one.at == START for one in log)


@pytest.mark.parametrize(
    ("status", "reason", "error"),
    [
        (0, "ClusterUnavailable", TemporaryError),
        (401, "CredentialsInvalid", TemporaryError),
        (403, "Forbidden", PermanentError),
        (409, "Conflict", TemporaryError),
        (422, "Invalid", PermanentError),
        (429, "TooManyRequests", TemporaryError),
        (500, "ClusterUnavailable", TemporaryError),
        (503, "ClusterUnavailable", TemporaryError),
    ],
)
def test_fault_before_the_work(
    cluster: SimulatedCluster, status: int, reason: str, error: type[TemporaryError | PermanentError]
) -> None:
    cluster.inject(Fault(verb="apply", status=status, retry_after="7"))
    with pytest.raises(error) as raised:
        cluster.apply(bodies.config_map(SPACE))
    failure = raised.value
    assert isinstance(failure, TemporaryError | PermanentError)
    assert failure.reason == reason
    assert cluster.get(SETTINGS) is None
    assert cluster.apply(bodies.config_map(SPACE))["data"], "one fault is one fault"
    if isinstance(failure, TemporaryError) and status == 429:
        assert failure.delay_seconds == 7.0


def test_answer_lost_after_the_work(cluster: SimulatedCluster) -> None:
    cluster.inject(Fault(verb="apply", moment="after"))
    with pytest.raises(TemporaryError) as raised:
        cluster.apply(bodies.config_map(SPACE))
    assert raised.value.reason == "ClusterUnavailable"
    assert cluster.get(SETTINGS) is not None
    assert [one.outcome for one in cluster.request_log() if one.verb == "apply"][-1] == "lost"


def test_fault_of_the_kth_request(cluster: SimulatedCluster) -> None:
    cluster.inject(Fault(verb="apply", kind="ConfigMap", name="n-*", skip=2, times=2))
    outcomes = []
    for number in range(6):
        try:
            cluster.apply(bodies.config_map(SPACE, name=f"n-{number}"))
            outcomes.append("ok")
        except TemporaryError:
            outcomes.append("fault")
    assert outcomes == ["ok", "ok", "fault", "fault", "ok", "ok"]


def test_fault_leaves_others_alone(cluster: SimulatedCluster) -> None:
    cluster.inject(Fault(verb="delete", kind="Deployment", times=100))
    cluster.apply(bodies.config_map(SPACE))
    assert cluster.delete(SETTINGS) is True
    with pytest.raises(TemporaryError):
        cluster.delete(ObjectRef(DEPLOYMENT, SPACE, "host"))
    cluster.clear_faults()
    assert cluster.delete(ObjectRef(DEPLOYMENT, SPACE, "host")) is False


def test_slow_request(cluster: SimulatedCluster) -> None:
    cluster.inject(Fault(verb="get", status=None, delay_seconds=0.2))
    began = time.monotonic()
    cluster.get(SETTINGS)
    assert time.monotonic() - began >= 0.2


def test_feature_that_is_not_installed(tmp_path: Path) -> None:
    path = tmp_path / "bare.sqlite"
    bare = open_simulated(path, features=frozenset())
    bare.apply(bodies.namespace(SPACE))
    assert bare.info().features == frozenset()
    for act in (lambda: bare.apply(bodies.certificate(SPACE)), lambda: bare.list(CERTIFICATE)):
        with pytest.raises(PermanentError) as raised:
            act()
        assert raised.value.reason == "KindMissing"
    assert open_simulated(path).info().features == frozenset(), "the file remembers"
    installed = open_simulated(path, features=frozenset({"cert-manager"}))
    assert installed.apply(bodies.certificate(SPACE))["metadata"]["uid"]
    assert bare.list(CERTIFICATE), "and all who share it see the change"


def test_node_that_goes_takes_no_pods(cluster: SimulatedCluster, clock: Clock) -> None:
    for node in cluster.list(NODE):
        cluster.set_node_ready(node["metadata"]["name"], False)
    cluster.apply(bodies.deployment(SPACE))
    clock.pass_seconds(5)
    assert bodies.condition_part(_pods(cluster)[0], "PodScheduled", "reason") == "Unschedulable"
    assert not any(node.ready for node in cluster.info().nodes)
    cluster.set_node_ready("cpu-1", True)
    clock.pass_seconds(5)
    assert _pods(cluster)[0]["spec"]["nodeName"] == "cpu-1"


def test_added_node(cluster: SimulatedCluster, clock: Clock) -> None:
    cluster.apply(bodies.deployment(SPACE, spec=bodies.pod_spec(nodeSelector={"pool": "new"})))
    cluster.add_node(NodeShape("new-1", "x1", 4, 8, labels={"pool": "new"}))
    clock.pass_seconds(5)
    assert _pods(cluster)[0]["spec"]["nodeName"] == "new-1"


def test_removed_node_takes_its_pods_along(cluster: SimulatedCluster, clock: Clock) -> None:
    cluster.add_node(NodeShape("old-1", "x1", 4, 8, labels={"pool": "old"}))
    cluster.apply(bodies.deployment(SPACE, spec=bodies.pod_spec(nodeSelector={"pool": "old"})))
    clock.pass_seconds(5)
    before = _pods(cluster)[0]["metadata"]["uid"]
    cluster.delete(ObjectRef(NODE, "", "old-1"))
    clock.pass_seconds(5)
    after = _pods(cluster)
    assert [pod["metadata"]["uid"] for pod in after] != [before]
    assert [pod["status"]["phase"] for pod in after] == ["Pending"]


def _apply_some(path: Path, mark: str, count: int) -> None:
    cluster = open_simulated(path)
    for number in range(count):
        cluster.apply(bodies.config_map(SPACE, name=f"{mark}-{number}"))
        cluster.apply(bodies.config_map(SPACE, name="shared", data={mark: str(number)}))


def test_processes_share_the_file(tmp_path: Path) -> None:
    path = tmp_path / "shared.sqlite"
    cluster = open_simulated(path)
    cluster.apply(bodies.namespace(SPACE))
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_apply_some, args=(path, mark, 20)) for mark in "abc"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    found = cluster.list(CONFIG_MAP, namespace=SPACE)
    assert (
        len([body for body in found if "-" in body["metadata"]["name"] and body["metadata"]["name"][0] in "abc"]) == 60
    )
    versions = [int(body["metadata"]["resourceVersion"]) for body in found]
    assert len(set(versions)) == len(versions), "no version is given twice"
    assert len([one for one in cluster.request_log() if one.verb == "apply" and one.name != SPACE]) == 120


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_inherited_through_a_fork(cluster: SimulatedCluster) -> None:
    cluster.apply(bodies.config_map(SPACE))
    pid = os.fork()
    if pid == 0:
        found = cluster.get(SETTINGS)
        cluster.apply(bodies.config_map(SPACE, name="of-the-child"))
        os._exit(0 if found else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert cluster.get(ObjectRef(CONFIG_MAP, SPACE, "of-the-child")) is not None
    assert cluster.apply(bodies.config_map(SPACE, data={"colour": "red"}))["data"] == {"colour": "red"}


def _apply_until_killed(path: Path) -> None:
    cluster = open_simulated(path)
    number = 0
    while True:
        cluster.apply(bodies.deployment(SPACE, f"host-{number}"))
        number += 1


def test_kill_leaves_whole_objects_only(tmp_path: Path) -> None:
    path = tmp_path / "killed.sqlite"
    cluster = open_simulated(path)
    cluster.apply(bodies.namespace(SPACE))
    worker = multiprocessing.get_context("spawn").Process(target=_apply_until_killed, args=(path,))
    worker.start()
    while len(cluster.list(DEPLOYMENT)) < 5:
        time.sleep(0.02)
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    worker.join()
    deployments = {body["metadata"]["name"] for body in cluster.list(DEPLOYMENT)}
    logged = {one.name for one in cluster.request_log() if one.verb == "apply" and one.kind == "Deployment"}
    assert logged == deployments, "what is logged is there, and what is there is logged"
    pods = {pod["metadata"]["labels"]["app"] for pod in cluster.list(POD)}
    assert pods == deployments
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_threads_share_one_cluster(cluster: SimulatedCluster) -> None:
    wanted = [bodies.config_map(SPACE, name=f"n-{number}") for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(cluster.apply, wanted))
    assert len({body["metadata"]["resourceVersion"] for body in made}) == 40


def test_failed_work_is_taken_back(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite")
    with pytest.raises(RuntimeError), store.writing() as connection:
        connection.execute("INSERT INTO meta VALUES ('a', 'b')")
        raise RuntimeError
    with store.reading() as connection:
        assert connection.execute("SELECT COUNT(*) FROM meta").fetchone() == (0,)


def test_five_thousand_pods_are_listed_within_a_second(tmp_path: Path) -> None:
    """Costs some seconds to fill. Measured in processor time, which a busy machine does not lengthen."""
    cluster = open_simulated(tmp_path / "large.sqlite")
    cluster.apply(bodies.namespace(SPACE))
    for number in range(10):
        cluster.apply(bodies.deployment(SPACE, f"host-{number}", replicas=500))
    cluster.pass_time(5)
    began = time.process_time()
    pods = cluster.list(POD, label_selector="app")
    seconds = time.process_time() - began
    assert len(pods) == 5000
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}
    assert seconds < 1
    assert cluster.get(ObjectRef(NAMESPACE, "", SPACE)) is not None
