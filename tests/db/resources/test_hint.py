"""Hints: sent after the commit, and never in the way."""

import base64
import json
import time
from typing import Any

import pytest
import redis
from django.conf import settings

from smarter.apps.resources import hint
from smarter.apps.resources.models import Resource
from tests.db.accounts.builders import Tenant
from tests.db.resources.conftest import Apply
from tests.db.resources.toys import gadget

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh_sender(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(hint, "_sender", hint.Celery("hints-of-a-test", set_as_current=False))
    monkeypatch.setattr(hint, "_silent_until", 0.0)
    yield
    hint._sender.close()


def drained() -> list[tuple[str, list[int]]]:
    """What waits in the broker, taken out of it."""
    broker = redis.Redis.from_url(settings.CELERY_BROKER_URL)
    messages = []
    while raw := broker.lpop("celery"):
        messages.append(json.loads(raw))
    broker.close()
    return [(one["headers"]["task"], json.loads(base64.b64decode(one["body"]))[0]) for one in messages]


def test_a_commit_sends_the_id_and_nothing_else(
    ann: Tenant, apply: Apply, django_capture_on_commit_callbacks: Any
) -> None:
    drained()
    with django_capture_on_commit_callbacks(execute=True):
        apply(ann, gadget())
        assert drained() == []
    assert drained() == [("smarter.reconcile.hint", [Resource.for_account(ann.account).get().pk])]


def test_a_dry_run_sends_nothing(ann: Tenant, apply: Apply, django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks(execute=True) as callbacks:
        apply(ann, gadget(), dry_run=True)
    assert callbacks == []


def test_a_broker_that_is_away_fails_no_apply_and_costs_little(
    ann: Tenant, apply: Apply, django_capture_on_commit_callbacks: Any, settings: Any
) -> None:
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:9/0"
    spent = 0.0
    for size in range(1, 20):
        with django_capture_on_commit_callbacks() as callbacks:
            apply(ann, gadget(size=20 + size))
        assert len(callbacks) == 1
        started = time.monotonic()
        callbacks[0]()
        spent += time.monotonic() - started
    assert spent < 5
    assert Resource.for_account(ann.account).get().spec == {"size": 39}
