"""Warnings about a manifest outlive the answer to its apply: they stay in the status, and follow the manifest."""

from typing import Any

from smarter.apps.clusters.models import Cluster as ClusterRow
from smarter.apps.reconcile.loop import reconcile
from smarter.apps.reconcile.outcome import remarked
from smarter.cluster.simulated import Fault
from smarter.core.kind import Observation
from smarter.core.problems import MOST_REMARKS, Problem, remarks, warning
from smarter.models.sam.base import validate
from smarter.models.sam.llm_host import SAMLLMHostStatus
from tests.db.reconcile.world import HOST, World

TEXT = HOST.format(name="a")
UNPINNED = TEXT.replace("vllm-openai:v0.33.0", "vllm-openai")
PATH = "spec.engine.image"


def warnings(world: World) -> list[dict[str, Any]]:
    return world.status().get("warnings", [])


def paths(world: World) -> set[str]:
    return {entry["path"] for entry in warnings(world)}


def test_an_apply_keeps_them_before_any_look(world: World) -> None:
    answered = world.apply(UNPINNED, deploy=False).outcomes[0].warnings
    assert PATH in paths(world)
    told = next(problem for problem in answered if problem.path == PATH)
    kept = next(entry for entry in warnings(world) if entry["path"] == PATH)
    assert kept == {"code": told.code, "path": told.path, "message": told.message}


def test_they_stay_while_the_host_starts_and_runs(world: World) -> None:
    world.apply(UNPINNED)
    world.settle()
    for _ in range(3):
        world.round()
    assert PATH in paths(world)
    assert validate(SAMLLMHostStatus, {**world.status(), **OWNERSHIP})[1] == []


OWNERSHIP = {
    "accountNumber": "1111-2222-3333",
    "username": "ann",
    "recordLocator": "r",
    "created": "2026-11-30T20:00:00Z",
    "modified": "2026-11-30T20:00:00Z",
}


def test_they_go_with_their_reason(world: World) -> None:
    world.apply(UNPINNED)
    world.settle()
    world.apply(TEXT)
    assert PATH not in paths(world)
    world.settle()
    assert PATH not in paths(world)


def test_what_only_the_cluster_tells_comes_with_a_look(world: World) -> None:
    """The rules that need facts are asked again at each look, since facts change without an apply."""
    world.apply(TEXT)
    world.settle()
    assert "spec.network.ingress" not in paths(world)
    ClusterRow.all_accounts.update(features=[])
    world.apply(TEXT)
    while reconcile() is not None:
        pass
    assert "spec.network.ingress" in paths(world)


def test_a_failed_look_leaves_them(world: World) -> None:
    world.apply(UNPINNED)
    world.settle()
    world.sim.inject(Fault(verb="list", times=100))
    world.apply(UNPINNED)
    assert reconcile(world.host().pk) is not None
    reconciled = {entry["type"]: entry["status"] for entry in world.status()["conditions"]}["Reconciled"]
    assert reconciled == "False"
    assert PATH in paths(world)


def test_their_form() -> None:
    found = [warning("a", "spec.x", "one"), warning("b", "spec.x", "two"), Problem("c", "spec.y", "an error")]
    assert remarks(found) == [{"code": "a", "path": "spec.x", "message": "one"}]
    assert len(remarks(warning("a", f"spec.x{index}", "m") for index in range(100))) == MOST_REMARKS
    observation = remarked(Observation(phase="active", ready=True, in_transition=False, status={"x": 1}), found)
    assert observation.status == {"x": 1, "warnings": remarks(found)}
