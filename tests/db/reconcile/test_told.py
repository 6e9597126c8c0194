"""What only Events tell is told in the status, at a bounded cost; and a secret that a server prints is not shown."""

from datetime import timedelta

import pytest

from smarter.apps.reconcile import happenings
from smarter.apps.resources.live import LogRequest, read_logs
from smarter.apps.secrets import services as secrets
from tests.db.reconcile.fates import give_fate
from tests.db.reconcile.world import HOST, LLM_HOST, World

pytestmark = pytest.mark.django_db(transaction=True)


def event_lists(world: World) -> int:
    return sum(one.verb == "list" and one.kind == "Event" for one in world.sim.request_log())


@pytest.fixture(autouse=True)
def forgetful() -> None:
    happenings._known.clear()


def test_a_volume_that_is_held_elsewhere_is_told_from_its_event(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # The clock of the cluster runs ahead of the one that looks, so what is old there seems young here.
    monkeypatch.setattr(happenings, "STUCK_AFTER", timedelta(days=-1))
    give_fate(monkeypatch, "multi-attach")
    world.apply(HOST.format(name="a"))
    for _ in range(4):
        world.round()
    happenings._known.clear()
    before = event_lists(world)
    for _ in range(4):
        world.round()
    status = world.status()
    assert (status["hostStatus"], status["healthy"]) == ("pending", False)
    assert "attached to another node" in status["message"]
    conditions = {one["type"]: one for one in status["conditions"]}
    assert conditions["Available"]["reason"] == "MultiAttach"
    assert event_lists(world) == before + 1, "read once, and not again within some seconds"


def test_events_of_hosts_that_get_on_are_not_read(world: World) -> None:
    world.apply(HOST.format(name="a"))
    world.settle()
    assert event_lists(world) == 0


def key_of(world: World) -> str:
    name = "llmhost_a_api_key"
    return secrets.use(world.actor.account, [name], "test")[name].value.get_secret_value()


def test_a_key_that_a_server_prints_is_shown_to_nobody(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.apply(HOST.format(name="a"))
    world.settle()
    key = key_of(world)
    message = f"server_args=ServerArgs(api_key='{key}')\nValueError: bad api_key={key} at start"
    give_fate(monkeypatch, "crash-loop", message=message)
    world.apply(HOST.format(name="a") + "  healthCheck:\n    periodSeconds: 11\n")
    for _ in range(8):
        world.round()
    status = world.status()
    assert "bad api_key=***" in status["message"]
    assert key not in repr(status)
    logs = read_logs(world.actor, LLM_HOST, "a", LogRequest(previous=True))
    assert "api_key='***'" in logs.text
    assert key not in logs.text
    live = world.sim.logs(
        next(pod["metadata"]["namespace"] for pod in world.objects() if pod["kind"] == "Pod"),
        logs.pod,
        container=logs.container,
        previous=True,
    )
    assert key in live, "the server did print it"
