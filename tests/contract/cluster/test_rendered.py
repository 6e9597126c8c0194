"""What Smarter renders for its own examples: taken as it is, stored as it was sent, and not written twice."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from smarter.cli.rendering import Settings, render_body
from smarter.core.objects import NAMESPACE, KubernetesObject, ObjectRef, ref_of
from smarter.core.plan import plan, stamped
from tests.contract.cluster.conftest import Backend

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
WITH_OBJECTS = ["01-llm-host.yaml", "02-llm-host-gpu.yaml", "09-gated-model.yaml"]


@pytest.fixture(params=WITH_OBJECTS)
def objects(request: pytest.FixtureRequest, backend: Backend) -> Iterator[tuple[KubernetesObject, ...]]:
    """Of an account of the test's own, so in a namespace of its own."""
    digits = random.SystemRandom().choices("0123456789", k=12)
    number = "-".join("".join(digits[start : start + 4]) for start in (0, 4, 8))
    settings = Settings(account_number=number, features=frozenset({"cert-manager"}))
    rendered = render_body((EXAMPLES / request.param).read_bytes(), settings)
    assert rendered.errors == ()
    yield rendered.objects
    backend.cluster.delete(ObjectRef(NAMESPACE, "", f"smarter-{number}"))


def _live(backend: Backend, objects: tuple[KubernetesObject, ...]) -> list[KubernetesObject]:
    found = [backend.cluster.get(ref_of(body)) for body in objects]
    return [body for body in found if body is not None]


def test_every_object_is_taken(backend: Backend, objects: tuple[KubernetesObject, ...]) -> None:
    for body in objects:
        backend.cluster.apply(body)
    assert [ref_of(body) for body in _live(backend, objects)] == [ref_of(body) for body in objects]


def test_nothing_is_left_to_plan(backend: Backend, objects: tuple[KubernetesObject, ...]) -> None:
    for body in objects:
        backend.cluster.apply(stamped(body, 1))
    assert plan(objects, _live(backend, objects), generation=1).changes == ()


def test_a_second_apply_changes_no_version(backend: Backend, objects: tuple[KubernetesObject, ...]) -> None:
    for body in objects:
        backend.cluster.apply(body)

    def unchanged() -> bool:
        before = _live(backend, objects)
        return [backend.cluster.apply(body) for body in objects] == before == _live(backend, objects)

    # Controllers write statuses for a moment after the first apply.
    backend.eventually(unchanged, "applies that change nothing", 60)
