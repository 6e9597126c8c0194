"""A small Smarter server in memory, behind the command line's HTTP client. It answers with the shapes of the real API,
keeps what it was sent, and plays the states that a test scripts."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import yaml

TOKEN = "sk_test_0123456789"
ADDRESS = "https://smarter.example.com"
HOST_YAML = """\
apiVersion: smarter.sh/v1
kind: LLMHost
metadata:
  name: my_host
spec:
  engine: {type: vllm}
"""

Answer = httpx.Response
Route = Callable[[httpx.Request], Answer]


def kind(name: str, plural: str, group: str = "smarter.sh/v1", **more: Any) -> dict[str, Any]:
    described = {"apiVersion": group, "kind": name, "plural": plural, "summary": f"A {name}.", "columns": []}
    return {**described, "deployable": False, **more}


KINDS = [
    kind(
        "LLMHost",
        "llmhosts",
        deployable=True,
        columns=[{"title": "STATUS", "path": "status.hostStatus"}, {"title": "PRICE/H", "path": "status.pricePerHour"}],
    ),
    kind("Secret", "secrets"),
    kind("Model", "models", "neuronetes.io/v1alpha1", deployable=True),
    kind("Model", "models", "thalamus.cloud/v1alpha1", deployable=True),
]


WHO = {"username": "ann", "role": "admin", "scopes": ["read", "apply"], "account": {"number": "1111-2222-3333"}}


def problem(status: int, code: str, detail: str, errors: list[dict[str, Any]] | None = None) -> Answer:
    body = {"title": "No", "status": status, "code": code, "detail": detail, "requestId": "r-1", "errors": errors or []}
    return Answer(status, json=body, headers={"Content-Type": "application/problem+json"})


def fault(line: int | None, path: str = "spec.x", message: str = "is wrong", code: str = "invalid") -> dict[str, Any]:
    column = None if line is None else 3
    return {"code": code, "path": path, "message": message, "line": line, "column": column, "document": 0}


def status(state: str, message: str = "", observed: int = 1, ready: bool | None = None, **more: Any) -> dict[str, Any]:
    word = "True" if (state == "active" if ready is None else ready) else "False"
    conditions = [{"type": "Ready", "status": word, "reason": "Word", "message": message, "lastTransitionTime": "now"}]
    return {"hostStatus": state, "message": message, "observedGeneration": observed, "conditions": conditions, **more}


def host(name: str, **state: Any) -> dict[str, Any]:
    spec = {"engine": {"type": "vllm"}}
    head = {"apiVersion": "smarter.sh/v1", "kind": "LLMHost", "metadata": {"name": name}, "spec": spec}
    return {**head, "status": state}


@dataclass
class FakeServer:
    """`states` are the statuses that reads of a host get, one after the other, the last one for ever. `routes` answers
    in place of what is built in, `faults` fails the next requests."""

    states: dict[str, list[Any]] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    routes: dict[str, Route] = field(default_factory=dict)
    faults: list[Exception | Answer] = field(default_factory=list)
    requests: list[httpx.Request] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> Answer:
        self.requests.append(request)
        if self.faults:
            planned = self.faults.pop(0)
            if isinstance(planned, Exception):
                raise planned
            return planned
        if request.headers.get("Authorization") != f"Bearer {TOKEN}" and not request.url.path.startswith(
            "/api/v1/kinds"
        ):
            return problem(401, "unauthenticated", "Authentication is needed.")
        route = f"{request.method} {request.url.path}"
        if route in self.routes:
            return self.routes[route](request)
        return self.built_in(request)

    def built_in(self, request: httpx.Request) -> Answer:
        path = request.url.path.removeprefix("/api/v1/").split("/")
        if path == ["kinds"]:
            return Answer(200, json={"items": KINDS})
        if path == ["apply"]:
            return self.apply(request)
        if path[0] == "kinds":
            return Answer(200, text=HOST_YAML) if path[-1] == "example" else Answer(200, json={"type": "object"})
        if path == ["whoami"]:
            who = {
                "username": "ann",
                "role": "admin",
                "scopes": ["read", "apply"],
                "account": {"number": "1111-2222-3333"},
            }
            return Answer(200, json=who)
        if path == ["version"]:
            return Answer(200, json={"version": "9.8.7"})
        return self.manifests(request, path)

    def apply(self, request: httpx.Request) -> Answer:
        results = []
        for index, document in enumerate(one for one in yaml.safe_load_all(request.content) if one):
            name = document["metadata"]["name"]
            results.append(
                {
                    "document": index, "apiVersion": document["apiVersion"], "kind": document["kind"], "name": name,
                    "action": "created", "generation": self.generations.get(name, 1), "resourceVersion": "1",
                    "deployed": request.url.params.get("deploy") == "true" and document["kind"] != "Secret",
                    "warnings": [], "compute": "gpu_small", "pricePerHour": "1.006", "currency": "USD",
                }
            )  # fmt: skip
            self.states.setdefault(name, [status("active")])
        return Answer(200, json={"dryRun": request.url.params.get("dryRun") == "true", "results": results})

    def manifests(self, request: httpx.Request, path: list[str]) -> Answer:
        if path[0] not in ("llmhosts", "secrets", "models.neuronetes.io"):
            return problem(404, "unknown_kind", "There is no such kind.")
        if len(path) == 1:
            return self.page(request)
        name, headers = path[1], {"Smarter-Generation": str(self.generations.get(path[1], 1))}
        if request.method == "DELETE":
            self.deleted.append(name)
            return Answer(202, json={"kind": "LLMHost", "name": name, "state": "deleting"})
        if name not in self.states:
            return problem(404, "not_found", f"There is no LLMHost {name!r} in this account.")
        if path[2:] in (["events"], ["objects"], ["logs"]):
            return Answer(200, json={"items": [], "rendered": [], "live": [], "cluster": {"answered": True}})
        states = self.states[name]
        current = states.pop(0) if len(states) > 1 and len(path) == 2 else states[0]
        if isinstance(current, Answer):
            return current
        return Answer(200, json=host(name, **current), headers=headers)

    def page(self, request: httpx.Request) -> Answer:
        limit, offset = int(request.url.params["limit"]), int(request.url.params["offset"])
        names = sorted(self.states)
        items = [host(name, **self.states[name][0]) for name in names[offset : offset + limit]]
        return Answer(200, json={"total": len(names), "limit": limit, "offset": offset, "items": items})

    def paths(self, method: str) -> list[str]:
        return [request.url.path for request in self.requests if request.method == method]


def gone() -> Answer:
    return problem(404, "not_found", "There is no LLMHost in this account.")


def parsed(text: str) -> Any:
    return json.loads(text)
