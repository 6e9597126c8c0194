"""Steps of the bench that need Smarter's own code and database: accounts, statements of a request, observe passes.

World.inside sets Django up and calls `main` in a process of its own for each, so that the memory of a pass is the
memory of that process. The answer is one line of JSON on standard output.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from django.db import connection, reset_queries
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pydantic import SecretStr

from smarter.apps.accounts import services as accounts
from smarter.apps.accounts.actor import SCOPES
from smarter.apps.accounts.models import Account
from smarter.apps.clusters.models import Cluster
from smarter.apps.clusters.services import client_for, refresh
from smarter.apps.reconcile.observe import observe
from smarter.apps.reconcile.watch import wake
from smarter.apps.resources.facts import facts_for
from smarter.apps.resources.models import Resource, ResourceState
from smarter.apps.resources.revision import declared_manifest
from smarter.core.facts import SecretFact
from smarter.core.manifest import spec_hash
from smarter.kinds import KINDS
from tests.bench import manifests

STEADY_PASSES = 3


def make_accounts(count: str) -> list[dict[str, str]]:
    """Accounts with one administrator and a key for everything."""
    known = Account.all_accounts.count()
    made = []
    for number in range(known, known + int(count)):
        account = accounts.create_account(f"bench_{number}", "Bench")
        user = accounts.create_user(f"bench_{number}", "bench@example.com", home_account=account)
        accounts.add_member(account, user, "admin")
        _, token = accounts.create_api_key(account, user, "bench", scopes=SCOPES)
        made.append({"account": account.number, "token": token.get_secret_value()})
    return made


def statements(file: str) -> dict[str, int]:
    """Statements of each request, transaction control included, as the connection to the database saw them. The file
    holds the key of an account."""
    token = json.loads(Path(file).read_text())["token"]
    client = Client(headers={"Authorization": f"Bearer {token}"}, SERVER_NAME="localhost")

    def apply(name: str, query: str = "") -> Callable[[], Any]:
        body = json.dumps(manifests.host(name))
        return lambda: client.post(f"/api/v1/apply{query}", body, content_type="application/json")

    steps = {
        "apply, new": apply("queries_b"),
        "apply, unchanged": apply("queries_b"),
        "apply, new and deployed": apply("queries_c", "?deploy=true"),
        "get": lambda: client.get("/api/v1/llmhosts/queries_b"),
        "list 100": lambda: client.get("/api/v1/llmhosts?limit=100"),
    }
    apply("queries_a")()
    counts = {}
    for name, step in steps.items():
        reset_queries()
        with CaptureQueriesContext(connection) as captured:
            answer = step()
        if answer.status_code != 200:
            raise SystemExit(f"{name}: HTTP {answer.status_code}")
        counts[name] = len(captured)
        if os.environ.get("BENCH_SHOW_STATEMENTS"):
            for query in captured.captured_queries:
                sys.stderr.write(f"{name}: {query['sql'][:300]}\n")
    return counts


def make_hosts(account: str, first: str, count: str, replicas: str, namespace: str) -> dict[str, Any]:
    """Hosts that are deployed as far as the database knows, and their objects, for the bench to put into a namespace
    without a quota. They keep their weights nowhere, since hundreds of pods share no volume."""
    owner = Account.all_accounts.get(number=account)
    cluster = Cluster.all_accounts.get(account__is_platform=True)
    kind = KINDS[("smarter.sh/v1", "LLMHost")]
    objects = []
    for number in range(int(first), int(first) + int(count)):
        document = manifests.host(f"observed_{number:04}", int(replicas))
        row = Resource(
            account=owner, api_group=kind.group, api_version=kind.api_version, kind=kind.name,
            name=document["metadata"]["name"], metadata=document["metadata"], spec=document["spec"],
            spec_hash=spec_hash(document["spec"]), resource_version=number + 1, deployed=True, cluster=cluster,
        )  # fmt: skip
        row.save()
        ResourceState.objects.create(resource=row, touched=True, observed_generation=1, phase="deploying")
        names = kind.generated_secrets(declared_manifest(row))
        facts = facts_for(row, cluster, {name: _stand_in(name) for name in names})
        objects += [_small(body, namespace) for body in kind.render(declared_manifest(row), facts)]
    return {"objects": [body for body in objects if body["kind"] != "PersistentVolumeClaim"]}


def _stand_in(name: str) -> SecretFact:
    return SecretFact(name, SecretStr("bench"), "0" * 64)


def _small(body: dict[str, Any], namespace: str) -> dict[str, Any]:
    body["metadata"]["namespace"] = namespace
    if body["kind"] == "Deployment":
        pod = body["spec"]["template"]["spec"]
        for volume in pod.get("volumes") or []:
            if volume.pop("persistentVolumeClaim", None):
                volume["emptyDir"] = {}
        for container in (*(pod.get("initContainers") or ()), *pod["containers"]):
            container["resources"] = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "128Mi"}}
    return body


def observe_passes() -> dict[str, Any]:
    """The first pass finds everything new and writes it; the others find the same again."""
    cluster = Cluster.all_accounts.select_related("account", "kubeconfig_secret").get(account__is_platform=True)
    refresh(cluster)
    client_for(cluster)
    before = _memory("VmRSS")
    seconds, counts = [], []
    for _ in range(1 + STEADY_PASSES):
        wake(cluster.pk)
        began = time.perf_counter()
        with CaptureQueriesContext(connection) as captured:
            done = observe(cluster.pk)
        seconds.append(time.perf_counter() - began)
        counts.append(len(captured))
        if done is None:
            raise SystemExit("another worker held the cluster")
    states = ResourceState.objects.filter(resource__cluster=cluster)
    return {
        "first": seconds[0],
        "steady": median(seconds[1:]),
        "peak": _memory("VmHWM"),
        "before": before,
        "statements": counts[-1],
        "active": states.filter(phase="active").count(),
    }


def _memory(field: str) -> int:
    """Bytes. The kernel's high-water mark of this program alone; getrusage would count the parent before the exec."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


VERBS: dict[str, Callable[..., Any]] = {
    "accounts": make_accounts,
    "statements": statements,
    "hosts": make_hosts,
    "observe": observe_passes,
}


def main(arguments: list[str]) -> None:
    verb, *rest = arguments
    sys.stdout.write(json.dumps(VERBS[verb](*rest)) + "\n")
