"""Leases: one claimant at a time, by the database's clock, and no write after the lease is lost."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from smarter.apps.accounts.services import create_account
from smarter.apps.reconcile.claim import claim, extend, save
from smarter.apps.resources.models import Resource, ResourceState

COLUMNS = {"phase": "active"}


def resource(name: str = "a", **state) -> ResourceState:
    account = create_account(f"account_{name}", "Leases Ltd")
    row = Resource.all_accounts.create(
        account=account,
        api_group="smarter.sh",
        api_version="smarter.sh/v1",
        kind="LLMHost",
        name=name,
        spec_hash="0" * 64,
        resource_version=1,
    )
    due = {"next_check_at": timezone.now() - timedelta(seconds=1)} | state
    return ResourceState.objects.create(resource=row, **due)


def lapse(state: ResourceState) -> None:
    """Time passes: the lease ends and the row is due again."""
    past = timezone.now() - timedelta(seconds=1)
    ResourceState.objects.filter(pk=state.pk).update(lease_until=past, next_check_at=past)


@pytest.mark.django_db
def test_what_is_held_is_not_claimed_again() -> None:
    state = resource()
    first = claim()
    assert first is not None
    assert first.resource_id == state.pk
    assert claim() is None
    assert claim(state.pk) is None


@pytest.mark.django_db
def test_nothing_is_claimed_before_it_is_due() -> None:
    resource(next_check_at=timezone.now() + timedelta(hours=1))
    resource("b", next_check_at=None)
    assert claim() is None


@pytest.mark.django_db
def test_the_one_that_waited_longest_comes_first() -> None:
    resource("a")
    older = resource("b", next_check_at=timezone.now() - timedelta(hours=1))
    found = claim()
    assert found is not None
    assert found.resource_id == older.pk


@pytest.mark.django_db
def test_one_claim_takes_one_row_whatever_way_the_database_chooses() -> None:
    """A subquery with a limit is run again for each row by a nested loop, and once leased twenty rows for one claim."""
    for index in range(20):
        resource(f"r{index}")
    with connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_material = off"
        )
    claim()
    assert ResourceState.objects.filter(lease_until__isnull=False).count() == 1


@pytest.mark.django_db
def test_a_claimant_that_dies_is_succeeded_and_cannot_write_any_more() -> None:
    state = resource()
    dead = claim()
    lapse(state)
    successor = claim()
    assert successor is not None
    assert successor.token == dead.token + 1
    assert not extend(dead)
    assert not save(dead, {"phase": "stale"}, next_check_at=None)
    assert save(successor, COLUMNS, next_check_at=None)
    state.refresh_from_db()
    assert (state.phase, state.lease_until, state.next_check_at) == ("active", None, None)


@pytest.mark.django_db
def test_a_pause_longer_than_the_lease_loses_it_even_without_a_successor() -> None:
    state = resource()
    held = claim()
    lapse(state)
    assert not extend(held)
    assert not save(held, COLUMNS, next_check_at=None)


@pytest.mark.django_db
def test_an_apply_during_the_work_is_looked_at_next() -> None:
    state = resource()
    held = claim()
    asked = timezone.now()
    ResourceState.objects.filter(pk=state.pk).update(next_check_at=asked)
    assert save(held, COLUMNS, next_check_at=asked + timedelta(hours=1))
    state.refresh_from_db()
    assert state.next_check_at == asked


@pytest.mark.django_db(transaction=True)
def test_many_claimants_never_share() -> None:
    for index in range(20):
        resource(f"r{index}")
    taken: list[int] = []
    lock = threading.Lock()

    def work() -> None:
        try:
            while (held := claim()) is not None:
                with lock:
                    taken.append(held.resource_id)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(set(taken))
    assert len(taken) == 20
