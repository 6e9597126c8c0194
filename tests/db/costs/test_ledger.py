"""The ledger against an oracle: whatever polls were missed, doubled or late, the total is the same."""

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange

from smarter.apps.accounts.models import Account
from smarter.apps.accounts.services import create_account
from smarter.apps.costs.models import UsageInterval
from smarter.apps.costs.queries import spent
from smarter.apps.costs.services import Payer, PodTimes, close_intervals, mark_unconfirmed, open_intervals, open_pods
from smarter.core.cost import Usage, rounded, total
from smarter.core.facts import ComputeFact
from smarter.core.kind import Placement

pytestmark = pytest.mark.django_db

START = datetime(2026, 3, 28, 22, tzinfo=UTC)
CLUSTER = UUID(int=7)


@pytest.fixture
def account() -> Account:
    return create_account("ledger", "Ledger Ltd")


def payer(account: Account) -> Payer:
    return Payer(account.pk, uuid4(), "LLMHost", "a", CLUSTER)


def placement(price: str | None = "0.8048", share: str = "1") -> Placement:
    compute = ComputeFact("gpu_l4_1x", "g6.xlarge", 4000, 2**34, price_per_hour=Decimal(price) if price else None)
    return Placement(compute, Decimal(share), 1)


def pod(uid: str, start: datetime, end: datetime | None = None) -> PodTimes:
    return PodTimes(uid, f"pod-{uid}", "node-1", start, end)


def cost(payer: Payer, now: datetime) -> Decimal:
    return spent(payer.account_id, [payer.resource_uid], now)[payer.resource_uid].cost


def test_an_open_interval_counts_until_now(account: Account) -> None:
    who = payer(account)
    open_intervals(who, placement(), [pod("p", START)])
    assert cost(who, START + timedelta(hours=2)) == Decimal("1.6096")


def test_a_closed_interval_stands_still(account: Account) -> None:
    who = payer(account)
    open_intervals(who, placement(), [pod("p", START)])
    assert close_intervals({"p": START + timedelta(hours=1)}) == 1
    assert cost(who, START + timedelta(days=300)) == Decimal("0.8048")
    assert close_intervals({"p": START + timedelta(hours=9)}) == 0
    assert cost(who, START + timedelta(days=300)) == Decimal("0.8048")


def test_the_price_is_the_one_of_the_start(account: Account) -> None:
    who = payer(account)
    open_intervals(who, placement("1"), [pod("p", START)])
    open_intervals(who, placement("100"), [pod("p", START)])
    assert cost(who, START + timedelta(hours=1)) == Decimal(1)


def test_hours_are_kept_where_there_is_no_price(account: Account) -> None:
    who = payer(account)
    open_intervals(who, placement(None), [pod("p", START, START + timedelta(hours=3))])
    found = spent(account.pk, [who.resource_uid], START + timedelta(days=1))[who.resource_uid]
    assert (found.cost, found.pod_hours) == (0, 3)


def test_another_account_sees_nothing(account: Account) -> None:
    who = payer(account)
    open_intervals(who, placement(), [pod("p", START)])
    other = create_account("other", "Other Ltd")
    assert spent(other.pk, [who.resource_uid], START + timedelta(hours=1)) == {}


@pytest.mark.parametrize("seed", range(25))
def test_polls_change_no_total(account: Account, seed: int) -> None:
    """A history of pods that scale, roll and fail, seen through polls of which half are lost and others doubled."""
    chance = random.Random(seed)
    who = payer(account)
    history = [_life(chance, index) for index in range(chance.randint(3, 12))]
    end = START + timedelta(hours=30)
    moment = START
    while moment < end:
        moment += timedelta(seconds=chance.randint(1, 3600))
        for _ in range(chance.choice([0, 0, 1, 1, 2])):
            _poll(who, history, moment)
    _poll(who, history, end)
    expected = total(
        Usage(life.started_at, life.ended_at or end, Decimal("0.8048"), Decimal("0.5")) for life in history
    )
    assert cost(who, end) == rounded(expected)


def _life(chance: random.Random, index: int) -> PodTimes:
    start = START + timedelta(seconds=chance.randint(0, 80_000), microseconds=chance.randint(0, 999_999))
    end = None if chance.random() < 0.3 else start + timedelta(seconds=chance.randint(1, 20_000))
    return pod(f"p{index}", start, end)


def _poll(who: Payer, history: list[PodTimes], moment: datetime) -> None:
    """What one look at the cluster reports at a moment: pods that have started, ended ones for as long as they lie
    about (all of them here, since their end is read from the cluster whenever it is seen first)."""
    seen = [life for life in history if life.started_at <= moment]
    times = [
        pod(life.uid, life.started_at, life.ended_at if life.ended_at and life.ended_at <= moment else None)
        for life in seen
    ]
    opened = open_pods(CLUSTER)
    open_intervals(who, placement(share="0.5"), [time for time in times if time.uid not in opened])
    close_intervals({time.uid: time.ended_at for time in times if time.ended_at and time.uid in opened})


def test_intervals_of_one_pod_never_overlap(account: Account) -> None:
    who = payer(account)
    open_intervals(who, placement(), [pod("p", START, START + timedelta(hours=2))])
    again = UsageInterval.all_accounts.get()
    again.pk, again.period = None, DateTimeTZRange(START + timedelta(hours=1), None)
    with pytest.raises(IntegrityError), transaction.atomic():
        again.save()
    with connection.cursor() as cursor:
        cursor.execute("SELECT conname FROM pg_constraint WHERE conrelid = 'costs_usageinterval'::regclass")
        assert {"usage_no_overlap", "usage_one_interval_a_pod"} <= {name for (name,) in cursor.fetchall()}


@pytest.mark.parametrize("price", ["-1", "NaN", "Infinity"])
def test_a_price_is_a_price(account: Account, price: str) -> None:
    who = payer(account)
    open_intervals(who, placement(), [pod("p", START)])
    refused = pytest.raises(Exception, match=r"usage_price_is_a_price|overflow")
    with refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE costs_usageinterval SET price_per_hour = %s::numeric", [price])


def test_a_silent_cluster_leaves_intervals_open_and_says_so(account: Account) -> None:
    who = payer(account)
    open_intervals(who, placement(), [pod("p", START)])
    mark_unconfirmed(CLUSTER, confirmed=False)
    assert UsageInterval.all_accounts.get().confirmed is False
    assert cost(who, START + timedelta(hours=1)) == Decimal("0.8048")
    mark_unconfirmed(CLUSTER, confirmed=True)
    assert UsageInterval.all_accounts.get().confirmed is True


def test_a_pod_that_ended_as_it_started_is_kept_for_a_moment(account: Account) -> None:
    who = payer(account)
    open_intervals(who, placement(), [pod("p", START)])
    close_intervals({"p": START - timedelta(seconds=5)})
    assert cost(who, START + timedelta(hours=1)) == 0
    assert open_pods(CLUSTER) == {}
