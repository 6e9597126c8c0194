"""Node types that fit, the cheapest of them, and the share of a node that is paid for."""

from decimal import Decimal
from typing import Any

import pytest

from smarter.core.facts import ComputeFact
from smarter.core.placement import GIB, Need, allocatable_cpu_millis, allocatable_memory_bytes, choose, misfit, share


def compute(name: str = "node", **fields: Any) -> ComputeFact:
    defaults: dict[str, Any] = {
        "instance_type": "x", "cpu_millis": 8000, "memory_bytes": 32 * GIB, "price_per_hour": Decimal(1),
    }  # fmt: skip
    return ComputeFact(name=name, **{**defaults, **fields})


GPU = {"gpu_count": 1, "gpu_type": "L4", "gpu_memory_bytes": 24 * GIB}


def test_a_node_keeps_some_for_itself() -> None:
    assert allocatable_cpu_millis(compute()) == 8000 - 160 - 500
    assert allocatable_memory_bytes(compute()) == 32 * GIB * 97 // 100 - 3 * GIB // 2
    assert allocatable_cpu_millis(compute(cpu_millis=100)) == 0


@pytest.mark.parametrize(
    ("need", "fields", "words"),
    [
        (Need(7341, GIB), {}, "7340m CPU"),
        (Need(1000, 30 * GIB), {}, "29.5 GiB"),
        (Need(1000, GIB, 1), {}, "no GPUs"),
        (Need(1000, GIB, 2), GPU, "1 GPU, 2 are needed"),
        (Need(1000, GIB, 1, "amd.com/gpu"), GPU, "nvidia.com/gpu, not amd.com/gpu"),
        (Need(1000, GIB), GPU, "gpuCount is 0"),
    ],
)
def test_why_not(need: Need, fields: dict[str, Any], words: str) -> None:
    reason = misfit(need, compute(**fields))
    assert reason is not None
    assert words in reason


@pytest.mark.parametrize(
    ("need", "fields"),
    [(Need(7340, GIB), {}), (Need(1000, 29 * GIB), {}), (Need(1000, GIB, 1), GPU)],
)
def test_what_fits(need: Need, fields: dict[str, Any]) -> None:
    assert misfit(need, compute(**fields)) is None


def test_all_reasons_are_told() -> None:
    choice = choose(Need(99_000, 99 * GIB, 3), [compute("b"), compute("a", **GPU)])
    assert choice.compute is None
    assert [name for name, _ in choice.reasons] == ["a", "b"]
    for words in ("CPU", "memory", "no GPUs", "3 are needed"):
        assert words in choice.why_not


def test_a_long_list_is_cut() -> None:
    computes = [compute(f"n{number:02}") for number in range(30)] + [compute("z", **GPU)]
    choice = choose(Need(1000, GIB, 2), computes)
    assert choice.why_not.startswith("z: it has 1 GPU")
    assert choice.why_not.endswith("and 23 more")
    assert len(choice.why_not) < 400


def test_the_cheapest_that_fits() -> None:
    computes = [
        compute("dear", price_per_hour=Decimal(3)),
        compute("free", price_per_hour=None),
        compute("small", price_per_hour=Decimal("0.1"), cpu_millis=1000),
        compute("cheap", price_per_hour=Decimal("0.5")),
    ]
    chosen = choose(Need(4000, GIB), computes).compute
    assert chosen is not None
    assert chosen.name == "cheap"


def test_without_a_price_comes_last_and_order_does_not_matter() -> None:
    same = [compute("b"), compute("a"), compute("c", memory_bytes=16 * GIB)]
    for computes in (same, same[::-1]):
        chosen = choose(Need(1000, GIB), computes).compute
        assert chosen is not None
        assert chosen.name == "c"
    unpriced = choose(Need(1000, GIB), [compute("x", price_per_hour=None)]).compute
    assert unpriced is not None


def test_a_reason_of_the_caller_counts() -> None:
    choice = choose(Need(1000, GIB), [compute("a")], unsuitable=lambda one: f"{one.name} is old")
    assert (choice.compute, choice.why_not) == (None, "a: a is old")


@pytest.mark.parametrize(
    ("need", "fields", "expected"),
    [
        (Need(2000, 8 * GIB), {}, "0.2500"),
        (Need(4000, 8 * GIB), {}, "0.5000"),
        (Need(2000, 16 * GIB), {}, "0.5000"),
        (Need(1000, GIB, 1), GPU, "1.0000"),
        (Need(1000, GIB, 1), {**GPU, "gpu_count": 4}, "0.2500"),
        (Need(1000, GIB, 1), {**GPU, "gpu_count": 3}, "0.3333"),
        (Need(16000, GIB), {}, "1.0000"),
    ],
)
def test_share(need: Need, fields: dict[str, Any], expected: str) -> None:
    assert str(share(need, compute(**fields))) == expected
