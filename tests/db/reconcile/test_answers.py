"""Generative hosts are asked for one token once in a while: the answer is a condition, and a server that has stopped
making tokens makes its host degraded. Nobody is asked whom the operator did not name."""

import logging
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.conf import settings
from django.utils import timezone

from smarter.apps.reconcile import answers
from smarter.apps.reconcile.models import AnswerCheck
from smarter.apps.secrets import services as secrets
from smarter.cluster.asking import Reply, Request, ask
from tests.db.reconcile.world import HOST, World
from tests.unit.cluster.hostile_server import HostileServer, hostile_server

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with hostile_server() as made:
        yield made


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, server: HostileServer) -> list[Request]:
    """What would be sent to a Service of the simulated cluster goes to the server instead, and is remembered. The last
    word of the host's name is the path, so it chooses how the server behaves."""
    sent: list[Request] = []

    def redirected(request: Request) -> Reply:
        sent.append(request)
        behaviour = BEHAVIOUR[0]
        return ask(replace(request, address="127.0.0.1", port=server.port, path=behaviour, allow_loopback=True))

    monkeypatch.setattr(answers, "ask", redirected)
    monkeypatch.setattr(settings.SMARTER, "answer_check_clusters", "default")
    BEHAVIOUR[:] = ["/good"]
    return sent


BEHAVIOUR = ["/good"]


def ask_now() -> int:
    answers.ask_due()
    AnswerCheck.objects.update(next_at=timezone.now())
    return answers.ask_due()


def condition(world: World) -> dict[str, str]:
    found = [one for one in world.status()["conditions"] if one["type"] == "Answers"]
    return found[0] if found else {}


def test_an_answer_is_a_condition(world: World, asked: list[Request]) -> None:
    world.apply(HOST.format(name="a"))
    world.settle()
    assert ask_now() == 1
    assert asked[0].path == "/v1/completions"
    assert asked[0].address.startswith("10.96.")
    world.round()
    assert (condition(world)["status"], condition(world)["reason"]) == ("True", "Answered")
    assert world.status()["hostStatus"] == "active"


def test_a_server_that_makes_no_tokens_is_degraded_after_some_questions(world: World, asked: list[Request]) -> None:
    world.apply(HOST.format(name="a"))
    world.settle()
    BEHAVIOUR[:] = ["/wrong"]
    ask_now()
    world.round()
    assert world.status()["hostStatus"] == "active", "one failure may be chance"
    assert condition(world)["status"] == "False"
    for _ in range(2):
        ask_now()
    world.round()
    status = world.status()
    assert (status["hostStatus"], status["healthy"]) == ("degraded", True)
    assert "one token" in status["message"]
    assert world.host().state.ready is False
    BEHAVIOUR[:] = ["/good"]
    ask_now()
    world.round()
    assert world.status()["hostStatus"] == "active"
    assert world.host().state.ready is True


def test_nobody_is_asked_unless_the_operator_says_so(world: World, asked: list[Request]) -> None:
    settings.SMARTER.answer_check_clusters = "another"
    world.apply(HOST.format(name="a"))
    world.settle()
    assert ask_now() == 0
    assert asked == []
    world.round()
    assert condition(world) == {}


def test_a_host_that_does_not_serve_is_not_asked(world: World, asked: list[Request]) -> None:
    world.apply(HOST.format(name="a"))
    world.settle()
    ask_now()
    before = len(asked)
    world.undeploy()
    world.settle(phase="inactive")
    assert ask_now() == 0
    assert len(asked) == before


def test_slow_servers_hold_a_worker_for_seconds_only(
    world: World, asked: list[Request], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("a", "b"):
        world.apply(HOST.format(name=name))
    world.settle("a")
    world.settle("b")
    answers.ask_due()
    AnswerCheck.objects.update(next_at=timezone.now())
    BEHAVIOUR[:] = ["/drip"]
    began = time.monotonic()
    assert answers.ask_due() == 2
    assert time.monotonic() - began < 6.0
    names = ["llmhost_a_api_key", "llmhost_b_api_key"]
    values = [fact.value.get_secret_value() for fact in secrets.use(world.actor.account, names, "test").values()]
    assert [request.key.get_secret_value() for request in asked[:2] if request.key]
    assert not any(value in caplog.text for value in values)
    assert not any(value in repr(asked) for value in values)
