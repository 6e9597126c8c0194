"""A revision that does not start: the one before serves again, the manifest stays as declared, the reason is kept."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from smarter.apps.resources.audit import first_break
from smarter.apps.resources.models import AuditEvent, Event
from smarter.core.kind import Observation
from smarter.core.objects import DEPLOYMENT, KubernetesObject
from smarter.kinds import KINDS
from tests.db.reconcile.test_rollout import NEXT, SHARED, condition, deployment, strategy
from tests.db.reconcile.world import HOST, LLM_HOST, World

BAD = "vllm/vllm-openai:v0.0.0"
OWN = HOST.format(name="a")


@pytest.fixture(autouse=True)
def bad_image_never_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulated registry does not have it, and the observer gives up at once instead of after minutes."""

    def render(manifest: Any, facts: Any) -> list[KubernetesObject]:
        objects = LLM_HOST.render(manifest, facts)
        for body in objects:
            if body["kind"] == DEPLOYMENT.kind and image_of(body) == BAD:
                body["spec"]["template"]["metadata"].setdefault("labels", {})["smarter.sh/test-fate"] = (
                    "image-pull-failure"
                )
        return objects

    def observe(manifest: Any, facts: Any, live: list[KubernetesObject], now: Any) -> Observation:
        found = LLM_HOST.observe(manifest, facts, live, now)
        bad = any(body["kind"] == DEPLOYMENT.kind and image_of(body) == BAD for body in live)
        waits = any(_waits(body) for body in live if body["kind"] == "Pod")
        return replace(found, failed=bad and waits)

    monkeypatch.setitem(KINDS, LLM_HOST.key, replace(LLM_HOST, render=render, observe=observe))


def _waits(pod: KubernetesObject) -> bool:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return any("Image" in str((one["state"].get("waiting") or {}).get("reason")) for one in statuses)


def image_of(body: KubernetesObject) -> str:
    return str(body["spec"]["template"]["spec"]["containers"][0]["image"])


def with_image(text: str, image: str) -> str:
    return text.replace("vllm/vllm-openai:v0.33.0", image)


def until(world: World, check: Callable[[], bool], rounds: int = 60) -> None:
    for _ in range(rounds):
        if check():
            return
        world.round()
    raise AssertionError(f"not reached: {world.status()}")


def is_back(world: World) -> bool:
    return world.status().get("hostStatus") == "degraded" and image_of(deployment(world)) != BAD and serves(world)


def serves(world: World) -> bool:
    return world.status().get("readyReplicas") == 1 and not world.host().state.in_transition


@pytest.mark.parametrize("text", [SHARED, OWN], ids=["surge", "recreate"])
def test_the_last_good_revision_is_put_back_and_says_why(world: World, text: str) -> None:
    world.apply(text)
    world.settle()
    world.apply(with_image(text, BAD))
    until(world, lambda: is_back(world))
    host, status = world.host(), world.status()
    assert host.spec["engine"]["image"] == BAD, "the manifest stays as declared"
    assert image_of(deployment(world)) == "vllm/vllm-openai:v0.33.0"
    assert strategy(world)[0] == ("RollingUpdate" if text == SHARED else "Recreate")
    assert (host.state.ready, host.state.observed_generation, host.generation) == (False, 2, 2)
    found, ready = condition(world, "Restored"), condition(world, "Ready")
    assert found is not None and ready is not None
    assert (found["status"], ready["status"]) == ("True", "False")
    assert "Generation 2 did not start" in found["message"]
    assert BAD in found["message"]
    assert BAD in status["message"]
    assert status["healthy"] is True


def test_it_stays_so_and_nothing_is_written_any_more(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    world.apply(with_image(SHARED, BAD))
    until(world, lambda: is_back(world))
    before, state = world.versions(world.host().uid), world.host().state
    world.sim.clear_request_log()
    world.apply(with_image(SHARED, BAD))
    for _ in range(10):
        world.round()
    assert world.writes() == []
    assert world.versions(world.host().uid) == before
    assert world.host().state.restored == state.restored
    assert Event.for_account(world.actor.account).filter(reason="Restored").count() == 1
    assert AuditEvent.for_account(world.actor.account).filter(verb="restore").count() == 1
    assert first_break(world.actor.account) is None


def test_a_new_apply_is_tried_and_clears_the_failure(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    world.apply(with_image(SHARED, BAD))
    until(world, lambda: is_back(world))
    world.apply(NEXT)
    world.settle()
    assert image_of(deployment(world)) == "vllm/vllm-openai:v0.33.1"
    assert world.host().state.ready
    assert condition(world, "Restored") is None
    assert world.host().state.last_good["generation"] == world.host().generation


def test_undeploy_and_deploy_try_the_same_again(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    world.apply(with_image(SHARED, BAD))
    until(world, lambda: is_back(world))
    world.undeploy()
    world.settle(phase="inactive")
    world.apply(with_image(SHARED, BAD))
    until(world, lambda: world.host().state.restored["generation"] == 4)
    until(world, lambda: is_back(world))
    found = condition(world, "Restored")
    assert found is not None
    assert found["message"].startswith("Generation 4 did not start")


def test_a_first_revision_that_fails_has_nothing_to_go_back_to(world: World) -> None:
    world.apply(with_image(SHARED, BAD))
    for _ in range(20):
        world.round()
    assert condition(world, "Restored") is None
    assert image_of(deployment(world)) == BAD
    assert world.host().state.phase == "error"


def test_what_cannot_go_back_stays(world: World) -> None:
    """The volume has grown and the address has gone; only the engine goes back."""
    world.apply(OWN)
    world.settle()
    changed = with_image(OWN, BAD).replace("ingress: true", "ingress: false") + "  storage:\n    size: 500Gi\n"
    world.apply(changed)
    until(world, lambda: is_back(world))
    kinds = {body["kind"]: body for body in world.objects(world.host().uid)}
    assert "Ingress" not in kinds
    assert kinds["PersistentVolumeClaim"]["spec"]["resources"]["requests"]["storage"] == "500Gi"
    assert world.status()["publicUrl"] is None


def test_a_revision_that_never_was_ready_is_not_called_good(world: World) -> None:
    world.apply(SHARED)
    world.settle()
    world.apply(with_image(SHARED, "vllm/vllm-openai:v0.33.1"))
    world.apply(with_image(SHARED, BAD))
    until(world, lambda: is_back(world))
    assert image_of(deployment(world)) == "vllm/vllm-openai:v0.33.0"
    assert world.host().state.restored["from"] == 1


def test_warnings_are_those_of_the_declared_manifest(world: World) -> None:
    """What runs in its place has none; the one that its owner reads and would mend has."""
    world.apply(SHARED)
    world.settle()
    world.apply(with_image(SHARED, f"{BAD}\n    env: {{DEBUG: '1'}}"))
    until(world, lambda: is_back(world))
    for _ in range(3):
        world.round()
    assert "spec.engine.env.DEBUG" in {entry["path"] for entry in world.status()["warnings"]}
