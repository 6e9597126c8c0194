"""docs/engines.md says what the code does, and no field of an LLMHost does nothing without saying so."""

import pytest

from scripts.engine_docs import page
from scripts.engine_docs.effects import Effect, effect, refused_without
from scripts.engine_docs.samples import (
    COLUMNS,
    FORMATS,
    INFORMATION,
    OF_PLACES,
    PLACES,
    SAMPLES,
    Sample,
    base_of,
    fields,
    with_changes,
)
from scripts.engine_table import PAGE
from smarter.engines import ENGINES
from smarter.sources import SOURCES

FIELDS = tuple(fields())


def test_the_page_is_what_the_code_gives() -> None:
    """Run scripts/engine_table.py after a change."""
    assert PAGE.read_text() == page.page()


def test_every_field_is_tried() -> None:
    assert len(FIELDS) > 45
    assert {sample.path for sample in (*SAMPLES, *FORMATS)} | COLUMNS == set(FIELDS)
    assert set(FIELDS) > INFORMATION


@pytest.mark.parametrize("engine", ENGINES)
def test_the_manifests_that_fields_are_tried_on_are_right(engine: str) -> None:
    assert refused_without(base_of(engine)) == []


@pytest.mark.parametrize("source", SOURCES)
def test_the_places_that_fields_are_tried_on_are_right(source: str) -> None:
    assert refused_without(with_changes(base_of("custom"), PLACES[source])) == []
    assert set(PLACES) == set(SOURCES)
    assert OF_PLACES


def test_no_field_is_silently_without_effect() -> None:
    """On each engine some value of each field gets a flag, a variable, a place in an object, a warning or a refusal;
    for a few that the page lists, an estimate is all that they are for."""
    silent = {
        place: found
        for place, found in page.all_effects().items()
        if place[0] not in INFORMATION and all(one.none for one in found)
    }
    assert silent == {}


def test_information_changes_no_object() -> None:
    """Otherwise it would be more than information."""
    changed = {place for place, found in page.all_effects().items() if place[0] in INFORMATION and found[0].changes}
    assert changed == set()


@pytest.mark.parametrize(
    ("engine", "sample", "expected"),
    [
        ("vllm", Sample("engine.contextLength", 4096), Effect(changes=("`--max-model-len 4096`",), judged=True)),
        ("vllm", Sample("engine.port", 8000), Effect()),
        ("vllm", Sample("model.license", "mit"), Effect()),
    ],
)
def test_an_effect_is_read_from_what_is_rendered(engine: str, sample: Sample, expected: Effect) -> None:
    assert effect(base_of(engine), sample) == expected


def test_a_refusal_is_in_the_words_of_the_rule() -> None:
    found = effect(base_of("tgi"), Sample("model.task", "embedding"))
    assert found.refusal == "tgi cannot be used for embedding; it serves text-generation."
