"""Tells the workers, after the commit, that a resource is due. The row says so already and the sweep finds it, so a
hint that is lost costs seconds and nothing else; a request never waits long for it and never fails by it.

The reconciler is above this app, so its task is called by name, through a Celery application that only sends.
"""

import threading
import time
from collections.abc import Iterable

import structlog
from celery import Celery
from django.conf import settings
from django.db import transaction

TASK = "smarter.reconcile.hint"
# After a failure no hint is tried for this long, so that a broker that is away delays one request and not all.
PAUSE_SECONDS = 5.0

_log = structlog.get_logger(__name__)
_sender = Celery("smarter-hints", set_as_current=False)
_lock = threading.Lock()
_silent_until = 0.0


def hint_after_commit(resource_ids: Iterable[int]) -> None:
    """Sends nothing when the transaction is rolled back."""
    ids = list(resource_ids)
    if ids:
        transaction.on_commit(lambda: _send(ids))


def _send(resource_ids: list[int]) -> None:
    global _silent_until
    if time.monotonic() < _silent_until:
        return
    try:
        for resource_id in resource_ids:
            _configured().send_task(TASK, args=[resource_id], ignore_result=True, retry=False)
    except Exception as error:  # noqa: BLE001 - whatever a broker or its client does, the apply has been stored
        with _lock:
            first, _silent_until = time.monotonic() >= _silent_until, time.monotonic() + PAUSE_SECONDS
        if first:
            _log.warning("hint_not_sent", error=type(error).__name__, pause_seconds=PAUSE_SECONDS)


def _configured() -> Celery:
    if not _sender.configured:
        with _lock:
            _sender.conf.update(
                broker_url=settings.CELERY_BROKER_URL,
                broker_connection_timeout=1,
                broker_transport_options={
                    "socket_connect_timeout": 0.5,
                    "socket_timeout": 1,
                    "max_retries": 1,
                    "interval_start": 0,
                    "interval_step": 0,
                    "interval_max": 0,
                },
                task_serializer="json",
                accept_content=["json"],
            )
    return _sender
