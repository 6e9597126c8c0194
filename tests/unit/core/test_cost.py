"""Money: exact sums, one rounding, no drift over clocks and calendars."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from hypothesis import example, given
from hypothesis import strategies as st

from smarter.core.cost import Usage, cost_of, hours_between, rounded, total

START = datetime(2026, 3, 28, 12, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))


def usage(hours: float, price: str = "0.8048", share: str = "1") -> Usage:
    return Usage(START, START + timedelta(hours=hours), Decimal(price), Decimal(share))


def test_an_hour_costs_the_price() -> None:
    assert cost_of(usage(1)) == Decimal("0.8048")
    assert cost_of(usage(1, share="0.25")) == Decimal("0.2012")


def test_a_hundred_thousand_small_amounts_are_exact() -> None:
    assert total([usage(1, price="0.1")] * 100_000) == Decimal(10_000)


def test_the_night_of_a_clock_change_has_its_real_length() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    start, end = datetime(2026, 3, 29, 0, tzinfo=berlin), datetime(2026, 3, 29, 6, tzinfo=berlin)
    assert hours_between(start.astimezone(UTC), end.astimezone(UTC)) == 5


@example(
    [
        datetime(2020, 1, 1, 0, 0, 0, 397, tzinfo=UTC),
        datetime(2020, 1, 1, 0, 1, tzinfo=UTC),
        datetime(2032, 1, 1, 0, 1, 0, 55397, tzinfo=UTC),
    ]
)
@given(st.lists(MOMENTS, min_size=3, max_size=3, unique=True))
def test_cutting_an_interval_changes_no_sum(moments: list[datetime]) -> None:
    start, middle, end = sorted(moments)
    price, share = Decimal("3.6"), Decimal("0.5")
    whole = cost_of(Usage(start, end, price, share))
    parts = total([Usage(start, middle, price, share), Usage(middle, end, price, share)])
    assert whole == parts


def test_rounding_is_half_up_to_a_millionth() -> None:
    assert rounded(Decimal("0.0000005")) == Decimal("0.000001")
    assert rounded(Decimal("1.0000004")) == Decimal("1.000000")
