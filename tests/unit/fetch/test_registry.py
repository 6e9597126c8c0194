"""Models of a registry, into the store that Ollama's server reads: the good course, faults, and registries that lie."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from smarter.fetch import run, store
from tests.unit.fetch.conftest import WEIGHTS, Outcome
from tests.unit.fetch.registry_site import RegistrySite, digest, serving_registry

Fetch = Callable[..., Outcome]
LICENCE = b"do as you like"
CONFIG = {"model_format": "gguf", "model_family": "tiny"}


@pytest.fixture
def site() -> Iterator[RegistrySite]:
    models = {
        "library/tiny:1b": (CONFIG, [WEIGHTS, LICENCE]),
        "library/tiny:2b": ({**CONFIG, "two": 2}, [WEIGHTS[::-1], LICENCE]),
        "library/tiny:latest": (CONFIG, [WEIGHTS]),
        "acme/own:q4": (CONFIG, [b"own"]),
        "acme/tiny-GGUF:Q4_K_M": (CONFIG, [b"from the hub"]),
    }
    with serving_registry(RegistrySite(models)) as served:
        yield served


@pytest.fixture
def bring(fetch: Fetch, site: RegistrySite) -> Fetch:
    def once(model: str = "tiny:1b", *extra: str, **env: str) -> Outcome:
        return fetch("--source", "ollama", "--repository", model, "--registry-url", site.url, *extra, hub=False, **env)

    return once


def blob(target: Path, data: bytes) -> Path:
    return target / "blobs" / f"sha256-{hashlib.sha256(data).hexdigest()}"


def left(target: Path) -> list[str]:
    return [path.name for path in target.glob(".tmp-*")]


def test_a_model_lies_as_its_server_reads_it(bring: Fetch, site: RegistrySite, target: Path) -> None:
    outcome = bring()
    assert outcome.code == 0, outcome.text
    manifest = (target / "manifests" / "registry.ollama.ai" / "library" / "tiny" / "1b").read_bytes()
    assert manifest == site.manifest_of("library/tiny:1b")
    for entry in (json.loads(manifest)["config"], *json.loads(manifest)["layers"]):
        data = (target / "blobs" / entry["digest"].replace(":", "-")).read_bytes()
        assert (digest(data), len(data)) == (entry["digest"], entry["size"])
    assert outcome.last["revision"] == hashlib.sha256(manifest).hexdigest()
    assert left(target) == []


@pytest.mark.parametrize(("model", "place"), [("tiny", "library/tiny/latest"), ("acme/own:q4", "acme/own/q4")])
def test_names_of_models(bring: Fetch, target: Path, model: str, place: str) -> None:
    assert bring(model).code == 0
    assert (target / "manifests" / "registry.ollama.ai" / place).is_file()


def test_a_model_of_the_hub_by_its_quantization(fetch: Fetch, site: RegistrySite, target: Path) -> None:
    site.token = "hf_right_canary"
    arguments = ("--source", "huggingface", "--layout", "registry", "--repository", "acme/tiny-GGUF")
    outcome = fetch(*arguments, "--file", "Q4_K_M", "--hub-url", site.url, hub=False, HF_TOKEN="hf_right_canary")
    assert outcome.code == 0, outcome.text
    assert (target / "manifests" / "hf.co" / "acme" / "tiny-GGUF" / "Q4_K_M").is_file()
    assert blob(target, b"from the hub").read_bytes() == b"from the hub"
    assert "canary" not in outcome.text


def test_two_models_share_a_store_and_their_blobs(bring: Fetch, site: RegistrySite, target: Path) -> None:
    assert bring("tiny:1b").code == 0
    site.requests.clear()
    assert bring("tiny:2b").code == 0
    assert site.gets(digest(LICENCE)) == []
    assert blob(target, WEIGHTS).exists()
    assert blob(target, WEIGHTS[::-1]).exists()


def test_a_complete_model_is_left_alone(bring: Fetch, site: RegistrySite, target: Path) -> None:
    assert bring().code == 0
    site.requests.clear()
    assert bring().code == 0
    assert bring("tiny:1b", "--verify").code == 0
    assert site.requests == []


@pytest.mark.parametrize("damage", ["blob", "manifest"])
def test_a_damaged_store_is_mended(bring: Fetch, target: Path, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "VERIFY_SECONDS", 0.1)
    assert bring().code == 0
    path = blob(target, WEIGHTS) if damage == "blob" else target / "manifests/registry.ollama.ai/library/tiny/1b"
    path.write_bytes(b"x")
    assert bring("tiny:1b", "--verify").code == 11
    assert bring().code == 0
    assert blob(target, WEIGHTS).read_bytes() == WEIGHTS


def test_a_cut_blob_is_resumed(bring: Fetch, site: RegistrySite, target: Path) -> None:
    site.cuts = [1_500_000, 700_000]
    assert bring().code == 0
    assert [headers.get("Range") for headers in site.gets(digest(WEIGHTS))] == [
        None,
        "bytes=1500000-",
        "bytes=2200000-",
    ]
    assert blob(target, WEIGHTS).read_bytes() == WEIGHTS


def test_a_damaged_blob_is_named_and_never_stored(bring: Fetch, site: RegistrySite, target: Path) -> None:
    site.damaged = True
    outcome = bring()
    assert (outcome.code, outcome.last["reason"]) == (5, "checksum_mismatch")
    assert not (target / "manifests").exists()
    assert not (target / "blobs").exists()


def test_a_registry_that_gives_passes(bring: Fetch, site: RegistrySite) -> None:
    site.pass_needed = "a-pass"
    outcome = bring()
    assert outcome.code == 0, outcome.text
    assert site.gets("/pass?")[0].get("Authorization") is None
    assert all(headers["Authorization"] == "Bearer a-pass" for headers in site.gets("/blobs/"))


@pytest.mark.parametrize("realm", ["http://169.254.169.254/latest", "file:///etc/passwd", "ftp://x/y"])
def test_passes_come_from_no_forbidden_place(bring: Fetch, site: RegistrySite, realm: str) -> None:
    site.pass_needed, site.realm = "a-pass", realm
    assert bring().last["reason"] in ("forbidden_address", "bad_url")


def test_a_redirect_to_metadata_is_refused(bring: Fetch, site: RegistrySite) -> None:
    site.redirect = "http://169.254.169.254/latest/meta-data"
    assert bring().last["reason"] == "forbidden_address"


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [(401, 3, "unauthorized"), (403, 3, "unauthorized"), (404, 4, "not_found"), (429, 7, "rate_limited"),
     (500, 7, "unreachable"), (418, 10, "bad_answer")],
)  # fmt: skip
def test_refusals(bring: Fetch, site: RegistrySite, status: int, code: int, reason: str) -> None:
    site.statuses = [status] * 20
    outcome = bring()
    assert (outcome.code, outcome.last["reason"]) == (code, reason)
    assert str(status) in outcome.last["message"] or status == 404


def test_a_model_that_does_not_exist(bring: Fetch) -> None:
    outcome = bring("absent:1b")
    assert (outcome.code, outcome.last["reason"]) == (4, "not_found")
    assert "library/absent:1b" in outcome.last["message"]


@pytest.mark.parametrize("model", ["big:120b-cloud", "big:cloud", "big:CLOUD"])
def test_models_of_the_cloud_are_refused_by_their_tag(bring: Fetch, site: RegistrySite, model: str) -> None:
    assert bring(model).last["reason"] == "cloud_model"
    assert site.requests == []


def test_models_of_the_cloud_are_refused_by_their_configuration(bring: Fetch, site: RegistrySite, target: Path) -> None:
    site.models["library/tiny:1b"] = ({**CONFIG, "remote_host": "https://elsewhere"}, [LICENCE])
    assert bring().last["reason"] == "cloud_model"
    assert not (target / "manifests").exists()


@pytest.mark.parametrize("model", ["../a:b", "a/../b:c", "a/b/c:d", "a:b:c", "a b:c", "", "a:../../x", "a:b/c"])
def test_names_that_are_none(bring: Fetch, site: RegistrySite, model: str) -> None:
    assert bring(model).last["reason"] == "bad_url"
    assert site.requests == []


def entry(**changes: Any) -> dict[str, Any]:
    return {"mediaType": "m", "digest": digest(LICENCE), "size": len(LICENCE), **changes}


@pytest.mark.parametrize(
    "manifest",
    [
        {"config": entry(), "layers": [entry(digest="sha256:../../../../etc/passwd")]},
        {"config": entry(), "layers": [entry(digest="sha256:" + "A" * 64)]},
        {"config": entry(), "layers": [entry(digest="md5:" + "0" * 32)]},
        {"config": entry(digest=7), "layers": [entry()]},
        {"config": entry(), "layers": [entry(size=-1)]},
        {"config": entry(), "layers": [entry(size="9")]},
        {"config": entry(), "layers": [entry(size=True)]},
        {"config": entry(), "layers": [entry(size=2**60)]},
        {"config": entry(), "layers": [entry(size=1)]},
        {"config": entry(), "layers": [entry()] * 300},
        {"config": entry(), "layers": []},
        {"config": None, "layers": [entry()]},
        {"layers": [entry()]},
        [],
        "x",
    ],
)
def test_manifests_that_lie(bring: Fetch, site: RegistrySite, target: Path, manifest: Any) -> None:
    site.manifest = json.dumps(manifest).encode()
    outcome = bring()
    assert (outcome.code, outcome.last["reason"]) == (10, "bad_answer")
    assert not (target / "manifests").exists()


def test_a_manifest_that_is_not_json(bring: Fetch, site: RegistrySite) -> None:
    site.manifest = b"[" * 100_000
    assert bring().last["reason"] == "bad_answer"


def test_a_full_volume_is_told_before_a_byte_is_brought(
    bring: Fetch, site: RegistrySite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "free_bytes", lambda folder: 1_000_000)
    outcome = bring()
    assert (outcome.code, outcome.last["reason"]) == (6, "disk_full")
    assert site.gets("/blobs/") == []
