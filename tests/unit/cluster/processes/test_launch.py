"""From a container to a program of this machine: what is translated, and what is refused."""

import base64
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from smarter.cluster.processes.launch import Mount, Programs, RefusedStart, environment_of, expand, local, plan_of
from smarter.core.objects import KubernetesObject

PROGRAMS = Programs({"llama-server": Path("/opt/llama-server")}, Path(sys.executable), Path("/checkout"))
MOUNTS = (Mount("/models", Path("/here/claim")), Mount("/models/deep", Path("/here/deep")), Mount("/tmp", Path("/s")))
IMAGE = "ghcr.io/ggml-org/llama.cpp:server-b1"
POD: KubernetesObject = {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {"nodeName": "here"}}


def lookup(kind: str, name: str) -> KubernetesObject | None:
    data = base64.b64encode(b"sk-canary").decode()
    return {"kind": kind, "data": {"key": data}} if (kind, name) == ("Secret", "keys") else None


def argv(**container: Any) -> tuple[str, ...]:
    return plan_of({"name": "engine", "image": IMAGE, **container}, POD, MOUNTS, PROGRAMS, lookup).argv


def refusal(**container: Any) -> RefusedStart:
    with pytest.raises(RefusedStart) as caught:
        argv(**container)
    return caught.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(A)", "x1y1"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(B)", "$(B)"),
        ("$(", "$("),
        ("$A $ (A)", "$A $ (A)"),
    ],
)
def test_variables_are_expanded_as_kubernetes_does(text: str, expected: str) -> None:
    assert expand(text, {"A": "1"}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/models", "/here/claim"),
        ("/models/a/b.gguf", "/here/claim/a/b.gguf"),
        ("/models/deep/x", "/here/deep/x"),
        ("--model=/models/x", "--model=/here/claim/x"),
        ("/modelsx", "/modelsx"),
        ("see /models/x", "see /models/x"),
        ("0.0.0.0", "127.0.0.1"),
        ("0.0.0.0:11434", "127.0.0.1:11434"),
        ("10.0.0.0", "10.0.0.0"),
        ("--host=0.0.0.0", "--host=127.0.0.1"),
    ],
)
def test_only_paths_of_mounts_and_the_address_of_all_interfaces_are_translated(text: str, expected: str) -> None:
    assert local(text, MOUNTS) == expected


def test_the_image_names_the_program_where_no_command_does() -> None:
    assert argv(args=["-m", "/models/x"]) == ("/opt/llama-server", "-m", "/here/claim/x")
    assert argv(image="ghcr.io/ggml-org/llama.cpp@sha256:00", command=["/app/llama-server"])[0] == "/opt/llama-server"


def test_a_program_that_is_not_here_is_refused_by_name() -> None:
    for container in ({"image": "vllm/vllm-openai:v0.33.0"}, {"command": ["/usr/bin/vllm", "serve"]}):
        found = refusal(**container)
        assert (found.reason, found.message) == ("RunContainerError", "the program vllm is not on this machine")
    assert "registry:5000/own/server" in refusal(image="registry:5000/own/server:1").message


def test_python_runs_the_fetch_program_and_nothing_else() -> None:
    assert argv(command=["python", "-m", "smarter.fetch"], args=["--target", "/models/k"]) == (
        sys.executable,
        "-m",
        "smarter.fetch",
        "--target",
        "/here/claim/k",
    )
    for command in (["python", "-c", "print()"], ["python3", "-m", "http.server"], ["sh", "-c", "id"], ["python"]):
        assert refusal(command=command).reason == "RunContainerError"


def test_secrets_are_resolved_and_refused_where_they_are_missing() -> None:
    def env(name: str, key: str, **more: Any) -> dict[str, Any]:
        return {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": name, "key": key, **more}}}

    first = [env("keys", "key"), {"name": "TWICE", "value": "$(KEY)-$(LATER)"}, {"name": "LATER", "value": "x"}]
    assert environment_of({"env": first}, POD, lookup) == {
        "KEY": "sk-canary",
        "TWICE": "sk-canary-$(LATER)",
        "LATER": "x",
    }
    assert environment_of({"env": [env("absent", "key", optional=True)]}, POD, lookup) == {}
    assert refusal(env=[env("absent", "key")]).message == 'secret "absent" not found'
    assert refusal(env=[env("keys", "other")]).message == "couldn't find key other in Secret keys"


def test_the_program_sees_nothing_of_the_nodes_own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://canary")
    container = {"name": "engine", "image": IMAGE, "env": [{"name": "HOME", "value": "/tmp"}]}
    plan = plan_of(container, POD, MOUNTS, PROGRAMS, lookup)
    assert plan.env["HOME"] == plan.env["TMPDIR"] == "/s"
    assert plan.env["PATH"] == os.defpath
    assert "canary" not in str(dict(plan.env))
    assert "/s" not in repr(plan)
