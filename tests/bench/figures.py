"""The arithmetic of the bench: percentiles, medians over rounds, ratios, the table, the comparison with an older run.

Only data here, so that it can be tested without a cluster.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Row:
    """One line of the table. `ours` and `reference` are in `unit`; `ratio` is compared with `goal` (at most)."""

    name: str
    unit: str
    ours: float
    count: int
    reference: float | None = None
    ratio: float | None = None
    goal: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """None where there is no goal."""
        if self.goal is None:
            return None
        return (self.ours if self.ratio is None else self.ratio) <= self.goal


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile: always a value that was measured. ValueError without any."""
    if not values:
        raise ValueError("nothing was measured")
    ordered = sorted(values)
    rank = max(1, math.ceil(len(ordered) * percent / 100))
    return ordered[rank - 1]


def compared(
    name: str,
    ours: Sequence[Sequence[float]],
    reference: Sequence[Sequence[float]],
    *,
    percent: float,
    goal: float | None = None,
) -> Row:
    """Latencies in seconds, a sequence for each round. Both sides of one round were measured in the same minute, so the
    ratio is taken within each round, and the median of the rounds is what counts. The table shows milliseconds."""
    own = [percentile(values, percent) for values in ours]
    other = [percentile(values, percent) for values in reference]
    ratios = [mine / theirs for mine, theirs in zip(own, other, strict=True)]
    count = sum(len(values) for values in ours)
    return Row(name, "ms", 1000 * median(own), count, 1000 * median(other), median(ratios), goal, _spread(ratios))


def paired(name: str, unit: str, ours: Sequence[float], reference: Sequence[float], goal: float) -> Row:
    """One figure a round on both sides."""
    ratios = [mine / theirs for mine, theirs in zip(ours, reference, strict=True)]
    return Row(name, unit, median(ours), len(ours), median(reference), median(ratios), goal, _spread(ratios))


def _spread(ratios: Sequence[float]) -> str:
    return f"rounds {min(ratios):.2f} to {max(ratios):.2f}" if len(ratios) > 1 else ""


def slope(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """How much faster than the size the cost grows, from the smallest to the largest: 1 is linear, 2 twice as fast."""
    return (costs[-1] / costs[0]) / (sizes[-1] / sizes[0])


def table(rows: Sequence[Row]) -> str:
    head = ("what", "ours", "reference", "ratio", "goal", "met", "n", "")
    lines = [head, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    lines.insert(1, tuple("-" * width for width in widths))
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in (0, 7) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _cells(row: Row) -> tuple[str, ...]:
    met = {None: "", True: "yes", False: "NO"}[row.met]
    goal = "" if row.goal is None else f"<= {row.goal:g}{'' if row.ratio is None else ' x'}"
    reference = "" if row.reference is None else f"{_number(row.reference)} {row.unit}".strip()
    ratio = "" if row.ratio is None else f"{row.ratio:.2f} x"
    ours = f"{_number(row.ours)} {row.unit}".strip()
    return (row.name, ours, reference, ratio, goal, met, str(row.count), row.note)


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [{**asdict(row), "met": row.met} for row in rows]


def comparison(rows: Sequence[Row], older: Sequence[dict[str, Any]]) -> str:
    """Each row beside the row of the same name in an older run, by its ratio where it has one."""
    known = {row["name"]: row for row in older}
    lines = []
    for row in rows:
        old = known.get(row.name)
        if old is None:
            lines.append(f"{row.name}: not in the older run")
            continue
        before, now = (old["ours"], row.ours) if row.ratio is None else (old["ratio"], row.ratio)
        unit = row.unit if row.ratio is None else "x"
        if before is None or before == 0:
            lines.append(f"{row.name}: {now:.2f} {unit}")
            continue
        lines.append(f"{row.name}: {before:.2f} -> {now:.2f} {unit} ({(now / before - 1) * 100:+.0f} %)")
    return "\n".join(lines)
