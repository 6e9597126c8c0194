"""`get`, `describe`, `kinds`, `schema`, `example`, `events` and `logs`."""

from typing import Any

import httpx
import pytest
import yaml

from smarter.cli import clock as clock_module
from smarter.cli.kinds import KindInfo, kinds_from, resolve
from smarter.cli.watch_commands import new_lines
from tests.unit.cli.conftest import FakeClock, Run
from tests.unit.cli.fake_server import HOST_YAML, KINDS, FakeServer, gone, parsed, problem, status

KNOWN = kinds_from({"items": KINDS})


def answer(server: FakeServer, path: str, *bodies: Any) -> None:
    left = list(bodies)

    def route(request: httpx.Request) -> httpx.Response:
        body = left.pop(0) if len(left) > 1 else left[0]
        return body if isinstance(body, httpx.Response) else httpx.Response(200, json=body)

    server.routes[f"GET /api/v1/{path}"] = route


@pytest.mark.parametrize(
    "text", ["llmhost", "llmhosts", "LLMHost", "LLMHosts", "llm_host", "llm-hosts", "llmhost.smarter.sh"]
)
def test_the_ways_to_write_a_kind(text: str) -> None:
    assert resolve(KNOWN, text).name == "LLMHost"


@pytest.mark.parametrize("text", ["model.neuronetes.io", "Models.neuronetes.io", "models.NeuroNetes.io"])
def test_a_kind_with_its_group(text: str) -> None:
    found = resolve(KNOWN, text)
    assert found.api_version == "neuronetes.io/v1alpha1"
    assert found.path == "/api/v1/models.neuronetes.io"


def test_an_ambiguous_kind_is_refused_with_the_choices(run: Run) -> None:
    done = run("get", "models")
    assert done.code == 2
    assert "models.neuronetes.io or models.thalamus.cloud" in done.err


def test_an_unknown_kind_is_refused_with_a_suggestion(run: Run) -> None:
    done = run("get", "lmhosts")
    assert done.code == 2
    assert "Did you mean llmhosts?" in done.err


def test_a_name_cannot_lead_to_another_address() -> None:
    assert KindInfo("a/v1", "K", "ks").item_path("../secrets?x=1#y") == "/api/v1/ks/..%2Fsecrets%3Fx%3D1%23y"


def test_a_list_has_the_columns_of_the_kind(run: Run, server: FakeServer) -> None:
    server.states = {"b": [status("active", pricePerHour="1.006")], "a": [status("pending")]}
    assert run("get", "llmhosts").out.splitlines() == [
        "NAME   STATUS    PRICE/H",
        "a      pending   -",
        "b      active    1.006",
    ]


def test_a_long_list_is_read_to_its_end(run: Run, server: FakeServer) -> None:
    server.states = {f"h{number:03}": [status("active")] for number in range(450)}
    done = run("get", "llmhosts", "-o", "name")
    assert done.out.splitlines() == [f"llmhost/h{number:03}" for number in range(450)]
    assert len([path for path in server.paths("GET") if path.endswith("llmhosts")]) == 3


def test_an_empty_list(run: Run) -> None:
    assert run("get", "llmhosts").err == "There are no llmhosts.\n"
    assert parsed(run("get", "llmhosts", "-o", "json").out) == {"items": []}
    assert run("get", "llmhosts", "-o", "yaml").out == ""


def test_several_manifests_are_documents_of_one_stream(run: Run, server: FakeServer) -> None:
    server.states = {"a": [status("active")], "b": [status("active")]}
    documents = list(yaml.safe_load_all(run("get", "llmhosts", "-o", "yaml").out))
    assert [document["metadata"]["name"] for document in documents] == ["a", "b"]


def test_one_manifest_that_is_not_there(run: Run) -> None:
    assert run("get", "llmhost", "a").code == 4
    assert run("get", "llmhost/a").code == 4


@pytest.mark.parametrize("words", [["a", "b", "c"], ["a/b", "c"]])
def test_too_many_words(run: Run, server: FakeServer, words: list[str]) -> None:
    assert run("get", *words).code == 2
    assert server.requests == []


@pytest.mark.parametrize("command", ["describe", "deploy", "undeploy", "logs", "events", "wait"])
def test_a_name_is_needed(run: Run, server: FakeServer, command: str) -> None:
    assert run(command, "llmhost").code == 2
    assert server.requests == []


def test_describe(run: Run, server: FakeServer) -> None:
    server.states["h"] = [status("error", "no GPU\nis free", pods=[{"name": "p"}], dependencies=[])]
    answer(server, "llmhosts/h/events", {"items": [event("late"), event("early")]})
    live = [{"kind": "Pod", "metadata": {"namespace": "ns", "name": "p-1"}}]
    answer(server, "llmhosts/h/objects", {"rendered": [], "live": live, "cluster": {"answered": True, "message": ""}})
    text = run("describe", "llmhost", "h").out
    assert "  message              no GPU\n                       is free" in text
    assert "Pod   ns/p-1" in text
    assert text.index("early") < text.index("late")
    assert "type: vllm" in text


def test_describe_shows_the_warnings(run: Run, server: FakeServer) -> None:
    kept = {"code": "port", "path": "spec.engine.port", "message": "Use a higher one."}
    server.states["h"] = [status("active", warnings=[kept])]
    text = run("describe", "llmhost", "h").out
    assert "Warnings" in text
    assert "spec.engine.port   port   Use a higher one." in text


def event(reason: str) -> dict[str, str]:
    return {"at": "2026-11-30T20:59:50.123456+00:00", "type": "Normal", "reason": reason, "message": "m"}


def test_describe_without_an_answer_of_the_cluster(run: Run, server: FakeServer, clock: FakeClock) -> None:
    server.states["h"] = [status("active")]
    answer(server, "llmhosts/h/objects", problem(503, "cluster_unavailable", "The cluster does not answer."))
    done = run("describe", "llmhost", "h")
    assert done.code == 0
    assert "none   The cluster does not answer." in done.out


def test_kinds(run: Run) -> None:
    assert run("kinds", "-o", "name").out.split() == [
        "llmhosts", "secrets", "models.neuronetes.io", "models.thalamus.cloud"
    ]  # fmt: skip
    assert parsed(run("kinds", "-o", "json").out)["items"] == KINDS
    assert yaml.safe_load(run("kinds", "-o", "yaml").out)["items"] == KINDS


def test_schema_and_example(run: Run, server: FakeServer) -> None:
    assert parsed(run("schema", "llm_hosts").out) == {"type": "object"}
    assert run("schema", "llmhost", "-o", "yaml").out == "type: object\n"
    assert run("example", "model.neuronetes.io").out == HOST_YAML
    assert server.requests[-1].url.path == "/api/v1/kinds/Model.neuronetes.io/example"
    assert server.requests[-1].headers["Accept"] == "application/yaml"


def test_events_end_with_the_newest(run: Run, server: FakeServer) -> None:
    answer(server, "llmhosts/h/events", {"items": [event("Late"), event("Early")]})
    lines = run("events", "llmhost", "h", "--limit", "7").out.splitlines()
    assert [line.split()[2] for line in lines[1:]] == ["Early", "Late"]
    assert server.requests[-1].url.params["limit"] == "7"
    assert [one["reason"] for one in parsed(run("events", "llmhost", "h", "-o", "json").out)["items"]] == [
        "Late",
        "Early",
    ]


def logs(text: str, pod: str = "p-1") -> dict[str, Any]:
    return {"pod": pod, "container": "main", "pods": [pod], "logs": text}


def test_logs(run: Run, server: FakeServer) -> None:
    answer(server, "llmhosts/h/logs", logs("one\ntwo"))
    done = run("logs", "llmhost", "h", "--tail", "5", "--previous", "-c", "side")
    assert (done.code, done.out) == (0, "one\ntwo\n")
    assert "pod p-1, container main" in done.err
    assert dict(server.requests[-1].url.params) == {"tailLines": "5", "container": "side", "previous": "true"}


def test_logs_of_what_has_no_pods(run: Run, server: FakeServer) -> None:
    answer(server, "llmhosts/h/logs", problem(409, "no_pods", "It has no pods."))
    assert run("logs", "llmhost", "h").code == 5


def test_following_prints_each_line_once_and_goes_on_with_the_next_pod(
    run: Run, server: FakeServer, clock: FakeClock
) -> None:
    answer(
        server,
        "llmhosts/h/logs",
        logs("1\n2\n"),
        logs("1\n2\n"),
        logs("2\n3\n4\n"),
        gone(),
        problem(409, "no_pods", "None."),
        logs("1\n", "p-2"),
        logs("1\n5\n", "p-2"),
        problem(403, "forbidden", "No more."),
    )
    done = run("logs", "llmhost", "h", "--follow")
    assert done.out.split() == ["1", "2", "3", "4", "1", "5"]
    assert done.code == 3
    assert [request.url.params.get("pod") for request in server.requests[2:]] == [
        "p-1", "p-1", "p-1", None, None, "p-2", "p-2"
    ]  # fmt: skip


def test_following_the_past_makes_no_sense(run: Run, server: FakeServer) -> None:
    assert run("logs", "llmhost", "h", "-F", "-p").code == 2
    assert server.requests == []


@pytest.mark.parametrize(
    ("seen", "lines", "new"),
    [
        ([], ["a"], ["a"]),
        (["a"], ["a"], []),
        (["a"], [], []),
        (["a", "b"], ["a", "b", "c"], ["c"]),
        (["a", "b"], ["b", "c"], ["c"]),
        (["a", "a"], ["a", "a", "a"], ["a"]),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        (["x", "a"], ["a", "b", "a"], ["b", "a"]),
        (["a", "b"], ["b"], []),
    ],
)
def test_what_is_new_in_a_log(seen: list[str], lines: list[str], new: list[str]) -> None:
    assert new_lines(seen, lines) == new


def test_following_ends_with_an_interrupt(
    run: Run, server: FakeServer, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(clock_module, "sleep", interrupt)
    answer(server, "llmhosts/h/logs", logs("1\n"))
    done = run("logs", "llmhost", "h", "--follow")
    assert (done.code, done.out) == (130, "1\n")
