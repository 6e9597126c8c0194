"""What stands while a host runs: images of the launch, and what a way back must not undo."""

from dataclasses import replace

from smarter.kinds.sam.llm_host.render import render
from smarter.kinds.sam.llm_host.standing import pins, restored
from tests.llm_hosts import LLAMA, VLLM, facts, host


def image(manifest, facts) -> str:
    body = next(one for one in render(manifest, facts) if one["kind"] == "Deployment")
    return body["spec"]["template"]["spec"]["containers"][0]["image"]


def fetch_image(manifest, facts) -> str:
    body = next(one for one in render(manifest, facts) if one["kind"] == "Deployment")
    return body["spec"]["template"]["spec"]["initContainers"][0]["image"]


def test_a_pinned_image_wins_over_the_default_and_loses_to_the_manifest() -> None:
    manifest = host({}, VLLM)
    known = facts(manifest)
    first = pins(manifest, known)
    assert image(manifest, known) in first.values()
    old = {name: f"example.com/{index}:1" for index, name in enumerate(sorted(first))}
    assert image(manifest, replace(known, pins=old)) in old.values()
    assert fetch_image(manifest, replace(known, pins=old)) in old.values()
    own = host({"engine.image": "example.com/own:2"}, VLLM)
    assert image(own, replace(known, pins=old)) == "example.com/own:2"


def test_the_pin_of_one_engine_is_not_used_for_another() -> None:
    manifest, other = host({}, VLLM), host({}, LLAMA)
    pinned = {name: "example.com/pinned:1" for name in pins(manifest, facts(manifest)) if name != "fetchImage"}
    assert pinned
    assert image(other, replace(facts(other), pins=pinned)) != "example.com/pinned:1"


def test_what_was_pinned_stays_pinned() -> None:
    manifest = host({}, VLLM)
    known = replace(facts(manifest), pins=dict.fromkeys(pins(manifest, facts(manifest)), "example.com/a:1"))
    assert set(pins(manifest, known).values()) == {"example.com/a:1"}


def test_the_engine_goes_back_and_the_volume_and_the_network_do_not() -> None:
    good = host({"network.ingress": True, "network.hostname": "old.example.org", "storage.size": "50Gi"}, VLLM)
    failed = host({"storage.size": "90Gi", "engine.image": "example.com/bad:1", "network.ingress": False}, VLLM)
    found = restored(good, failed)
    assert found is not None
    assert found.spec.engine == good.spec.engine
    assert found.spec.storage.size == "90Gi"
    assert not found.spec.network.ingress
    assert found.spec.network.hostname is None


def test_an_engine_without_keys_is_not_published_by_going_back() -> None:
    """It served inside the cluster only; the version that failed had a key and a public address."""
    ollama = {"model": {"source": "ollama", "repository": "llama3.1:8b"}, "engine": {"name": "ollama"}}
    good, failed = host({}, ollama), host({"network.ingress": True}, LLAMA)
    found = restored(good, failed)
    assert found is not None
    assert str(found.spec.engine.name) == "ollama"
    assert found.spec.network.ingress is False
