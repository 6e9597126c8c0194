"""From the live objects of one resource to what its status says.

The loop after a change (`look.py`) and the observation of a whole cluster (`observe.py`) both ask here, so that both
say the same of the same objects.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import SecretStr

from smarter.apps.reconcile.answers import with_answer
from smarter.apps.reconcile.happenings import happenings
from smarter.apps.reconcile.models import AnswerCheck
from smarter.apps.reconcile.outcome import of_restored, priced
from smarter.apps.reconcile.tails import Budget, tails
from smarter.apps.resources.models import Resource
from smarter.cluster.port import Cluster
from smarter.core.facts import Facts
from smarter.core.kind import Kind, Manifest, Observation, Placement
from smarter.core.masking import mask_observation
from smarter.core.objects import KubernetesObject


@dataclass(frozen=True, slots=True)
class Eyes:
    """What one pass looks with."""

    port: Cluster
    budget: Budget
    checks: dict[int, AnswerCheck]
    now: datetime


@dataclass(frozen=True, slots=True)
class Scene:
    """What one resource looks like. `manifest` is the revision that runs; `live` holds the pods too. `placement` is
    asked for what is deployed, `secret_values` last."""

    resource: Resource
    kind: Kind
    manifest: Manifest
    facts: Facts
    live: list[KubernetesObject]
    pods: list[KubernetesObject]
    placement: Callable[[], Placement | None]
    secret_values: Callable[[], Iterable[SecretStr]]


def judged(scene: Scene, eyes: Eyes) -> Observation:
    resource, kind = scene.resource, scene.kind
    logs = tails(eyes.port, kind, scene.manifest, scene.pods, eyes.budget)
    seen = [*scene.live, *happenings(eyes.port, scene.live, eyes.budget, eyes.now)]
    observation = kind.observe(scene.manifest, replace(scene.facts, logs=logs), seen, eyes.now)
    if resource.deployed:
        observation = priced(observation, scene.placement())
    observation = of_restored(observation, kind, resource)
    observation = with_answer(observation, kind, eyes.checks.get(resource.pk))
    return mask_observation(observation, scene.secret_values())
