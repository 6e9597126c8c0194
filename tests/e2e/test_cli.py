"""The `smarter` command against a real server: web, worker and beat as processes, and the simulated cluster.

The stack is started once for the file, which costs about half a minute.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from smarter.cluster.simulated import Fault, open_simulated
from tests.stack import PROGRAM, Result, execute, running_stack

CANARY = "canary-4f1c"
SECRET = f"""\
apiVersion: smarter.sh/v1
kind: Secret
metadata: {{name: hub_token}}
spec: {{config: {{value: {CANARY}}}}}
"""

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("cli")]


Smarter = Callable[..., Result]


@pytest.fixture(scope="module")
def state() -> Iterator[Path]:
    """A state directory with a running stack and the login of its demo account."""
    with running_stack("cli-e2e-") as folder:
        yield folder


@pytest.fixture
def smarter(state: Path) -> Smarter:
    def run(*arguments: str, stdin: str = "", **extra: str) -> Result:
        return execute(state, "-c", PROGRAM, *arguments, stdin=stdin, **extra)

    return run


@pytest.fixture(scope="module")
def example(state: Path) -> str:
    return execute(state, "-c", PROGRAM, "example", "llmhost").out


def named(example: str, name: str) -> str:
    manifest = yaml.safe_load(example)
    manifest["metadata"]["name"] = name
    return yaml.safe_dump(manifest, sort_keys=False)


def test_a_pipeline_from_a_file_to_an_active_host_and_away(smarter: Smarter, example: str, tmp_path: Path) -> None:
    file = tmp_path / "host.yaml"
    file.write_text(named(example, "pipeline"))

    planned = smarter("apply", "-f", str(file), "--deploy", "--dry-run")
    assert planned.code == 0, planned.err
    assert "LLMHost/pipeline would be created" in planned.out
    assert "+ Deployment/smarter-" in planned.out
    assert " per month" in planned.out
    assert smarter("get", "llmhost", "pipeline").code == 4

    applied = smarter("apply", "-f", str(file), "--deploy", "--wait", "3m")
    assert applied.code == 0, applied.err
    assert applied.out.startswith("LLMHost/pipeline created  $")
    assert "llmhost/pipeline active" in applied.err

    listed = smarter("get", "llmhosts")
    assert listed.out.splitlines()[0].split()[:2] == ["NAME", "STATUS"]
    assert ["pipeline", "active"] in [line.split()[:2] for line in listed.out.splitlines()]

    read = smarter("get", "llmhost/pipeline", "-o", "yaml")
    again = smarter("apply", "-f", "-", "-o", "json", stdin=read.out)
    assert [one["action"] for one in again.json["results"]] == ["unchanged"]

    described = smarter("describe", "llmhost", "pipeline")
    for word in ("Conditions", "Reconciled", "Deployment", "StatusChanged", "hostStatus"):
        assert word in described.out
    assert smarter("logs", "llmhost", "pipeline", "--tail", "1").out.count("\n") == 1
    assert "Launched" in smarter("events", "llmhost", "pipeline").out

    assert smarter("undeploy", "llmhost", "pipeline", "--wait", "1m").code == 0
    assert smarter("wait", "llmhost", "pipeline", "--for", "inactive", "--timeout", "30s").code == 0
    assert smarter("deploy", "llmhost", "pipeline", "--wait", "3m").code == 0
    assert smarter("wait", "llmhost", "pipeline", "--for", "condition=Ready", "--timeout", "30s").code == 0
    gone = smarter("delete", "-f", str(file), "--yes", "--wait", "2m")
    assert gone.code == 0, gone.err
    assert smarter("get", "llmhost", "pipeline").code == 4


def test_all_faults_of_several_files_at_their_places(smarter: Smarter, example: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SECRET)
    wrong = named(example, "wrong") + "surprise: 1\n"
    (tmp_path / "b.yaml").write_text(wrong.replace("llama_cpp", "unheard_of"))
    done = smarter("apply", "-f", str(tmp_path), "-o", "json")
    assert done.code == 2
    lines = (tmp_path / "b.yaml").read_text().splitlines()
    found = {(one["path"], Path(one["file"]).name, lines[one["line"] - 1].strip()) for one in done.json["errors"]}
    assert found == {("spec.engine.name", "b.yaml", "name: unheard_of"), ("surprise", "b.yaml", "surprise: 1")}
    for one in done.json["errors"]:
        assert f"{one['file']}:{one['line']}:{one['column']}: {one['path']}: " in done.err
    assert smarter("get", "secret", "hub_token").code == 4


def gated(example: str) -> str:
    """A host that uses the secret, and the secret after it."""
    manifest = yaml.safe_load(named(example, "gated"))
    manifest["spec"]["model"]["tokenSecret"] = "hub_token"
    return f"{yaml.safe_dump(manifest)}---\n{SECRET}"


def test_a_secret_is_used_and_never_shown(smarter: Smarter, example: str) -> None:
    body = gated(example)
    applies = [smarter("apply", "-f", "-", *more, stdin=body) for more in (["--dry-run"], ["-v"], ["-o", "json"])]
    commands = "get secret hub_token -o yaml", "get secrets -o json", "describe secret hub_token"
    reads = [smarter(*command.split()) for command in commands]
    in_use = smarter("delete", "secret", "hub_token", "--yes")
    assert [done.code for done in (*applies, *reads, in_use)] == [0, 0, 0, 0, 0, 0, 5]
    assert "gated" in in_use.err
    assert "LLMHost" in reads[2].out
    assert [done for done in (*applies, *reads, in_use) if CANARY in done.out + done.err] == []

    # The secret comes first here, because it is last in the file, and is free only when the host is gone. The host was
    # never deployed, so it goes at once.
    gone = smarter("delete", "-f", "-", "--yes", "--wait", "1m", stdin=body)
    assert gone.code == 0, gone.err
    assert gone.out.splitlines() == ["llmhost/gated deleted", "secret/hub_token deleted"]


def test_every_kind_has_an_example(smarter: Smarter) -> None:
    kinds = smarter("kinds", "-o", "name").out.split()
    assert "llmhosts" in kinds
    assert smarter("schema", "llmhost").json["type"] == "object"
    for kind in kinds:
        text = smarter("example", kind)
        assert yaml.safe_load(text.out)["kind"].lower() + "s" == kind


def test_a_cluster_that_refuses_is_a_failure_with_its_reason(smarter: Smarter, state: Path, example: str) -> None:
    cluster = open_simulated(state / "simulated-cluster.sqlite3")
    cluster.inject(Fault(verb="apply", kind="Deployment", times=1000, status=403, message="policy says no"))
    try:
        done = smarter("apply", "-f", "-", "--deploy", "--wait", "5m", "-o", "json", stdin=named(example, "refused"))
    finally:
        cluster.clear_faults()
        cluster.close()
    assert done.code == 7
    assert "policy says no" in done.json["detail"]
    assert done.json["results"][0]["status"]["hostStatus"] == "error"
    assert smarter("delete", "llmhost", "refused", "--yes", "--wait", "1m").code == 0


def test_waiting_has_an_end(smarter: Smarter, example: str) -> None:
    assert smarter("apply", "-f", "-", stdin=named(example, "idle")).code == 0
    done = smarter("wait", "llmhost", "idle", "--timeout", "2s")
    assert done.code == 6
    assert "Not active after 2s" in done.err
    assert smarter("apply", "-f", "-", "--wait", "1m", stdin=named(example, "idle")).code == 2
    assert smarter("delete", "llmhost/idle", "--yes", "--wait", "1m").code == 0


def test_a_new_key_is_shown_once_and_works(smarter: Smarter) -> None:
    manifest = yaml.safe_load(smarter("example", "smarterauthtoken").out)
    manifest["spec"]["config"]["username"] = smarter("whoami", "-o", "json").json["username"]
    text = yaml.safe_dump(manifest)
    made = smarter("apply", "-f", "-", stdin=text)
    assert made.code == 0, made.err
    token = made.out.splitlines()[1].split(": ")[1]
    assert smarter("whoami", SMARTER_TOKEN=token).code == 0
    again = smarter("apply", "-f", "-", "-v", stdin=text)
    assert again.out == f"SmarterAuthToken/{manifest['metadata']['name']} unchanged\n"
    assert token not in again.err + smarter("get", "smarterauthtokens", "-o", "json").out
    assert smarter("delete", "-f", "-", "--yes", stdin=text).code == 0
    assert smarter("whoami", SMARTER_TOKEN=token).code == 3


def test_logging_in_by_hand(smarter: Smarter, state: Path) -> None:
    known = json.loads((state / "cli.json").read_text())
    done = smarter("login", "--server", known["server"], "--context", "mine", "--token-stdin", stdin=known["token"])
    assert done.code == 0, done.err
    assert known["token"] not in done.out + done.err
    assert (state / "config" / "smarter" / "config.yaml").stat().st_mode & 0o077 == 0
    assert "*   mine" in smarter("context").out
    assert smarter("whoami", "-o", "json").json["username"] == known["username"]
    assert smarter("context", "mine", "--forget").code == 0


def test_the_exit_codes_of_what_goes_wrong_before_the_server_does_anything(smarter: Smarter, state: Path) -> None:
    server = json.loads((state / "cli.json").read_text())["server"]
    assert smarter("whoami", SMARTER_TOKEN="sk_wrong").code == 3
    assert smarter("get", "llmhosts", SMARTER_CONFIG="/nonexistent").code == 3
    assert smarter("get", "llmhosts", "--server", "http://127.0.0.1:9").code == 8
    assert smarter("get", "nothings").code == 2
    assert smarter("get", "llmhost", "../secrets").code == 4
    assert smarter("apply", "-f", "-", stdin="a: [").code == 2
    assert smarter("apply", "-f", "-", stdin="").code == 2
    assert smarter("whoami", "--server", server).code == 0
