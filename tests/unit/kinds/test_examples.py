"""What users are shown applies as it is, and there is something to be shown of each kind."""

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from smarter.cli.rendering import Settings, render_body
from smarter.core.kind import Kind
from smarter.core.manifest import read_manifests
from smarter.kinds import KINDS
from smarter.models.sam.schemas import schemas
from tests.kubernetes_schemas import VERSIONS, schema_faults

FOLDER = Path(__file__).parents[3] / "docs" / "examples"
FILES = sorted(FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_example_files(file: Path) -> None:
    rendered = render_body(file.read_bytes(), Settings(features=frozenset({"cert-manager"})))
    assert rendered.errors == ()
    assert rendered.warnings == ()
    for body in rendered.objects:
        for version in VERSIONS:
            assert body["kind"] == "Certificate" or schema_faults(body, version) == []


def test_every_kind_has_an_example_file() -> None:
    shown = {document["kind"] for file in FILES for document in yaml.safe_load_all(file.read_text())}
    assert shown == {kind.name for kind in KINDS.values()}


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_built_in_example(kind: Kind) -> None:
    (manifest,), problems = read_manifests(kind.example.encode(), KINDS)
    assert problems == []
    assert manifest.kind is kind
    assert kind.admit(manifest.model, None) == []
    assert list(Draft202012Validator(schemas()[kind.name]).iter_errors(yaml.safe_load(kind.example))) == []


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_examples_of_the_schema(kind: Kind) -> None:
    for example in schemas()[kind.name]["examples"]:
        (manifest,), problems = read_manifests(yaml.safe_dump(example).encode(), KINDS)
        assert problems == []
        assert kind.admit(manifest.model, None) == []
