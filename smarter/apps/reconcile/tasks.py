"""Celery's entry points. A message is only a hint: each task asks the database what is due, so a message that is lost,
doubled, late or forged changes nothing but the wait.

A task takes what is due for a few seconds and then returns, so that no worker is held for long.
"""

import time

from celery import shared_task
from django.utils import timezone

from smarter.apps.reconcile.answers import ask_due
from smarter.apps.reconcile.claim import worker_name
from smarter.apps.reconcile.loop import reconcile
from smarter.apps.reconcile.models import WorkerHeartbeat
from smarter.apps.reconcile.observe import observe

DRAIN_SECONDS = 10.0
HINT_SECONDS = 0.5
"""Short, so that the observation of clusters gets its turn while hints come in."""
BEAT_SECONDS = 1.0
_beaten_at: float | None = None


@shared_task(name="smarter.reconcile.hint")
def hint(resource_id: object = None) -> None:
    """Something about this resource changed. Whatever else is due is done as well, so work goes on without beat."""
    if isinstance(resource_id, int) and not isinstance(resource_id, bool) and 0 < resource_id < 2**63:
        reconcile(resource_id)
    _drain(HINT_SECONDS)


@shared_task(name="smarter.reconcile.sweep")
def sweep() -> None:
    """Finds what hints have missed."""
    _drain(DRAIN_SECONDS)


@shared_task(name="smarter.reconcile.ask_due")
def ask_due_hosts() -> None:
    """One batch: as long as the slowest server may take, and no longer."""
    ask_due()
    _beat()


@shared_task(name="smarter.reconcile.observe_due")
def observe_due() -> None:
    deadline = time.monotonic() + DRAIN_SECONDS
    while time.monotonic() < deadline and observe() is not None:
        pass
    _beat()


def _drain(seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and reconcile() is not None:
        pass
    _beat()


def _beat() -> None:
    """Proof of work done: written after it, by the process that did it. Not more than once a second, because a burst of
    hints would otherwise write it hundreds of times."""
    global _beaten_at
    now = time.monotonic()
    if _beaten_at is not None and now - _beaten_at < BEAT_SECONDS:
        return
    WorkerHeartbeat.objects.update_or_create(worker=worker_name(), defaults={"seen_at": timezone.now()})
    _beaten_at = now
