"""What must hold after every fault. One function per promise; `check` asks them all."""

import time
from datetime import timedelta

from django.db.models import F

from smarter.apps.costs.models import UsageInterval
from smarter.apps.resources.models import Resource, ResourceState
from smarter.cluster.simulated import SimulatedCluster
from smarter.core.objects import (
    DEPLOYMENT,
    MANAGED_SELECTOR,
    OBJECT_KINDS,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    KubernetesObject,
    owner_uid_of,
)
from tests.faults.oracle import Oracle

EXACT = timedelta(seconds=1)
"""Timestamps of Kubernetes have whole seconds."""


def check(sim: SimulatedCluster, oracle: Oracle, *, unseen_pods_are_free: bool = False) -> None:
    """`unseen_pods_are_free`: the test makes pods that come and go between two looks, which nobody is billed for."""
    every_generation_is_observed()
    nothing_is_left_over(sim)
    one_deployment_each(sim)
    no_lease_is_old()
    nothing_is_billed_that_is_over(oracle)
    if not unseen_pods_are_free:
        the_ledger_is_what_happened(oracle)


def check_soon(
    sim: SimulatedCluster, oracle: Oracle, seconds: float = 10.0, *, unseen_pods_are_free: bool = False
) -> None:
    """The same, for workers that are processes of their own and may still be at it."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return check(sim, oracle, unseen_pods_are_free=unseen_pods_are_free)
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.2)


def every_generation_is_observed() -> None:
    behind = ResourceState.objects.filter(resource__deployed=True).exclude(
        observed_generation=F("resource__generation")
    )
    silent = [state for state in behind.select_related("resource") if not state.last_error]
    assert silent == []


def managed(sim: SimulatedCluster) -> list[KubernetesObject]:
    served = [kind for kind in OBJECT_KINDS.values() if kind.feature is None or kind.feature in sim.info().features]
    return [body for kind in served for body in sim.list(kind, label_selector=MANAGED_SELECTOR)]


def nothing_is_left_over(sim: SimulatedCluster) -> None:
    """Every object of ours belongs to a resource that exists; of one that is not deployed only volumes stay."""
    rows = {str(row.uid): row for row in Resource.all_accounts.all()}
    for body in managed(sim):
        owner = owner_uid_of(body)
        if owner is None or body["metadata"].get("deletionTimestamp"):
            continue
        label = f"{body['kind']} {body['metadata']['name']}"
        assert owner in rows, f"{label} belongs to nothing"
        assert rows[owner].deployed or body["kind"] == PERSISTENT_VOLUME_CLAIM.kind, f"{label} should be gone"


def one_deployment_each(sim: SimulatedCluster) -> None:
    owners = [owner_uid_of(body) for body in sim.list(DEPLOYMENT, label_selector=MANAGED_SELECTOR)]
    assert len(owners) == len(set(owners))
    wanted = {str(row.uid) for row in Resource.all_accounts.filter(deployed=True, kind="LLMHost", deleting_at=None)}
    assert set(owners) == wanted
    pods = [body for body in sim.list(POD, label_selector=MANAGED_SELECTOR) if not _is_over(body)]
    assert sorted(str(owner_uid_of(pod)) for pod in pods) == sorted(wanted)


def _is_over(pod: KubernetesObject) -> bool:
    return "deletionTimestamp" in pod["metadata"] or pod["status"].get("phase") in {"Failed", "Succeeded"}


def the_ledger_is_what_happened(oracle: Oracle) -> None:
    """One interval for each pod that a node took in, from its start to its end."""
    ledger = {row.pod_uid: row for row in UsageInterval.all_accounts.all()}
    lives = {life.uid: life for life in oracle.pods() if life.ended_at is None or life.ended_at > life.started_at}
    assert set(lives) <= set(ledger), f"not billed: {set(lives) - set(ledger)}"
    for uid, life in lives.items():
        row = ledger[uid]
        assert str(row.resource_uid) == life.owner
        assert row.period.lower == life.started_at
        if life.ended_at is None:
            assert row.period.upper is None, f"{uid} runs, and its interval is closed"
        else:
            assert row.period.upper is not None, f"{uid} ended, and its interval is open"
            assert abs(row.period.upper - life.ended_at) <= EXACT, (row.period, life)


def nothing_is_billed_that_is_over(oracle: Oracle) -> None:
    running = {life.uid for life in oracle.pods() if life.ended_at is None}
    opened = set(UsageInterval.all_accounts.filter(period__endswith__isnull=True).values_list("pod_uid", flat=True))
    assert opened <= running


def no_lease_is_old() -> None:
    """A lease that is over is never taken for one that is held; what is held now was taken a moment ago."""
    held = ResourceState.objects.filter(lease_until__isnull=False, next_check_at__isnull=True)
    assert not held.exists()
