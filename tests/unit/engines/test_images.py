"""The table of default images is data: each row must be right before a host finds out."""

from decimal import Decimal

import pytest

from smarter.core.gpus import compute_capability
from smarter.core.images import TABLE, Images, images_in, images_of
from smarter.engines import ENGINES


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_every_engine_runs_the_images_of_its_row(engine: str) -> None:
    assert ENGINES[engine].images == images_of(engine)


@pytest.mark.parametrize("engine", sorted(set(ENGINES) - {"custom"}))
def test_every_engine_but_custom_has_an_image(engine: str) -> None:
    assert images_of(engine).gpu


def test_custom_has_none() -> None:
    assert images_of("custom") == Images(None, None)


def test_capabilities_are_those_of_known_gpus() -> None:
    known = {str(compute_capability(gpu)) for gpu in ("T4", "A100", "A10G", "L4", "H100", "B200")}
    assert set(images_of("tei").by_capability) == known


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('gpu = "example.com/server:latest"', "not an image with a fixed version"),
        ('gpu = "example.com/server"', "not an image with a fixed version"),
        ('gpu = "server:1 --privileged"', "not an image with a fixed version"),
        ('cpu = "Example.com/server:1"', "not an image with a fixed version"),
        ('gpus = "example.com/server:1"', "unknown entries: gpus"),
        ('[tei.by_capability]\n"hopper" = "e.com/s:1"', "not a compute capability"),
        ('[tei.by_capability]\n"9.0" = "e.com/s"', "not an image with a fixed version"),
    ],
)
def test_a_wrong_row_stops_the_start(row: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        images_in(f"[tei]\n{row}\n", "tei")


def test_a_missing_row_stops_the_start() -> None:
    with pytest.raises(ValueError, match="no row toy"):
        images_in(TABLE.read_text(), "toy")


def test_a_digest_is_welcome() -> None:
    assert images_in(f'[x]\ncpu = "e.com/s:1@sha256:{"0" * 64}"\n', "x").cpu


def test_hardware() -> None:
    images = Images("all", None, {"8.9": "ada"})
    assert images.hardware(gpus=False, capability=Decimal("8.9")) == "cpu"
    assert images.image(images.hardware(gpus=True, capability=Decimal("8.9"))) == "ada"
    assert images.image(images.hardware(gpus=True, capability=Decimal("9.0"))) == "all"
    assert images.image(images.hardware(gpus=True)) == "all"
