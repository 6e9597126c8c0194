"""When something counts as reached, pending or failing; and what a wait makes of a server that goes away."""

from typing import Any

import httpx
import pytest

from smarter.cli import output
from smarter.cli.progress import standing
from smarter.cli.waiting import ACTIVE, DELETED, INACTIVE, Goal, judge
from smarter.cli.watch_commands import goal_of
from tests.unit.cli.conftest import FakeClock, Run
from tests.unit.cli.fake_server import FakeServer, gone, host, problem, status

READY = Goal("ready", "true")


@pytest.mark.parametrize(
    ("state", "goal", "generation", "verdict"),
    [
        (status("active"), ACTIVE, 1, "reached"),
        (status("active", observed=1), ACTIVE, 2, "pending"),
        (status("active", ready=False), ACTIVE, 1, "pending"),
        ({"hostStatus": "active", "observedGeneration": 1}, ACTIVE, 1, "reached"),
        ({"hostStatus": "degraded", "observedGeneration": 1}, ACTIVE, 1, "pending"),
        (status("downloading"), ACTIVE, 1, "pending"),
        (status("error"), ACTIVE, 1, "failing"),
        ({}, ACTIVE, 1, "pending"),
        ({"conditions": None}, ACTIVE, 0, "pending"),
        (status("inactive"), INACTIVE, 1, "reached"),
        (status("inactive", observed=1), INACTIVE, 2, "pending"),
        (status("error"), INACTIVE, 1, "pending"),
        (status("active"), DELETED, 1, "pending"),
        (status("active"), READY, 1, "reached"),
        (status("active", observed=1), READY, 2, "pending"),
        (status("error"), READY, 1, "failing"),
        (status("pending"), Goal("ready", "false"), 1, "reached"),
        (status("active"), Goal("absent", "true"), 1, "pending"),
    ],
)
def test_judge(state: dict[str, Any], goal: Goal, generation: int, verdict: str) -> None:
    assert judge(host("h", **state), goal, generation) == verdict


def test_what_is_not_there_is_deleted_and_not_active() -> None:
    assert judge(None, DELETED, 1) == "reached"
    assert judge(None, ACTIVE, 1) == "pending"


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("active", ACTIVE),
        ("Inactive", INACTIVE),
        ("deleted", DELETED),
        ("condition=Ready", READY),
        ("condition=Ready=True", READY),
        ("condition=Reconciled=False", Goal("reconciled", "false")),
    ],
)
def test_goals(text: str, goal: Goal) -> None:
    assert goal_of(text) == goal


@pytest.mark.parametrize("text", ["ready", "condition", "condition=", "condition==True", "jsonpath=x"])
def test_goals_that_nobody_knows(run: Run, server: FakeServer, text: str) -> None:
    done = run("wait", "llmhost", "h", "--for", text)
    assert (done.code, server.requests) == (2, [])


def test_wait_prints_the_result_on_standard_output(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.states["h"] = [status("pending"), status("active")]
    done = run("wait", "llmhost", "h", "--for", "condition=Ready", "-q")
    assert (done.code, done.out, done.err) == (0, "llmhost/h is at condition=ready=true\n", "")


def test_wait_for_a_deletion(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.states["h"] = [status("deleting"), status("deleting"), gone()]
    done = run("wait", "llmhost/h", "--for", "deleted")
    assert (done.code, done.out) == (0, "llmhost/h is deleted\n")


def test_wait_for_what_does_not_exist(run: Run) -> None:
    assert run("wait", "llmhost", "h").code == 4


def test_the_generation_that_is_declared_now_counts(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.generations["h"] = 5
    server.states["h"] = [status("active", observed=4), status("active", observed=5)]
    assert run("wait", "llmhost", "h").code == 0
    assert sum(clock.slept) == 2


def test_an_error_that_goes_away_is_no_failure(run: Run, server: FakeServer, clock: FakeClock) -> None:
    error, better = status("error"), status("deploying")
    server.states["h"] = [error, error, better, error, error, status("active")]
    assert run("wait", "llmhost", "h").code == 0


def test_an_error_of_an_older_generation_is_given_time(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.generations["h"] = 2
    old = status("error", "of before", observed=1)
    server.states["h"] = [old] * 10 + [status("active", observed=2)]
    assert run("wait", "llmhost", "h").code == 0


def test_an_error_of_an_older_generation_that_stays_is_a_failure(
    run: Run, server: FakeServer, clock: FakeClock
) -> None:
    server.generations["h"] = 2
    server.states["h"] = [status("error", "the quota is used up", observed=1)]
    assert run("wait", "llmhost", "h").code == 7
    assert 20 <= sum(clock.slept) <= 30


def test_a_server_that_restarts_does_not_end_the_wait(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.states["h"] = [status("pending"), *[problem(503, "unavailable", "Starting.")] * 20, status("active")]
    assert run("wait", "llmhost", "h").code == 0


def test_a_server_that_stays_away_does(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.states["h"] = [status("pending")]
    assert run("get", "llmhosts").code == 0
    lost = httpx.ConnectError("[Errno 111] Connection refused")
    server.routes["GET /api/v1/llmhosts/h"] = lambda request: (_ for _ in ()).throw(lost)
    done = run("wait", "llmhost", "h", "--timeout", "1h")
    assert done.code == 8
    assert "the connection was refused" in done.err
    assert sum(clock.slept) < 180


def test_a_long_wait_gives_a_sign_of_life(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.states["h"] = [status("pending", "no GPU is free")]
    done = run("wait", "llmhost", "h", "--timeout", "100s")
    assert [line.split("]")[0] for line in done.err.splitlines()[:-1]] == ["[   0s", "[  30s", "[  60s", "[  90s"]


def test_a_long_wait_is_silent_when_asked_to_be(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.states["h"] = [status("pending", "no GPU is free")]
    done = run("wait", "llmhost", "h", "--timeout", "100s", "-q")
    assert done.err == "error: Not active after 100s. llmhost/h pending: no GPU is free\n"


def test_something_that_cannot_be_deployed_is_active_when_it_exists(run: Run, server: FakeServer) -> None:
    server.states["hub"] = [{}]
    assert run("wait", "secret", "hub").code == 0


@pytest.mark.parametrize(
    ("state", "message", "line"),
    [("", "", "h accepted"), ("", "not deployed", "h: not deployed"), ("active", "", "h active"), ("a", "b", "h a: b")],
)
def test_where_something_stands(state: str, message: str, line: str) -> None:
    assert standing("h", state, message) == line


def test_on_a_terminal_each_state_is_printed_once_above_the_live_line(
    run: Run, server: FakeServer, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    server.states["h"] = [status("downloading", "1 %"), status("downloading", "2 %"), status("active")]
    done = run("wait", "llmhost", "h")
    assert done.code == 0
    lines = [line for line in done.err.splitlines() if line.startswith("[")]
    assert lines == ["[   0s] llmhost/h downloading: 1 %", "[   4s] llmhost/h active"]
