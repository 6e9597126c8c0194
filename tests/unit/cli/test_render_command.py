"""`smarter render`: objects on standard output, warnings beside it, and every fault of a refused manifest."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner, Result

from smarter.cli.lazy import LazyGroup
from smarter.cli.render_command import register
from tests.llm_hosts import LLAMA, VLLM, spec_with

app = typer.Typer(cls=LazyGroup)
register(app)


@app.command()
def another() -> None:
    """With one command alone there would be no name to type."""


def run(text: str, *options: str) -> Result:
    return CliRunner().invoke(app, ["render", "-f", "-", *options], input=text)


def document(spec: dict[str, Any] | None = None, name: str = "case_host", kind: str = "LLMHost") -> str:
    body = {"apiVersion": "smarter.sh/v1", "kind": kind, "metadata": {"name": name}, "spec": spec or LLAMA}
    return yaml.safe_dump(body)


SECRET = document({"config": {"value": "the-real-key"}}, "team_key", "Secret")
WITH_KEY = document(spec_with(LLAMA, {"network.apiKeySecret": "team_key"}))


def test_yaml_documents() -> None:
    result = run(document())
    assert result.exit_code == 0
    found = list(yaml.safe_load_all(result.stdout))
    assert found[0]["kind"] == "Namespace"
    assert {"Deployment", "Service", "Secret", "PersistentVolumeClaim"} <= {body["kind"] for body in found}
    assert "*id" not in result.stdout
    assert result.stderr == ""


def test_json_is_one_list() -> None:
    result = run(document(), "-o", "json")
    found = json.loads(result.stdout)
    assert (found["apiVersion"], found["kind"]) == ("v1", "List")
    assert [body["kind"] for body in found["items"]][-1] == "Service"


def test_the_same_bytes_twice() -> None:
    assert run(document()).stdout == run(document()).stdout


def test_account_domain_and_features() -> None:
    text = document(spec_with(LLAMA, {"network.ingress": True}))
    result = run(
        text, "--account", "9876-5432-1098", "--domain", "models.example.com", "--features", "cert-manager, keda"
    )
    found = {body["kind"]: body for body in yaml.safe_load_all(result.stdout)}
    assert found["Namespace"]["metadata"]["name"] == "smarter-9876-5432-1098"
    assert found["Certificate"]["spec"]["dnsNames"] == ["case-host.llmhost.9876-5432-1098.models.example.com"]
    assert result.stderr == ""


def test_a_secret_of_the_input_gives_its_value() -> None:
    for text in (SECRET + "---\n" + WITH_KEY, WITH_KEY + "---\n" + SECRET):
        result = run(text)
        found = {body["kind"]: body for body in yaml.safe_load_all(result.stdout)}
        assert found["Secret"]["data"] == {"api-key": "dGhlLXJlYWwta2V5"}
        assert result.stderr == ""


def test_an_absent_secret_gets_a_placeholder_and_a_warning() -> None:
    result = run(WITH_KEY, "-o", "json")
    assert result.exit_code == 0
    assert "warning:" in result.stderr
    assert "team_key" in result.stderr
    json.loads(result.stdout)


def test_computes_of_files_and_of_the_input(tmp_path: Path) -> None:
    node = {"node": {"instanceType": "own", "cpu": 64, "memoryGb": 256}, "cost": {"perHour": 0.01}}
    file = tmp_path / "compute.yaml"
    file.write_text(document(node, "from_file", "LLMHostCompute"))
    in_file = run(document(), "--compute", str(file))
    assert "smarter.sh/compute: from_file" in in_file.stdout
    in_input = run(document(node, "from_input", "LLMHostCompute") + "---\n" + document())
    assert "smarter.sh/compute: from_input" in in_input.stdout
    assert "smarter.sh/compute: cpu_small" in run(document()).stdout


def test_a_refused_manifest() -> None:
    text = document(spec_with(VLLM, {"engine.args": ["--port=1"], "compute": "nope", "network.hostname": "a b"}))
    result = run(text)
    assert result.exit_code == 2
    assert result.stdout == ""
    for path in ("spec.engine.args[0]", "spec.compute", "spec.network.hostname"):
        assert path in result.stderr
    assert "<stdin>:" in result.stderr


def test_a_refused_manifest_for_programs() -> None:
    result = run(document(spec_with(VLLM, {"engine.dtype": "x"})) + "---\nkind: LLMHost\n", "-o", "json")
    assert result.exit_code == 2
    problem = json.loads(result.stdout)
    assert (problem["status"], problem["code"]) == (422, "invalid")
    assert {error["path"] for error in problem["errors"]} == {"spec.engine.dtype", "apiVersion"}
    assert all(error["line"] for error in problem["errors"])


@pytest.mark.parametrize(
    "options",
    [["--account", "1"], ["--features", "magic"], ["--domain", "a b"], ["-o", "table"], ["--compute", "/nonexistent"]],
)
def test_bad_usage(options: list[str]) -> None:
    assert run(document(), *options).exit_code == 2


def test_unreadable_input() -> None:
    for text in ("a: [", "\x00", "- 1", "a: 1\na: 2"):
        assert run(text).exit_code == 2
    assert run("").exit_code in (0, 2)


def test_a_value_is_never_in_a_message() -> None:
    wrong = WITH_KEY.replace("llama_cpp", "magic")
    result = run(SECRET + "---\n" + wrong, "-o", "json")
    assert result.exit_code == 2
    assert "the-real-key" not in result.stdout + result.stderr
