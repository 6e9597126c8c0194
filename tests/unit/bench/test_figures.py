"""The bench's own arithmetic, on figures that are known."""

import pytest

from tests.bench.figures import Row, as_json, compared, comparison, paired, percentile, slope, table


def test_percentile_is_a_value_that_was_measured():
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert percentile(values, 50) == 3.0
    assert percentile(values, 99) == 5.0
    assert percentile(values, 1) == 1.0


def test_percentile_99_of_two_hundred_leaves_out_the_two_slowest():
    assert percentile(list(range(1, 201)), 99) == 198


def test_percentile_of_nothing_is_refused():
    with pytest.raises(ValueError, match="nothing was measured"):
        percentile([], 50)


def test_ratios_are_taken_within_rounds():
    # The second round was slow for both sides, which must not show.
    row = compared("a", [[0.002], [0.020], [0.006]], [[0.001], [0.010], [0.002]], percent=50, goal=2.5)
    assert row.ratio == pytest.approx(2.0)
    assert (row.ours, row.reference, row.count) == (pytest.approx(6.0), pytest.approx(2.0), 3)
    assert row.note == "rounds 2.00 to 3.00"
    assert row.met is True


def test_rounds_must_pair_up():
    with pytest.raises(ValueError, match="shorter"):
        paired("a", "s", [1.0, 2.0], [1.0], 1.5)


@pytest.mark.parametrize(("ratio", "met"), [(1.5, True), (1.51, False)])
def test_a_goal_is_met_up_to_its_value(ratio, met):
    assert paired("a", "s", [ratio], [1.0], 1.5).met is met


def test_without_a_ratio_the_goal_is_for_the_figure_itself():
    assert Row("a", "MiB", 349.0, 1, goal=350.0).met is True
    assert Row("a", "MiB", 351.0, 1, goal=350.0).met is False
    assert Row("a", "MiB", 351.0, 1).met is None


def test_slope_is_one_for_linear_growth():
    assert slope([1250, 2500, 5000], [0.2, 0.4, 0.8]) == pytest.approx(1.0)
    assert slope([10, 20], [1.0, 4.0]) == pytest.approx(2.0)


def test_the_table_shows_a_missed_goal():
    lines = table([paired("burst", "s", [3.0], [1.0], 1.5), Row("statements", "", 9, 1)]).splitlines()
    assert lines[2].split() == ["burst", "3", "s", "1", "s", "3.00", "x", "<=", "1.5", "x", "NO", "1"]
    assert lines[3].split() == ["statements", "9", "1"]


def test_comparison_goes_by_the_ratio_and_names_what_is_new():
    older = as_json([paired("burst", "s", [2.0], [1.0], 1.5), Row("memory", "MiB", 200.0, 1)])
    now = [paired("burst", "s", [6.0], [4.0], 1.5), Row("memory", "MiB", 250.0, 1), Row("fresh", "s", 1.0, 1)]
    assert comparison(now, older).splitlines() == [
        "burst: 2.00 -> 1.50 x (-25 %)",
        "memory: 200.00 -> 250.00 MiB (+25 %)",
        "fresh: not in the older run",
    ]
