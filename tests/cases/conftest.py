"""The doors that the cases go through: HTTP of two accounts, workers, and one simulated cluster behind them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.http import HttpResponse

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.services import SCOPES
from smarter.apps.clusters import connections
from smarter.core.objects import KubernetesObject
from tests.api.conftest import Caller, caller
from tests.cases.manifests import BASE, manifest, secret
from tests.cluster.harness import doom
from tests.db.accounts.builders import tenant
from tests.db.reconcile.world import World, make_world
from tests.unit.fetch.conftest import fetch, site, target

__all__ = ["fetch", "site", "target"]


@dataclass(frozen=True)
class Answer:
    """An answer of the API: messages by path, errors and warnings apart."""

    response: HttpResponse

    @property
    def status(self) -> int:
        return self.response.status_code

    @property
    def body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.response.content)
        return found

    @property
    def result(self) -> dict[str, Any]:
        assert self.status == 200, self.response.content
        (found,) = self.body["results"]
        return dict(found)

    @property
    def errors(self) -> dict[str, str]:
        found = self.body.get("errors", [])
        return {one["path"]: one["message"] for one in found if one.get("level", "error") == "error"}

    @property
    def warnings(self) -> dict[str, str]:
        return {one["path"]: one["message"] for one in self.result["warnings"]}


@dataclass(frozen=True)
class Desk:
    """One account at the platform: its HTTP client and its part of the cluster."""

    http: Caller
    world: World

    def send(self, document: dict[str, Any], query: str = "", **headers: str) -> Answer:
        return Answer(self.http.apply(document, query=query, **headers))

    def apply(
        self,
        changes: dict[str, Any] | None = None,
        *,
        base: dict[str, Any] = BASE,
        name: str = "case_host",
        deploy: bool = False,
        **metadata: Any,
    ) -> Answer:
        query = "?deploy=true" if deploy else ""
        return self.send(manifest(changes, base=base, name=name, **metadata), query)

    def refuse(self, changes: dict[str, Any], **options: Any) -> dict[str, str]:
        """The errors of an apply that must be refused, with nothing stored and nothing sent to the cluster."""
        name = options.get("name", "case_host")
        existed, version = self.world.exists(name), self._version(name)
        writes = self.world.writes()
        answer = self.apply(changes, **{"deploy": True, **options})
        assert 400 <= answer.status < 500, answer.response.content
        assert b"Traceback" not in answer.response.content
        assert (self.world.exists(name), self._version(name)) == (existed, version)
        assert self.world.writes() == writes
        return answer.errors

    def _version(self, name: str) -> int | None:
        return self.world.host(name).resource_version if self.world.exists(name) else None

    def run(self, changes: dict[str, Any] | None = None, *, phase: str = "active", **options: Any) -> None:
        """Applies, deploys and waits."""
        answer = self.apply(changes, **{"deploy": True, **options})
        assert answer.status == 200, answer.response.content
        self.world.settle(options.get("name", "case_host"), phase)

    def wait(self, phase: str, *words: str, name: str = "case_host", rounds: int = 60) -> dict[str, Any]:
        """The status, once the host is in that phase and its message holds the words."""
        for _ in range(rounds):
            self.world.round()
            status = self.status(name)
            if status.get("hostStatus") == phase and all(word in (status["message"] or "") for word in words):
                return status
        raise AssertionError(f"{name} is {status.get('hostStatus')}, not {phase} {words}: {status.get('message')}")

    def secret(self, name: str, value: str) -> Answer:
        return self.send(secret(name, value))

    def rounds(self, count: int, seconds: float = 5.0) -> None:
        for _ in range(count):
            self.world.round(seconds)

    def status(self, name: str = "case_host") -> dict[str, Any]:
        answer = self.http.get(f"/llmhosts/{name}")
        assert answer.status_code == 200, answer.content
        return dict(json.loads(answer.content)["status"])

    def live(self, kind: str, name: str = "case_host") -> KubernetesObject:
        found = [body for body in self.world.objects(self.world.host(name).uid) if body["kind"] == kind]
        assert len(found) == 1, f"{len(found)} objects of kind {kind}"
        return found[0]

    def live_kinds(self, name: str = "case_host") -> set[str]:
        return {body["kind"] for body in self.world.objects(self.world.host(name).uid)}


@pytest.fixture
def desk(db: None, tmp_path: Path) -> Iterator[Desk]:
    before = settings.SMARTER.simulated_cluster_file
    world = make_world(tmp_path)
    yield Desk(caller(world.actor.account, world.actor.user, scopes=SCOPES), world)
    connections.close_all()
    settings.SMARTER.simulated_cluster_file = before


@pytest.fixture
def other(desk: Desk) -> Desk:
    """Another account on the same cluster."""
    made = tenant("zed")
    actor = Actor(made.admin, made.account, "admin")
    return Desk(caller(made.account, made.admin, scopes=SCOPES), World(actor, desk.world.cluster, desk.world.sim))


@dataclass
class Fates:
    """What is in store for the pods of Deployments that are applied from now on; None is a good life. `notes` are
    annotations with the words and codes that some fates speak."""

    fate: str | None = None
    delay: str | None = None
    notes: dict[str, str] = field(default_factory=dict)


@pytest.fixture
def fates(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Fates:
    """The cluster gives pods a fate by a label, which nobody but tests sets."""
    chosen, sim = Fates(), desk.world.sim
    apply = sim.apply

    def applied(body: KubernetesObject, **options: Any) -> KubernetesObject:
        if body["kind"] == "Deployment" and chosen.fate:
            body = doom(body, chosen.fate, chosen.delay)
            body["spec"]["template"]["metadata"].setdefault("annotations", {}).update(chosen.notes)
        return apply(body, **options)

    monkeypatch.setattr(sim, "apply", applied)
    return chosen
