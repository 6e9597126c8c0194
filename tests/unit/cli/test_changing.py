"""`delete`, `deploy` and `undeploy`."""

from pathlib import Path

import httpx
import pytest

from tests.unit.cli.conftest import FakeClock, Run
from tests.unit.cli.fake_server import HOST_YAML, FakeServer, gone, problem, status

BOTH = f"""\
apiVersion: smarter.sh/v1
kind: Secret
metadata: {{name: hub}}
spec: {{config: {{value: hunter2}}}}
---
{HOST_YAML}"""


def test_delete_needs_a_yes_where_nobody_can_be_asked(run: Run, server: FakeServer) -> None:
    done = run("delete", "llmhost", "h")
    assert done.code == 2
    assert "Say --yes to delete llmhost/h" in done.err
    assert server.deleted == []


def test_delete(run: Run, server: FakeServer) -> None:
    done = run("delete", "llmhost", "h", "--yes")
    assert (done.code, done.out, server.deleted) == (0, "llmhost/h deleting\n", ["h"])


def test_delete_of_what_is_not_there(run: Run, server: FakeServer) -> None:
    server.routes["DELETE /api/v1/llmhosts/h"] = lambda request: gone()
    assert run("delete", "llmhost", "h", "--yes").code == 4


def test_delete_of_what_is_in_use(run: Run, server: FakeServer) -> None:
    server.routes["DELETE /api/v1/secrets/hub"] = lambda request: problem(409, "in_use", "LLMHost h uses it.")
    done = run("delete", "secret", "hub", "-y")
    assert (done.code, done.err) == (5, "error: LLMHost h uses it.\n")


def test_delete_and_wait(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.states["h"] = [status("deleting", "3 objects remain"), status("deleting"), gone()]
    done = run("delete", "llmhost", "h", "-y", "--wait", "5m")
    assert done.code == 0
    assert done.err.splitlines()[-1] == "[   4s] llmhost/h deleted"


def test_delete_that_takes_too_long(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.states["h"] = [status("deleting", "1 object remains")]
    done = run("delete", "llmhost", "h", "-y", "--wait", "5s")
    assert done.code == 6
    assert "Not deleted after 5s. llmhost/h deleting: 1 object remains" in done.err


def test_delete_of_a_file_goes_backwards(run: Run, server: FakeServer) -> None:
    assert run("delete", "-f", "-", "--yes", stdin=BOTH).code == 0
    assert server.deleted == ["my_host", "hub"]


def test_delete_of_a_file_takes_what_is_gone_as_done(run: Run, server: FakeServer) -> None:
    server.routes["DELETE /api/v1/llmhosts/my_host"] = lambda request: gone()
    done = run("delete", "-f", "-", "--yes", stdin=BOTH)
    assert done.code == 0
    assert "llmhost/my_host is not there" in done.out


def test_delete_of_a_file_comes_back_to_what_was_in_use(run: Run, server: FakeServer, clock: FakeClock) -> None:
    refusals = [problem(409, "in_use", "my_host uses it.")]
    server.routes["DELETE /api/v1/secrets/hub"] = lambda request: (
        refusals.pop() if refusals else httpx.Response(200, json={"state": "deleted"})
    )
    server.states["my_host"] = [status("deleting"), gone()]
    done = run("delete", "-f", "-", "--yes", "--wait", "1m", stdin=BOTH)
    assert done.code == 0
    assert done.out.splitlines() == ["llmhost/my_host deleting", "secret/hub deleted"]


def test_delete_of_a_file_gives_up_when_nothing_helps(run: Run, server: FakeServer) -> None:
    server.routes["DELETE /api/v1/secrets/hub"] = lambda request: problem(409, "in_use", "Something else uses it.")
    assert run("delete", "-f", "-", "--yes", stdin=BOTH).code == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "<stdin>:"),
        ("apiVersion: smarter.sh/v1\nkind: Nothing\nmetadata: {name: x}\n", "name nothing that the server knows"),
        ("apiVersion: smarter.sh/v1\nkind: LLMHost\n", "metadata.name is missing"),
        ("apiVersion: smarter.sh/v1\nkind: LLMHost\nmetadata: {name: 5}\n", "metadata.name is missing"),
    ],
)
def test_delete_of_a_file_that_is_wrong_deletes_nothing(run: Run, server: FakeServer, text: str, words: str) -> None:
    done = run("delete", "-f", "-", "--yes", stdin=text)
    assert done.code == 2
    assert words in done.err
    assert server.paths("DELETE") == []


@pytest.mark.parametrize("arguments", [[], ["llmhost", "h", "-f", "x"]])
def test_either_a_name_or_a_file(run: Run, arguments: list[str]) -> None:
    assert run("delete", "--yes", *arguments).code == 2


@pytest.mark.parametrize(("verb", "state"), [("deploy", "active"), ("undeploy", "inactive")])
def test_switching(run: Run, server: FakeServer, clock: FakeClock, verb: str, state: str) -> None:
    server.generations["h"] = 3
    before = status("inactive" if state == "active" else "active", observed=2)
    answer = httpx.Response(200, json={}, headers={"Smarter-Generation": "3"})
    server.routes[f"POST /api/v1/llmhosts/h/{verb}"] = lambda request: answer
    server.states["h"] = [before, status(state, observed=3)]
    done = run(verb, "llmhost", "h", "--wait", "5m")
    assert (done.code, done.out) == (0, f"llmhost/h {verb}ed\n")
    assert sum(clock.slept) == 2


def test_deploying_what_cannot_be(run: Run, server: FakeServer) -> None:
    server.routes["POST /api/v1/secrets/s/deploy"] = lambda request: problem(422, "not_deployable", "It cannot be.")
    assert run("deploy", "secret", "s").code == 2


def test_folders_can_be_deleted_too(run: Run, server: FakeServer, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(HOST_YAML)
    assert run("delete", "-f", str(tmp_path), "--yes").code == 0
    assert server.deleted == ["my_host"]
