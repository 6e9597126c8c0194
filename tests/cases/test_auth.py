"""Cases of keys, tokens and secrets: who may use a host, and what a host may read."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from smarter.engines import ENGINES
from tests.cases.conftest import Desk
from tests.cases.manifests import BASE, SPECS
from tests.llm_hosts import KIND, facts, host, objects, one, secret
from tests.unit.fetch.conftest import Outcome
from tests.unit.fetch.server import Fault, Site, status
from tests.unit.kinds import observed as seen
from tests.unit.kinds.test_llm_host_observe import look

AVAILABLE = list(SPECS)
PUBLIC = {"network.ingress": True}
# Prefixes that the engine guards by the key, as its source says.
GUARDED = {
    "vllm": ("/v1",),
    "sglang": ("/v1",),
    "llama_cpp": ("/v1",),
    "tei": ("/v1", "/embed", "/embeddings", "/rerank", "/predict", "/embed_all", "/embed_sparse", "/similarity"),
}


@pytest.mark.parametrize("name", [name for name in AVAILABLE if ENGINES[name].authenticates])
@pytest.mark.parametrize("api_format", ["openai_compatible", "huggingface"])
def test_c71_only_paths_that_the_key_guards_are_public(name: str, api_format: str) -> None:
    if api_format not in ENGINES[name].api_formats:
        return
    rendered = objects(host({**PUBLIC, "engine.apiFormat": api_format}, SPECS[name]))
    paths = [path["path"] for path in one(rendered, "Ingress")["spec"]["rules"][0]["http"]["paths"]]
    assert paths
    for path in paths:
        assert any(path == guarded or path.startswith(f"{guarded}/") for guarded in GUARDED[name]), path


@pytest.mark.parametrize("name", AVAILABLE)
def test_c71_no_engine_opens_its_whole_tree(name: str) -> None:
    """Where nothing checks a key there is nothing to get around, and the manifest says so."""
    if name == "custom":
        return
    for paths in ENGINES[name].public_paths.values():
        assert "/" not in paths


@pytest.mark.django_db
@pytest.mark.parametrize("name", [name for name in AVAILABLE if not ENGINES[name].authenticates])
def test_c72_engine_that_cannot_ask_for_a_key(desk: Desk, name: str) -> None:
    assert set(desk.refuse(PUBLIC, base=SPECS[name])) == {"spec.network.allowUnauthenticated"}
    open_to_all = {**PUBLIC, "network.allowUnauthenticated": True}
    assert desk.apply(open_to_all, base=SPECS[name], deploy=True).status == 200
    desk.secret("own_key", "a-key")
    answer = desk.apply({"network.apiKeySecret": "own_key"}, base=SPECS[name], name="keyed")
    assert "spec.network.apiKeySecret" in (answer.errors or answer.warnings)


def data_of(value: str, field: str = "model.tokenSecret", key: str = "weights-token") -> str:
    """The value in the Secret object, as pods read it."""
    manifest = host({field: "given"})
    known = facts(manifest)
    rendered = KIND.render(manifest, facts(manifest, secrets={**known.secrets, "given": secret("given", value)}))
    body = one(rendered, "Secret")
    if "stringData" in body:
        return str(body["stringData"][key])
    return base64.b64decode(body["data"][key]).decode()


@pytest.mark.django_db
@pytest.mark.parametrize("value", ["hf_abc\n", " hf_abc", "\thf_abc\r\n"])
def test_c73_blanks_around_a_token_are_cut(desk: Desk, value: str) -> None:
    stored = desk.secret("hf_token", value)
    if stored.status == 200:
        assert desk.apply({"model.tokenSecret": "hf_token"}).status == 200
    else:
        assert set(stored.errors) == {"spec.config.value"}
    assert data_of(value) == "hf_abc"


@pytest.mark.django_db
@pytest.mark.parametrize("field", ["model.tokenSecret", "network.apiKeySecret"])
def test_c73_header_instead_of_a_token_starts_nothing_and_is_told(desk: Desk, field: str) -> None:
    """The value is only read where it is used."""
    assert desk.secret("hf_token", "Bearer hf_abc").status == 200
    desk.apply({field: "hf_token"}, deploy=True)
    status = desk.wait("error", "hf_token", rounds=5)
    assert f"spec.{field}" in status["message"]
    assert "hf_abc" not in json.dumps(status)
    assert "Deployment" not in desk.live_kinds()
    desk.secret("hf_token", "hf_abc")
    desk.wait("active")


def references(value: Any) -> list[dict[str, Any]]:
    """Every secretKeyRef in an object."""
    if isinstance(value, dict):
        found = [value["secretKeyRef"]] if "secretKeyRef" in value else []
        return found + [one for inner in value.values() for one in references(inner)]
    return [one for inner in value for one in references(inner)] if isinstance(value, list) else []


def test_c74_without_a_token_nothing_refers_to_one() -> None:
    rendered = objects(host())
    (body,) = [one for one in rendered if one["kind"] == "Secret"]
    assert {reference["key"] for reference in references(rendered)} <= set(body.get("data") or body["stringData"])
    fetch = one(rendered, "Deployment")["spec"]["template"]["spec"]["initContainers"][0]
    assert references(fetch) == []
    assert not any(reference.get("optional") for reference in references(objects(host({"model.tokenSecret": "hf"}))))


@pytest.mark.django_db
@pytest.mark.parametrize("field", ["model.tokenSecret", "network.apiKeySecret"])
def test_c74_reference_to_nothing(desk: Desk, field: str) -> None:
    errors = desk.refuse({field: "no_such_secret"})
    assert set(errors) == {f"spec.{field}"}
    assert "no_such_secret" in errors[f"spec.{field}"]


@pytest.mark.django_db
@pytest.mark.parametrize("value", ["", " ", "\n"])
def test_c74_secret_without_a_value(desk: Desk, value: str) -> None:
    assert set(desk.secret("hf_token", value).errors) == {"spec.config.value"}
    for field in ("model.tokenSecret", "network.apiKeySecret"):
        manifest = host({field: "hf_token"})
        secrets = {**facts(manifest).secrets, "hf_token": secret("hf_token", value)}
        assert f"spec.{field}" in {problem.path for problem in KIND.check(manifest, facts(manifest, secrets=secrets))}


REFUSED: list[tuple[str, Fault, str, list[str]]] = [
    ("401", status(401), "hf_x", ["hf_token", "huggingface.co/meta-llama/Llama-3.1-8B-Instruct", "model.tokenSecret"]),
    (
        "403 gated",
        status(403, {"X-Error-Code": "GatedRepo"}),
        "hf_x",
        ["gated", "hf_token", "terms", "huggingface.co/meta-llama/Llama-3.1-8B-Instruct"],
    ),
    ("403", status(403), "hf_x", ["hf_token", "huggingface.co/meta-llama/Llama-3.1-8B-Instruct", "model.tokenSecret"]),
    ("401 gated, no token", status(401, {"X-Error-Code": "GatedRepo"}), "", ["gated", "terms", "model.tokenSecret"]),
    ("404", status(404), "hf_x", ["does not exist", "model.repository"]),
    ("429", status(429), "hf_x", ["429", "again"]),
]


@pytest.mark.parametrize(("fault", "token", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_c75_weights_that_are_refused_are_an_error_with_a_way_out(
    fetch: Callable[..., Outcome], site: Site, fault: Fault, token: str, words: list[str]
) -> None:
    """From the answer of a hub, through the fetch program's last words, to the message of the host."""
    site.faults = [("", fault)] * 40
    outcome = fetch(HF_TOKEN=token)
    changes = {"model.repository": "meta-llama/Llama-3.1-8B-Instruct", "model.tokenSecret": "hf_token"}
    manifest = host(changes if token else {**changes, "model.tokenSecret": None})
    ended = {"exitCode": outcome.code, "message": json.dumps(outcome.last) + "\n"}
    found = look(seen.not_ready(objects(manifest)), seen.fetching({"terminated": ended}), manifest=manifest)
    assert (found.phase, found.ready) == ("error", False)
    for word in words:
        assert word in found.message, found.message
    assert "hf_x" not in found.message


@pytest.mark.django_db
@pytest.mark.parametrize("field", ["model.tokenSecret", "network.apiKeySecret"])
def test_c98_secret_of_another_account_is_not_there(desk: Desk, other: Desk, field: str) -> None:
    desk.secret("a_hf_token", "value-of-a")
    there, nowhere = (other.apply({field: name}, deploy=True) for name in ("a_hf_token", "no_such_one"))
    assert (there.status, nowhere.status) == (422, 422)
    assert there.errors[f"spec.{field}"].replace("a_hf_token", "no_such_one") == nowhere.errors[f"spec.{field}"]


@pytest.mark.django_db
@pytest.mark.parametrize("account", ["smarter-worker", "default", "kube-system"])
def test_c99_service_accounts_are_the_operators_to_lend(desk: Desk, account: str) -> None:
    assert "spec.resources.serviceAccountName" in desk.refuse({"resources.serviceAccountName": account})
    pod = one(objects(host(base=BASE)), "Deployment")["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
