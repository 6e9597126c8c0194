"""Random histories: edits, undeploys, deletions and hands on the cluster, with random faults in between. After each
history there is calm, and then every promise holds. A failure prints its seed."""

import random
from collections.abc import Callable

import pytest

from smarter.apps.resources.models import Resource
from smarter.cluster.simulated import Fault
from smarter.core.errors import Refused
from smarter.core.objects import OWNER_UID_LABEL, ref_of
from tests.db.reconcile.world import HOST
from tests.faults import invariants
from tests.faults.rig import Rig

SEEDS = range(20)
STEPS = 12
CALM_POLLS = 70
"""More than the longest wait after a refusal of the cluster."""
NAMES = ("a", "b")
STATUSES = (0, 0, 401, 403, 429, 500, 503, 504)


def apply(rig: Rig, dice: random.Random) -> None:
    text = HOST.format(name=dice.choice(NAMES))
    text = text.replace("v0.33.0", f"v0.33.{dice.randrange(3)}")
    text = text.replace("ingress: true", f"ingress: {dice.choice(['true', 'false'])}")
    rig.apply(text)


def undeploy(rig: Rig, dice: random.Random) -> None:
    rig.undeploy(dice.choice(NAMES))


def delete(rig: Rig, dice: random.Random) -> None:
    rig.delete(dice.choice(NAMES))


def remove_by_hand(rig: Rig, dice: random.Random) -> None:
    rows = list(Resource.for_account(rig.actor.account).filter(kind="LLMHost"))
    if rows:
        bodies = [body for body in rig.objects(dice.choice(rows).uid) if body["kind"] != "PersistentVolumeClaim"]
        if bodies:
            rig.sim.delete(ref_of(dice.choice(bodies)))


def fail(rig: Rig, dice: random.Random) -> None:
    rig.sim.inject(
        Fault(
            verb=dice.choice(["apply", "list", "delete", "info", "*"]),
            times=dice.randrange(1, 6),
            moment=dice.choice(["before", "after"]),
            status=dice.choice(STATUSES),
            retry_after=dice.choice(["", "2"]),
        )
    )


def nothing(rig: Rig, dice: random.Random) -> None:
    rig.elapse(dice.random() * 5)


ACTIONS: tuple[tuple[Callable[[Rig, random.Random], None], int], ...] = (
    (apply, 5),
    (undeploy, 2),
    (delete, 1),
    (remove_by_hand, 2),
    (fail, 5),
    (nothing, 2),
)


@pytest.mark.parametrize("seed", SEEDS)
def test_after_any_history_everything_holds(rig: Rig, seed: int) -> None:
    dice = random.Random(seed)
    history = play(rig, dice)
    assert "fail" in history and "apply" in history
    assert any(one.outcome not in {"ok", "NamespaceMissing"} for one in rig.sim.request_log()), "a fault has hit"
    rig.sim.clear_faults()
    calm(rig)
    assert not Resource.all_accounts.filter(kind="LLMHost", deleting_at__isnull=False).exists()
    for row in Resource.all_accounts.filter(kind="LLMHost").select_related("state"):
        assert row.state.phase == ("active" if row.deployed else "inactive"), (history, row.state.last_error)
        assert row.state.observed_generation == row.generation
        assert len(deployments_at_once(rig, str(row.uid))) <= 1
    invariants.check(rig.sim, rig.oracle, unseen_pods_are_free=True)


def play(rig: Rig, dice: random.Random) -> list[str]:
    """Names of what was done. What the platform refuses, such as a change of what is being deleted, was done too."""
    done = ["apply", "fail"]
    apply(rig, dice)
    rig.sim.inject(Fault("apply", skip=dice.randrange(10), status=dice.choice(STATUSES)))
    rig.poll()
    for _ in range(STEPS):
        action = dice.choices([one for one, _ in ACTIONS], [weight for _, weight in ACTIONS])[0]
        done.append(action.__name__)
        try:
            if action is remove_by_hand:
                rig.sim.clear_faults()
            action(rig, dice)
        except Refused:
            done.append("refused")
        if dice.random() < 0.7:
            rig.poll()
    return done


def calm(rig: Rig) -> None:
    """Long enough for every wait, in steps that grow."""
    for _ in range(3):
        rig.poll()
    rig.elapse(CALM_POLLS)
    for _ in range(8):
        rig.work()
        rig.elapse(2)


def deployments_at_once(rig: Rig, uid: str) -> list[str]:
    bodies = rig.objects(uid)
    assert all(body["metadata"]["labels"][OWNER_UID_LABEL] == uid for body in bodies)
    return [body["metadata"]["uid"] for body in bodies if body["kind"] == "Deployment"]
