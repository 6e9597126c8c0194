"""Real Celery processes on a real broker: children and groups killed, the broker gone, emptied, or full of rubbish.

Each part has hosts of its own.
"""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery
from django.conf import settings
from django.test import Client

from smarter.apps.accounts.services import SCOPES, create_api_key
from smarter.apps.clusters import connections
from smarter.apps.reconcile.queries import worker_age_seconds
from smarter.apps.resources import hint
from smarter.cluster.simulated import Fault, NodeShape
from smarter.core import naming
from tests.db.reconcile.world import HOST
from tests.faults import invariants
from tests.faults.celery_stack import Broker, CeleryStack
from tests.faults.rig import LEASE_SECONDS, POLL_SECONDS, Rig, applied, deploy, is_alive, make_rig, wait_until

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("faults-live")]

STALL_SECONDS = 600.0
START_SECONDS = 60.0
CONVERGE_SECONDS = LEASE_SECONDS + 2 * POLL_SECONDS
SLACK_SECONDS = 20.0
"""For starting processes, and for a machine that does other work too."""
ACCEPT_SECONDS = 5.0


Made = tuple[CeleryStack, Rig]


@pytest.fixture
def stack(transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    before = settings.SMARTER.simulated_cluster_file
    broker = Broker(tmp_path)
    broker.start()
    monkeypatch.setattr(settings, "CELERY_BROKER_URL", broker.url)
    monkeypatch.setattr(hint, "_sender", Celery("hints", set_as_current=False))
    monkeypatch.setattr(hint, "_silent_until", 0.0)
    rig = make_rig(tmp_path)
    for index in range(10):
        rig.sim.add_node(NodeShape(f"gpu-extra-{index}", "g6.2xlarge", 8, 32, 1, "gpu_l4_1x", "NVIDIA-L4"))
    made = CeleryStack(broker, rig.cluster_file, tmp_path)
    try:
        made.start("worker")
        made.start("beat")
        wait_until(lambda: worker_age_seconds() is not None, "a worker has worked", START_SECONDS)
        yield made, rig
    finally:
        made.stop()
        rig.oracle.close()
        connections.close_all()
        settings.SMARTER.simulated_cluster_file = before


def test_workers_and_broker_come_to_harm_and_nothing_is_lost(stack: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting the processes takes longer than all else, so one stack goes through all of it."""
    made, rig = stack
    killed_children_and_killed_groups_are_made_good(made, rig)
    without_a_broker_the_api_accepts_and_work_goes_on_when_it_is_back(made, rig)
    messages_lost_doubled_and_emptied_change_nothing(made, rig, monkeypatch)
    forged_messages_are_refused_and_the_worker_lives(made, rig)


def active(rig: Rig, name: str) -> bool:
    return applied(rig, name) and rig.host(name).state.phase == "active"


def stalled_deploy(rig: Rig, name: str) -> None:
    """A worker's child is in the middle of a deploy of `name` and stays there."""
    space = naming.namespace(rig.actor.account.number)
    rig.sim.inject(
        Fault("apply", "Deployment", namespace=space, status=None, delay_seconds=STALL_SECONDS, message=name)
    )
    deploy(rig, name)
    wait_until(lambda: not rig.oracle.is_waiting(name), "a child is in the middle of the deploy")


def holder_of(rig: Rig, name: str) -> int:
    return int(rig.host(name).state.lease_owner.rpartition(":")[2])


def killed_children_and_killed_groups_are_made_good(made: CeleryStack, rig: Rig) -> None:
    stalled_deploy(rig, "child")
    child = holder_of(rig, "child")
    assert child in made.children("worker")
    os.kill(child, signal.SIGKILL)
    wait_until(lambda: not is_alive(child), "the child is gone")
    took = wait_until(lambda: applied(rig, "child"), "the deploy is finished", CONVERGE_SECONDS + SLACK_SECONDS)
    assert made.is_alive("worker"), "the group survives the loss of a child"
    wait_until(lambda: active(rig, "child"), "active")
    stalled_deploy(rig, "group")
    made.kill_group("worker")
    time.sleep(POLL_SECONDS)
    assert not applied(rig, "group")
    made.start("worker")
    wait_until(lambda: active(rig, "group"), "a new group finishes", CONVERGE_SECONDS + SLACK_SECONDS + START_SECONDS)
    for name in ("child", "group"):
        assert len(rig.oracle.deployments_ever(rig.host(name).uid)) == 1
    invariants.check_soon(rig.sim, rig.oracle)
    assert took > 0


def http_apply(rig: Rig, text: str) -> float:
    """Through the HTTP edge; the seconds that it took."""
    _, key = create_api_key(rig.actor.account, rig.actor.user, f"key_{time.monotonic_ns()}", scopes=SCOPES)
    begun = time.monotonic()
    answer = Client(raise_request_exception=False).generic(
        "POST",
        "/api/v1/apply?deploy=true",
        text,
        content_type="application/yaml",
        headers={"Authorization": f"Bearer {key.get_secret_value()}"},
    )
    assert answer.status_code in {200, 201, 202}, answer.content
    return time.monotonic() - begun


def without_a_broker_the_api_accepts_and_work_goes_on_when_it_is_back(made: CeleryStack, rig: Rig) -> None:
    made.broker.kill()
    for name in ("down_a", "down_b"):
        assert http_apply(rig, HOST.format(name=name)) < ACCEPT_SECONDS
    assert rig.host("down_a").deployed
    made.broker.start()
    wait_until(lambda: active(rig, "down_a") and active(rig, "down_b"), "active without a restart", 60)
    assert made.is_alive("worker")
    invariants.check_soon(rig.sim, rig.oracle)


def messages_lost_doubled_and_emptied_change_nothing(
    made: CeleryStack, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as lost:
        lost.setattr(hint, "_send", lambda resource_ids: None)
        deploy(rig, "lost")
    wait_until(lambda: applied(rig, "lost"), "the sweep alone deploys", SLACK_SECONDS)
    text = HOST.format(name="doubled")
    deploy(rig, "doubled")
    made.broker.flush()
    sender = Celery("many", broker=made.broker.url, set_as_current=False)
    ids = [rig.host(name).pk for name in ("lost", "doubled")] * 5
    for resource_id in [*ids, *reversed(ids)]:
        sender.send_task(hint.TASK, args=[resource_id], ignore_result=True)
    rig.apply(text.replace("v0.33.0", "v0.34.0"))
    made.broker.flush()
    for resource_id in ids:
        sender.send_task(hint.TASK, args=[resource_id], ignore_result=True)
    wait_until(lambda: active(rig, "lost") and active(rig, "doubled"), "active", 60)
    sender.close()
    uid = rig.host("doubled").uid
    wait_until(lambda: rig.oracle.images_ever(uid)[-1].endswith("v0.34.0"), "the last generation wins")
    assert len(rig.oracle.deployments_ever(uid)) == 1
    written = [one for one in rig.sim.request_log() if (one.verb, one.kind) == ("apply", "Deployment")]
    assert len([one for one in written if "doubled" in one.name]) == 2, "one write for each generation"
    invariants.check_soon(rig.sim, rig.oracle)


FORGED = (
    ("smarter.reconcile.hint", [-1]),
    ("smarter.reconcile.hint", ["1; drop table"]),
    ("smarter.reconcile.hint", [2**80]),
    ("smarter.reconcile.hint", [987654321]),
    ("smarter.reconcile.hint", [None]),
    ("smarter.reconcile.hint", [True]),
    ("smarter.reconcile.hint", [{"id": 1}]),
    ("smarter.reconcile.hint", [1, 2, 3, 4]),
    ("smarter.reconcile.sweep", ["unasked"]),
    ("os.system", ["true"]),
    ("smarter.reconcile.hint", ["x" * 10_000_000]),
)


def forged_messages_are_refused_and_the_worker_lives(made: CeleryStack, rig: Rig) -> None:
    sender = Celery("forger", broker=made.broker.url, set_as_current=False)
    for task, arguments in FORGED:
        sender.send_task(task, args=arguments, ignore_result=True)
    sender.send_task(hint.TASK, args=[1], serializer="pickle", ignore_result=True)
    deploy(rig, "after")
    wait_until(lambda: active(rig, "after"), "a deploy after the rubbish", 60)
    sender.close()
    assert made.is_alive("worker")
    told = made.log("worker")
    assert "pickle" in told, "the content that is not accepted was seen"
    assert "unregistered task" in told or "os.system" in told, "the unknown task was seen"
    invariants.check_soon(rig.sim, rig.oracle)
