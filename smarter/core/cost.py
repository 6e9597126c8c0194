"""Arithmetic of money: shares of nodes, intervals of time, sums. Decimal throughout; rounding happens once, where a
figure leaves Smarter. `apps/costs` and the plan of an apply call it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal

HOURS_PER_MONTH = Decimal(730)
"""365 days of 24 hours, over 12: the month that clouds quote prices by."""
_MICROSECONDS_PER_HOUR = Decimal(3_600_000_000)
_MICRO = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class Usage:
    """One pod on one node from `start` to `end` (half open), at the price and share that held when it started."""

    start: datetime
    end: datetime
    price_per_hour: Decimal
    share: Decimal


def hours_between(start: datetime, end: datetime) -> Decimal:
    return _microseconds(start, end) / _MICROSECONDS_PER_HOUR


def cost_of(usage: Usage) -> Decimal:
    return total([usage])


def total(usages: Iterable[Usage]) -> Decimal:
    """Not rounded. Exact up to the one division into hours at the end, so that cutting an interval changes no sum."""
    amounts = (_microseconds(usage.start, usage.end) * usage.price_per_hour * usage.share for usage in usages)
    return sum(amounts, Decimal(0)) / _MICROSECONDS_PER_HOUR


def _microseconds(start: datetime, end: datetime) -> Decimal:
    return Decimal((end - start) // timedelta(microseconds=1))


def rounded(amount: Decimal) -> Decimal:
    """To a millionth, half up: the one rounding, at the edge."""
    return amount.quantize(_MICRO, rounding=ROUND_HALF_UP)
