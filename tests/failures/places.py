"""Many hosts at once on one cluster, simulated or real, each on its way into its own failure, and what the observer
says of each while it goes there."""

import copy
import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils import timezone

from smarter.cluster.port import Cluster
from smarter.core.facts import AccountFact, Environment
from smarter.core.kind import Observation
from smarter.core.objects import (
    EVENT,
    NAMESPACE,
    NODE,
    POD,
    SERVICE_ACCOUNT,
    KubernetesObject,
    ObjectRef,
    owner_uid_of,
    ref_of,
)
from smarter.render.namespace import bootstrap
from tests.contract.cluster import bodies
from tests.failures.table import CLOSED_NODE, FULL_NODE, NO_GPU_NODE, TAINTED_NODE, Failure
from tests.llm_hosts import KIND, facts, host

ACCOUNT = AccountFact("7777-0000-0001", "7d1f0c52-1b1b-4f0e-9f5b-6a4a0d6f5a07")
POOR = AccountFact("7777-0000-0002", "7d1f0c52-1b1b-4f0e-9f5b-6a4a0d6f5a08")
SPACES = {ACCOUNT.number: f"smarter-{ACCOUNT.number}", POOR.number: f"smarter-{POOR.number}"}
PATIENCE_SECONDS = 150.0


@dataclass(frozen=True)
class Place:
    """`clock_shift` moves the observer's clock to that of a simulated cluster."""

    cluster: Cluster
    pause: Callable[[], None]
    now: Callable[[], Any] = timezone.now
    end_by_force: Callable[[str], None] = lambda _namespace: None


@dataclass
class Ward:
    """One host on its way. `seen` is every observation that differed from the one before."""

    failure: Failure
    manifest: Any
    uid: str
    account: AccountFact
    bodies: list[KubernetesObject]
    changed: bool = False
    seen: list[Observation] = field(default_factory=list)
    match: Observation | None = None


def nodes() -> list[KubernetesObject]:
    full, closed = bodies.node(FULL_NODE), bodies.node(CLOSED_NODE)
    for name in ("capacity", "allocatable"):
        full["status"][name] = {**full["status"][name], "pods": "0"}
    closed["spec"]["unschedulable"] = True
    return [bodies.node(NO_GPU_NODE), full, bodies.node(TAINTED_NODE, taint=True), closed]


def prepare(place: Place) -> None:
    for body in nodes():
        place.cluster.apply(body)
    for account, environment in ((ACCOUNT, Environment()), (POOR, Environment(cpu_quota="1"))):
        for body in bootstrap(account, environment):
            place.cluster.apply(body)
    # What is applied right after its namespace may find no account to run as.
    ready = ObjectRef(SERVICE_ACCOUNT, SPACES[POOR.number], "default")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while place.cluster.get(ready) is None:
        assert time.monotonic() < deadline
        place.pause()


def clean(place: Place) -> None:
    for space in SPACES.values():
        place.end_by_force(space)
        place.cluster.delete(ObjectRef(NAMESPACE, "", space))
    for body in nodes():
        place.cluster.delete(ObjectRef(NODE, "", body["metadata"]["name"]))


def admit(place: Place, failure: Failure) -> Ward:
    name = (
        "f_" + "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in failure.id).lstrip("_")[:40]
    )
    manifest = host(failure.fields, failure.base, name.replace("__", "_").strip("_"))
    uid = str(uuid.uuid4())
    account = POOR if failure.small_quota else ACCOUNT
    rendered = KIND.render(manifest, facts(manifest, uid=uid, account=account))
    ward = Ward(failure, manifest, uid, account, [failure.dooms(body) for body in rendered])
    for body in ward.bodies:
        place.cluster.apply(body)
    return ward


def follow(place: Place, wards: list[Ward]) -> None:
    """Looks until each has been seen as it should be, or patience is over."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        live = _live(place.cluster)
        for ward in wards:
            if ward.match is None:
                _look(place, ward, live.get(ward.uid, []))
        if all(ward.match for ward in wards):
            return
        place.pause()


def _live(cluster: Cluster) -> dict[str, list[KubernetesObject]]:
    found: dict[str, list[KubernetesObject]] = defaultdict(list)
    owners: dict[str, str] = {}
    for space in SPACES.values():
        for kind in (*KIND.object_kinds, POD):
            for body in cluster.list(kind, namespace=space):
                owner = owner_uid_of(body)
                if owner:
                    found[owner].append(body)
                    owners[body["metadata"]["uid"]] = owner
        for event in cluster.list(EVENT, namespace=space):
            owner = owners.get(str(event["involvedObject"].get("uid")))
            if owner:
                found[owner].append(event)
    return found


def _look(place: Place, ward: Ward, live: list[KubernetesObject]) -> None:
    failure = ward.failure
    found: Observation = KIND.observe(
        ward.manifest, facts(ward.manifest, uid=ward.uid, account=ward.account), live, place.now() + failure.later
    )
    if not ward.seen or ward.seen[-1] != found:
        ward.seen.append(found)
    if fits(failure, found):
        ward.match = found
        for body in reversed(ward.bodies):
            place.cluster.delete(ref_of(body))
        return
    settled = found.phase == "active" or failure.on == "PersistentVolumeClaim"
    if failure.then and not ward.changed and settled and _bound(live):
        ward.changed = True
        for body in ward.bodies:
            if body["kind"] == failure.on:
                changed = copy.deepcopy(body)
                failure.then(changed)
                place.cluster.apply(changed)


def _bound(live: list[KubernetesObject]) -> bool:
    claims = [body for body in live if body["kind"] == "PersistentVolumeClaim"]
    return all((claim.get("status") or {}).get("phase") == "Bound" for claim in claims)


def fits(failure: Failure, found: Observation) -> bool:
    reasons = {condition.reason for condition in found.conditions}
    return (
        found.phase in failure.phases.split()
        and (not failure.reason or failure.reason in reasons)
        and all(word in found.message for word in failure.words)
        and (failure.final is None or found.failed == failure.final)
    )


def summary(ward: Ward) -> list[tuple[str, str, set[str], bool]]:
    return [
        (one.phase, one.message, {condition.reason for condition in one.conditions}, one.failed)
        for one in (replace(seen) for seen in ward.seen[-8:])
    ]
