"""The node that runs pods as processes: starts, probes, restarts, ends, and what it tells the cluster."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from smarter.cli.embedded.processes import free_port
from smarter.cluster.processes.launch import Programs
from smarter.cluster.processes.node import NodeSettings, ProcessNode
from smarter.cluster.simulated import open_simulated
from smarter.core.objects import NODE, PERSISTENT_VOLUME_CLAIM, POD, ObjectRef
from tests.contract.cluster import bodies
from tests.unit.cluster.processes.conftest import COMPUTE, DATA, SPACE, Site, probe, server


def body(port: int) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
        return bytes(answer.read())


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_pod_runs_its_init_container_and_then_its_server_until_it_is_deleted(site: Site) -> None:
    port = free_port()
    site.apply(
        "one", server("serve", port, **probe()), initContainers=[server("once", 0, "init", ports=[])], volumes=DATA
    )
    pod = site.until_ready("one")
    assert body(port) == b"weights"
    assert pod["status"]["podIP"] == "127.0.0.1"
    assert pod["spec"]["nodeName"] == "here"
    assert site.state("one", "init")["state"]["terminated"]["exitCode"] == 0
    assert "begin serve" in site.logs("one")
    assert "begin once" in site.logs("one", "init")

    pid = site.pid("one")
    assert site.cluster.delete(ObjectRef(POD, SPACE, "one"))
    assert site.pod("one") is not None, "it stays until its process has ended"
    site.until(lambda: site.pod("one") is None, "gone")
    assert not is_running(pid)
    assert list((site.folder / "pods").iterdir()) == []


def test_two_pods_that_want_one_port_do_not_run_at_once(site: Site) -> None:
    port = free_port()
    site.apply("first", server("serve", port, **probe()), volumes=DATA)
    site.until_ready("first")
    site.apply("second", server("serve", port, **probe()), volumes=DATA)
    site.node.step()
    second = site.pod("second")
    assert second is not None
    assert second["spec"].get("nodeName") is None
    message = bodies.condition_part(second, "PodScheduled", "message")
    assert "1 node(s) didn't have free ports for the requested pod ports" in message

    site.cluster.delete(ObjectRef(POD, SPACE, "first"))
    site.until_ready("second")


def test_a_port_of_another_program_is_told_and_waited_for(site: Site) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        site.apply("one", server("serve", port), volumes=DATA)
        waiting = site.until(lambda: site.state("one").get("state", {}).get("waiting"), "waiting")
        while waiting["reason"] == "ContainerCreating":
            site.node.step()
            waiting = site.state("one")["state"]["waiting"]
    assert waiting == {
        "reason": "RunContainerError",
        "message": f"port {port} is in use by another program of this machine",
    }


def test_a_program_that_is_not_here_is_refused_with_the_reason(site: Site) -> None:
    site.apply("one", bodies.container(image="vllm/vllm-openai:v0.33.0"))

    def refused() -> bool:
        waiting = site.state("one").get("state", {}).get("waiting", {})
        return waiting.get("message") == "the program vllm is not on this machine"

    site.until(refused, "refused")


def test_pods_that_were_not_meant_for_it_do_not_come(site: Site) -> None:
    site.cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "other", "namespace": SPACE},
            "spec": bodies.pod_spec(),
        }
    )
    pod = site.pod("other")
    assert pod is not None
    assert pod["spec"]["nodeName"] != "here"


def test_a_crash_is_followed_by_a_restart_at_once_and_then_by_pauses(site: Site) -> None:
    site.apply("one", server("fail", free_port(), terminationMessagePolicy="FallbackToLogsOnError"), volumes=DATA)

    def backing_off() -> bool:
        return site.state("one").get("state", {}).get("waiting", {}).get("reason") == "CrashLoopBackOff"

    site.until(backing_off, "back-off")
    state = site.state("one")
    assert state["restartCount"] == 1
    assert state["state"]["waiting"]["message"].startswith(
        "back-off 10s restarting failed container=main pod=one_space("
    )
    ended = state["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (7, "Error")
    assert "last words" in ended["message"]
    assert "last words" in site.logs("one")
    assert "last words" in site.logs("one", previous=True)


def test_a_server_that_falls_ill_is_not_ready_and_is_replaced_by_another(site: Site) -> None:
    port = free_port()
    live = probe("livenessProbe", failureThreshold=3)
    site.apply("one", server("serve", port, **probe(failureThreshold=1), **live), volumes=DATA)
    site.until_ready("one")
    pid = site.pid("one")
    (sick,) = (folder / "data" / "sick" for folder in (site.folder / "pods").glob("*/volumes"))
    sick.touch()

    def unready() -> bool:
        pod = site.pod("one")
        return pod is not None and bodies.condition(pod, "Ready") == "False"

    site.until(unready, "not ready")
    assert is_running(pid)
    site.until(lambda: site.state("one")["restartCount"] == 1, "restarted")
    sick.unlink()
    site.until_ready("one")
    assert site.pid("one") != pid
    assert not is_running(pid)


def test_who_does_not_hear_the_signal_is_killed_after_the_grace_period(site: Site) -> None:
    site.apply("one", server("stubborn", free_port(), **probe()), volumes=DATA, terminationGracePeriodSeconds=1)
    site.until_ready("one")
    pid = site.pid("one")
    begun = time.monotonic()
    site.cluster.delete(ObjectRef(POD, SPACE, "one"))
    site.until(lambda: "heard" in site.logs("one"), "it heard the signal")
    assert is_running(pid)
    site.until(lambda: site.pod("one") is None, "gone")
    assert time.monotonic() - begun >= 1
    assert not is_running(pid)


def test_the_hook_before_the_end_delays_the_signal(site: Site) -> None:
    hook = {"lifecycle": {"preStop": {"sleep": {"seconds": 1}}}}
    port = free_port()
    site.apply("one", server("serve", port, **probe(), **hook), volumes=DATA)
    site.until_ready("one")
    begun = time.monotonic()
    site.cluster.delete(ObjectRef(POD, SPACE, "one"))
    site.node.step()
    assert body(port) == b""
    site.until(lambda: site.pod("one") is None, "gone")
    assert time.monotonic() - begun >= 1


def test_a_claim_keeps_what_was_written_until_it_is_deleted(site: Site) -> None:
    site.cluster.apply(bodies.claim(SPACE))
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "weights"}}]
    port = free_port()
    site.apply("first", server("once", 0, ports=[]), volumes=volumes, restartPolicy="Never")
    site.until(lambda: (site.pod("first") or {}).get("status", {}).get("phase") == "Succeeded", "done")
    site.cluster.delete(ObjectRef(POD, SPACE, "first"))
    site.until(lambda: site.pod("first") is None, "gone")
    site.apply("second", server("serve", port, **probe()), volumes=volumes)
    site.until_ready("second")
    assert body(port) == b"weights"
    site.cluster.delete(ObjectRef(POD, SPACE, "second"))
    site.cluster.delete(ObjectRef(PERSISTENT_VOLUME_CLAIM, SPACE, "weights"))
    site.until(lambda: not list((site.folder / "claims").iterdir()), "the weights are gone")


def test_a_node_that_comes_back_starts_its_pods_again_and_says_so(site: Site, programs: Programs) -> None:
    port = free_port()
    site.apply("one", server("serve", port, **probe()), volumes=DATA)
    site.until_ready("one")
    pid = site.pid("one")
    site.node.leave()
    assert not is_running(pid)
    here = site.cluster.get(ObjectRef(NODE, "", "here"))
    assert here is not None
    assert bodies.condition(here, "Ready") != "True"
    pod = site.pod("one")
    assert pod is not None
    assert bodies.condition(pod, "Ready") == "False"

    back = ProcessNode(site.cluster, NodeSettings("here", COMPUTE, site.folder), programs)
    back.join()
    again = Site(site.cluster, back, site.folder)
    try:
        again.until_ready("one")
        state = again.state("one")
        assert state["restartCount"] == 1
        assert state["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
    finally:
        back.leave()


def test_a_node_that_is_killed_takes_its_processes_along_and_loses_its_lease(
    tmp_path: Path, programs: Programs
) -> None:
    file = tmp_path / "other.sqlite"
    cluster = open_simulated(file)
    cluster.apply(bodies.namespace(SPACE))
    command = [sys.executable, "-m", "smarter.cluster.processes", "--cluster", str(file), "--lease-seconds", "2"]
    command += [
        "--folder",
        str(tmp_path / "folder"),
        "--name",
        "here",
        "--program",
        f"engine={programs.paths['engine']}",
    ]
    process = subprocess.Popen(command)
    site = Site(cluster, _Asleep(), tmp_path / "folder")  # type: ignore[arg-type] # its steps are those of the process
    try:
        site.until(lambda: cluster.get(ObjectRef(NODE, "", "here")), "the node is there")
        assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 3, "a second one runs beside it"
        site.apply("one", server("serve", free_port(), **probe()), volumes=DATA)
        site.until_ready("one")
        pid = site.pid("one")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    site.until(lambda: not is_running(pid), "its process has ended")

    def lost() -> bool:
        node = cluster.get(ObjectRef(NODE, "", "here"))
        return node is not None and bodies.condition(node, "Ready") != "True"

    site.until(lost, "the node is not ready")
    pod = site.pod("one")
    assert pod is not None
    assert bodies.condition(pod, "Ready") == "False"
    cluster.delete(ObjectRef(POD, SPACE, "one"))
    site.until(lambda: site.pod("one") is None, "a pod of a lost node can be deleted")
    cluster.close()


class _Asleep:
    def step(self) -> None:
        """Nothing: the node is another process."""
