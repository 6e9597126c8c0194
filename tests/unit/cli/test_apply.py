"""`smarter apply`: what is sent, what is shown, and what a pipeline learns from the exit code."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.unit.cli.conftest import FakeClock, Run
from tests.unit.cli.fake_server import (
    HOST_YAML,
    FakeServer,
    fault,
    gone,
    parsed,
    problem,
    status,
)

SECRET_YAML = """\
apiVersion: smarter.sh/v1
kind: Secret
metadata: {name: hub}
spec: {config: {value: hunter2}}
"""


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    file = tmp_path / "host.yaml"
    file.write_text(HOST_YAML)
    return str(file)


def refuse(server: FakeServer, errors: list[dict[str, Any]]) -> None:
    server.routes["POST /api/v1/apply"] = lambda request: problem(422, "invalid", "It is not accepted.", errors)


def answer_with(server: FakeServer, **more: Any) -> None:
    result = {"document": 0, "apiVersion": "smarter.sh/v1", "kind": "LLMHost", "name": "my_host", "action": "created"}
    answer = {"dryRun": "plan" in more, "results": [{**result, "generation": 1, "deployed": False, **more}]}
    server.routes["POST /api/v1/apply"] = lambda request: httpx.Response(200, json=answer)


def test_the_bytes_of_the_file_are_sent_as_they_are_and_once(run: Run, server: FakeServer, manifest: str) -> None:
    done = run("apply", "-f", manifest)
    assert (done.code, done.out) == (0, "LLMHost/my_host created  $1.0060 per hour when deployed\n")
    [request] = server.requests
    assert request.content == HOST_YAML.encode()
    assert "deploy" not in request.url.params
    assert "dryRun" not in request.url.params


def test_deploy_is_passed_on_and_changes_how_the_price_reads(run: Run, server: FakeServer, manifest: str) -> None:
    done = run("apply", "-f", manifest, "--deploy")
    assert server.requests[0].url.params["deploy"] == "true"
    assert done.out == "LLMHost/my_host created  $1.0060 per hour\n"


def test_standard_input_is_read_for_a_dash(run: Run, server: FakeServer) -> None:
    assert run("apply", "-f", "-", stdin=HOST_YAML).code == 0
    assert server.requests[0].content == HOST_YAML.encode()


def test_a_folder_goes_as_one_body_in_the_order_of_names(run: Run, server: FakeServer, tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(HOST_YAML)
    (tmp_path / "a.yml").write_text(SECRET_YAML)
    (tmp_path / "notes.txt").write_text("not a manifest")
    done = run("apply", "-f", str(tmp_path))
    assert done.out.splitlines()[0].startswith("Secret/hub created")
    assert done.out.splitlines()[1].startswith("LLMHost/my_host created")
    assert len(server.requests) == 1


def test_every_fault_is_printed_at_its_place(run: Run, server: FakeServer, manifest: str) -> None:
    refuse(server, [fault(4, "spec.replicas", "must be a number"), fault(7, "spec.b", "is unknown"), fault(None, "")])
    done = run("apply", "-f", manifest)
    assert done.code == 2
    assert done.out == ""
    assert f"{manifest}:4:3: spec.replicas: must be a number\n" in done.err
    assert f"{manifest}:7:3: spec.b: is unknown\n" in done.err
    assert f"{manifest}: is wrong\n" in done.err


def test_faults_of_several_files_are_led_back_to_their_own_lines(run: Run, server: FakeServer, tmp_path: Path) -> None:
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text(SECRET_YAML)  # Lines 1 to 4 of the body; 5 is the mark between the files.
    second.write_text(HOST_YAML)  # From line 6 on.
    refuse(server, [fault(4, "spec"), fault(6, "apiVersion"), fault(9, "metadata")])
    done = run("apply", "-f", str(first), "-f", str(second), "-o", "json")
    assert f"{first}:4:3: spec" in done.err
    assert f"{second}:1:3: apiVersion" in done.err
    assert f"{second}:4:3: metadata" in done.err
    assert [(one["file"], one["line"]) for one in parsed(done.out)["errors"]] == [
        (str(first), 4),
        (str(second), 1),
        (str(second), 4),
    ]


def test_a_refusal_is_a_problem_document_for_programs(run: Run, server: FakeServer, manifest: str) -> None:
    refuse(server, [fault(4)])
    done = run("apply", "-f", manifest, "-o", "json")
    assert done.code == 2
    assert parsed(done.out)["code"] == "invalid"
    assert parsed(done.out)["errors"][0]["line"] == 4


def test_warnings_go_to_standard_error_unless_quiet(run: Run, server: FakeServer, manifest: str) -> None:
    answer_with(server, warnings=[fault(5, "spec.engine", "is slow")])
    done = run("apply", "-f", manifest)
    assert f"warning: {manifest}:5:3: spec.engine: is slow" in done.err
    assert "slow" not in done.out
    assert run("apply", "-f", manifest, "-q").err == ""


def test_a_dry_run_shows_fields_objects_node_price_and_memory(run: Run, server: FakeServer, manifest: str) -> None:
    def ref(kind: str, name: str) -> dict[str, str]:
        return {"apiVersion": "v1", "kind": kind, "namespace": "ns", "name": name}

    answer_with(
        server,
        action="changed",
        compute="gpu_small",
        instanceType="g5.xlarge",
        replicas=2,
        nodeShare="0.5",
        pricePerHour="1.006",
        pricePerMonth="734.38",
        currency="USD",
        plan={
            "fields": [
                {"path": "spec.replicas", "before": 1, "after": 2},
                {"path": "spec.new", "before": None, "after": "x"},
                {"path": "spec.old", "before": True, "after": None},
            ],
            "objects": {
                "created": [ref("Service", "s")],
                "changed": [ref("Deployment", "d"), ref("Ingress", "i")],
                "deleted": [ref("Secret", "k")],
                "restarts": [ref("Deployment", "d")],
            },
            "memory": {"verdict": "does_not_fit", "message": "needs 20 GiB of 16 GiB"},
        },
    )
    done = run("apply", "-f", manifest, "--dry-run")
    assert server.requests[0].url.params["dryRun"] == "true"
    assert [line.strip() for line in done.out.splitlines()] == [
        "LLMHost/my_host would be changed  $1.0060 per hour when deployed",
        "fields",
        "~ spec.replicas: 1 -> 2",
        "+ spec.new: x",
        "- spec.old: true",
        "objects",
        "+ Service/ns/s",
        "~ Deployment/ns/d (its pods are replaced)",
        "~ Ingress/ns/i",
        "- Secret/ns/k",
        "node     gpu_small (g5.xlarge), 2 x 0.5 of a node",
        "price    $1.0060 per hour, $734.38 per month",
        "memory   does not fit: needs 20 GiB of 16 GiB",
    ]


def test_a_value_that_is_shown_once_is_shown(run: Run, server: FakeServer, manifest: str) -> None:
    answer_with(server, reveal={"token": "sk_new"})
    done = run("apply", "-f", manifest)
    assert "token: sk_new" in done.out
    assert "Shown this once" in done.err


def test_prices_in_another_currency_or_unknown(run: Run, server: FakeServer, manifest: str) -> None:
    answer_with(server, compute="c", pricePerHour="2", currency="EUR", deployed=True)
    assert run("apply", "-f", manifest).out == "LLMHost/my_host created  2.0000 EUR per hour\n"
    answer_with(server, compute="c", pricePerHour=None)
    assert run("apply", "-f", manifest).out == "LLMHost/my_host created  no price is known for c\n"


def test_waiting_ends_when_all_documents_are_active(
    run: Run, server: FakeServer, clock: FakeClock, tmp_path: Path
) -> None:
    file = tmp_path / "all.yaml"
    file.write_text("---\n".join([SECRET_YAML, HOST_YAML, HOST_YAML.replace("my_host", "other")]))
    server.states = {
        "my_host": [status("provisioning", "looking for a node"), status("active", publicUrl="https://h")],
        "other": [status("pending"), status("downloading", "12 %"), status("active")],
    }
    done = run("apply", "-f", str(file), "--deploy", "--wait", "10m")
    assert done.code == 0
    assert done.err.splitlines() == [
        "[   0s] llmhost/my_host provisioning: looking for a node",
        "[   0s] llmhost/other pending",
        "[   2s] llmhost/my_host active",
        "[   2s] llmhost/other downloading: 12 %",
        "[   4s] llmhost/other active",
        "llmhost/my_host answers at https://h",
    ]
    assert sum(clock.slept) == 4


def test_active_for_an_older_generation_is_not_enough(
    run: Run, server: FakeServer, clock: FakeClock, manifest: str
) -> None:
    server.generations["my_host"] = 2
    server.states["my_host"] = [status("active", observed=1), status("active", observed=2)]
    assert run("apply", "-f", manifest, "--deploy", "--wait", "10m").code == 0
    assert sum(clock.slept) == 2


def test_running_out_of_time_says_where_it_stands(
    run: Run, server: FakeServer, clock: FakeClock, manifest: str
) -> None:
    server.states["my_host"] = [status("pending", "no node has a free GPU")]
    done = run("apply", "-f", manifest, "--deploy", "--wait", "90s")
    assert done.code == 6
    assert "Not active after 90s. llmhost/my_host pending: no node has a free GPU" in done.err
    assert sum(clock.slept) == 90


def test_a_failure_that_stays_is_told_at_once(run: Run, server: FakeServer, clock: FakeClock, manifest: str) -> None:
    server.states["my_host"] = [status("deploying"), status("error", "the image does not exist")]
    done = run("apply", "-f", manifest, "--deploy", "--wait", "10m")
    assert done.code == 7
    assert "llmhost/my_host failed: the image does not exist" in done.err
    assert sum(clock.slept) == 6


def test_a_failure_under_json_carries_the_results(
    run: Run, server: FakeServer, clock: FakeClock, manifest: str
) -> None:
    server.states["my_host"] = [status("error", "broken")]
    document = parsed(run("apply", "-f", manifest, "--deploy", "--wait", "10m", "-o", "json").out)
    assert document["code"] == "failed"
    assert document["results"][0]["status"]["message"] == "broken"


def test_success_under_json_carries_the_status(run: Run, server: FakeServer, clock: FakeClock, manifest: str) -> None:
    server.states["my_host"] = [status("pending"), status("active", publicUrl="https://h")]
    done = run("apply", "-f", manifest, "--deploy", "--wait", "10m", "-o", "json", "-q")
    assert parsed(done.out)["results"][0]["status"]["publicUrl"] == "https://h"
    assert done.err == ""


def test_waiting_for_what_is_not_deployed_is_refused(run: Run, manifest: str) -> None:
    done = run("apply", "-f", manifest, "--wait", "10m")
    assert done.code == 2
    assert "Add --deploy" in done.err


def test_only_what_can_be_deployed_is_waited_for(run: Run, server: FakeServer) -> None:
    assert run("apply", "-f", "-", "--deploy", "--wait", "10m", stdin=SECRET_YAML).code == 0
    assert "/api/v1/secrets/hub" not in server.paths("GET")


def test_a_manifest_that_is_deleted_meanwhile_ends_the_wait(
    run: Run, server: FakeServer, clock: FakeClock, manifest: str
) -> None:
    server.states["my_host"] = [status("pending"), gone()]
    assert run("apply", "-f", manifest, "--deploy", "--wait", "10m").code == 4


def test_names_can_be_piped_into_other_commands(run: Run, manifest: str) -> None:
    assert run("apply", "-f", manifest, "-o", "name").out == "llmhost/my_host\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-f", "absent.yaml"], "absent.yaml cannot be read"),
        (["-f", "-", "--wait", "soon"], "'soon' is no span of time"),
        (["-f", "-", "--dry-run", "--wait", "1m"], "--wait makes no sense with --dry-run"),
        (["-f", "-", "-o", "xml"], "xml is not one of"),
        ([], "Missing option"),
        (["--token", "x", "-f", "-"], "No such option"),
    ],
)
def test_bad_usage_is_told_without_a_request(run: Run, server: FakeServer, arguments: list[str], words: str) -> None:
    done = run("apply", *arguments, stdin=HOST_YAML)
    assert done.code == 2
    assert words in done.err
    assert server.requests == []


def test_an_empty_folder_is_told(run: Run, tmp_path: Path) -> None:
    done = run("apply", "-f", str(tmp_path))
    assert done.code == 2
    assert "has no manifests" in done.err
