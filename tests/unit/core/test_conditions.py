"""Conditions keep the time of their last transition."""

from datetime import UTC, datetime, timedelta

from smarter.core.conditions import Condition, merge

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_time_moves_only_with_the_status() -> None:
    first = merge([], [Condition("Ready", "False", "Starting")], generation=1, now=NOW)
    same = merge(first, [Condition("Ready", "False", "Pulling")], generation=2, now=NOW + timedelta(hours=1))
    assert same[0]["lastTransitionTime"] == first[0]["lastTransitionTime"]
    assert (same[0]["reason"], same[0]["observedGeneration"]) == ("Pulling", 2)
    turned = merge(same, [Condition("Ready", "True", "Ready")], generation=2, now=NOW + timedelta(hours=2))
    assert turned[0]["lastTransitionTime"] == (NOW + timedelta(hours=2)).isoformat()


def test_a_condition_that_is_not_stated_any_more_goes() -> None:
    first = merge([], [Condition("A", "True", "X"), Condition("B", "True", "X")], generation=1, now=NOW)
    assert [condition["type"] for condition in merge(first, [Condition("B", "True", "X")], generation=1, now=NOW)] == [
        "B"
    ]
