"""How a lease is kept during work, and when a cluster is looked at again."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from smarter.apps.accounts.services import ensure_platform
from smarter.apps.clusters.services import ensure_cluster
from smarter.apps.reconcile.claim import claim, keeper
from smarter.apps.reconcile.models import ClusterWatch
from smarter.apps.reconcile.watch import claim_watch, release, wake
from tests.db.reconcile.test_claim import lapse, resource


@pytest.mark.django_db
def test_a_lease_that_was_just_renewed_costs_no_statement() -> None:
    resource()
    still_mine = keeper(claim())
    with CaptureQueriesContext(connection) as asked:
        answers = [still_mine() for _ in range(5)]
    assert (answers, len(asked)) == ([True] * 5, 1)


@pytest.mark.django_db
def test_a_lease_that_was_lost_before_the_first_write_is_noticed() -> None:
    state = resource()
    still_mine = keeper(claim())
    lapse(state)
    claim()
    assert not still_mine()


@pytest.mark.django_db
def test_after_a_third_of_the_lease_the_database_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    state = resource()
    still_mine = keeper(claim())
    assert still_mine()
    lapse(state)
    monkeypatch.setattr(settings.SMARTER, "lease_seconds", 0.0)
    assert not still_mine()


@pytest.mark.django_db
@pytest.mark.parametrize("woken", [True, False])
def test_a_cluster_that_was_woken_during_a_pass_is_looked_at_soon_but_not_at_once(woken: bool) -> None:
    platform, user = ensure_platform()
    cluster = ensure_cluster(platform, user, "default", type="simulated")
    held = claim_watch(cluster.pk)
    if woken:
        wake(cluster.pk)
    release(held, seconds=30.0, fail_count=0, info_at=None, observed_at=timezone.now())
    wait = ClusterWatch.objects.get(cluster=cluster).next_observe_at - timezone.now()
    fast = timedelta(seconds=settings.SMARTER.poll_fast_seconds)
    assert timedelta(0) < wait <= fast if woken else wait > timedelta(seconds=20)


@pytest.mark.django_db
def test_a_cluster_that_is_not_due_becomes_due_when_it_is_woken() -> None:
    platform, user = ensure_platform()
    cluster = ensure_cluster(platform, user, "default", type="simulated")
    release(claim_watch(cluster.pk), seconds=30.0, fail_count=0, info_at=None, observed_at=timezone.now())
    assert claim_watch(cluster.pk) is None
    wake(cluster.pk)
    assert claim_watch(cluster.pk) is not None
