"""HTTP in, HTTP out, on a real database: clients with keys of two accounts, and a cluster."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from smarter.apps.accounts.models import Account, User
from smarter.apps.accounts.services import SCOPES, create_api_key, ensure_platform
from smarter.apps.clusters.models import Cluster
from smarter.apps.clusters.services import ensure_cluster
from smarter.apps.resources.built_ins import ensure_built_ins
from tests.db.accounts.builders import member, tenant
from tests.db.resources import toys


@dataclass(frozen=True)
class Caller:
    """One API key. Methods answer the response as it went out."""

    account: Account
    user: User
    key: str

    def call(self, method: str, path: str, body: bytes | str = b"", **headers: str) -> HttpResponse:
        sent = {
            "Authorization": f"Bearer {self.key}",
            **{name.replace("_", "-"): text for name, text in headers.items()},
        }
        content_type = sent.pop("Content-Type", "application/yaml")
        client = Client(raise_request_exception=False)
        return client.generic(method, f"/api/v1{path}", body, content_type=content_type, headers=sent)

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: bytes | str = b"", **headers: str) -> HttpResponse:
        return self.call("POST", path, body, **headers)

    def delete(self, path: str, **headers: str) -> HttpResponse:
        return self.call("DELETE", path, **headers)

    def apply(self, *documents: dict[str, Any], query: str = "", **headers: str) -> HttpResponse:
        return self.post(f"/apply{query}", "\n".join(map(json.dumps, documents)), **headers)


@pytest.fixture(autouse=True)
def _toys(monkeypatch: pytest.MonkeyPatch) -> None:
    toys.install(monkeypatch)


def caller(account: Account, user: User, **options: Any) -> Caller:
    _, key = create_api_key(account, user, f"key_of_{user.username}"[:50], **options)
    return Caller(account, user, key.get_secret_value())


@pytest.fixture
def ann(db: None) -> Caller:
    made = tenant("ann")
    return caller(made.account, made.admin, scopes=SCOPES)


@pytest.fixture
def ben(db: None) -> Caller:
    made = tenant("ben")
    return caller(made.account, made.admin, scopes=SCOPES)


@pytest.fixture
def viewer(ann: Caller) -> Caller:
    return caller(ann.account, member(ann.account, "vic", "viewer"))


@pytest.fixture
def cluster(db: None) -> Cluster:
    platform, user = ensure_platform()
    ensure_built_ins()
    return ensure_cluster(platform, user, "sim", type="simulated")


Problem = Callable[[HttpResponse], dict[str, Any]]


@pytest.fixture
def problem() -> Problem:
    """The problem document of an answer, after the checks that hold for each."""

    def read(response: HttpResponse) -> dict[str, Any]:
        assert response["Content-Type"] == "application/problem+json"
        document: dict[str, Any] = json.loads(response.content)
        assert document["status"] == response.status_code
        assert document["requestId"] == response["X-Request-ID"]
        assert document["type"] == f"urn:smarter:problem:{document['code']}"
        assert set(document) == {"type", "title", "status", "code", "detail", "requestId", "errors"}
        assert "Traceback" not in response.content.decode()
        return document

    return read
