"""What may change on a host that is stored, what is referred to, and what is made for it."""

from typing import Any

import pytest

from tests.llm_hosts import KIND, VLLM, facts, host


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        ({"storage.size": "100Gi"}, {"storage.size": "40Gi"}, "spec.storage.size"),
        ({}, {"storage.accessMode": "ReadWriteMany"}, "spec.storage.accessMode"),
        ({"storage.storageClass": "a"}, {"storage.storageClass": "b"}, "spec.storage.storageClass"),
    ],
)
def test_a_volume_keeps_what_it_is(before: dict[str, Any], after: dict[str, Any], path: str) -> None:
    (problem,) = KIND.admit(host(after), host(before))
    assert (problem.path, problem.level) == (path, "error")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"storage.size": "40Gi"}, {"storage.size": "100Gi"}),
        ({"storage.size": "50Gi"}, {}),
        ({}, {"storage.existingClaim": "mine", "storage.accessMode": "ReadWriteMany"}),
        ({"engine.contextLength": 1024}, {"engine.contextLength": 2048}),
    ],
)
def test_what_may_change(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert KIND.admit(host(after), host(before)) == []


def test_references() -> None:
    manifest = host({"compute": "gpu_l4_1x", "model.tokenSecret": "hf", "network.apiKeySecret": "key"})
    assert {(one.field, one.kind, one.name) for one in KIND.references(manifest)} == {
        ("spec.compute", "LLMHostCompute", "gpu_l4_1x"),
        ("spec.model.tokenSecret", "Secret", "hf"),
        ("spec.network.apiKeySecret", "Secret", "key"),
    }
    assert KIND.references(host()) == ()


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ("llmhost_case_host_api_key",)),
        ({"network.ingress": True}, ("llmhost_case_host_api_key",)),
        ({"network.apiKeySecret": "mine"}, ()),
        ({"network.ingress": True, "network.allowUnauthenticated": True}, ()),
        ({"network.allowUnauthenticated": True}, ("llmhost_case_host_api_key",)),
        ({"engine.name": "tgi"}, ()),
        ({"resources.memory": "lots"}, ()),
    ],
)
def test_the_key_that_is_made(changes: dict[str, Any], names: tuple[str, ...]) -> None:
    assert KIND.generated_secrets(host(changes)) == names


def test_hostnames() -> None:
    plain, public = host(), host({"network.ingress": True})
    own = host({"network.ingress": True, "network.hostname": "Chat.Example.org"})
    assert KIND.hostnames(plain, facts(plain)) == ()
    assert KIND.hostnames(public, facts(public)) == ("case-host.llmhost.1111-2222-3333.api.localhost",)
    assert KIND.hostnames(own, facts(own)) == ("chat.example.org",)


def test_nothing_raises_on_what_other_rules_refuse() -> None:
    """Apply asks all functions before it knows which of the rules fails."""
    for changes in ({"engine.name": "custom"}, {"model.source": "s3"}, {"resources.cpu": "x"}, {"storage.size": "1"}):
        manifest = host(changes, VLLM)
        assert KIND.admit(manifest, None) or changes == {"storage.size": "1"}
        KIND.check(manifest, facts(manifest))
        KIND.hostnames(manifest, facts(manifest))
        KIND.references(manifest)
