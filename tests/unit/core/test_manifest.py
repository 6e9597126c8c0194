"""Bytes to manifests: the envelope, places of faults, and the text that is kept."""

import json

import pytest
from pydantic import BaseModel

from smarter.core.kind import Kind
from smarter.core.manifest import model_of, path_of, read_manifests, spec_hash
from smarter.models.sam.base import SAMModel


class ThingMetadata(SAMModel):
    name: str


class ThingSpec(SAMModel):
    size: int = 1
    tags: list[str] | None = None


class Thing(SAMModel):
    apiVersion: str
    kind: str
    metadata: ThingMetadata
    spec: ThingSpec


def kind(name: str, model: type[BaseModel] = Thing) -> Kind:
    return Kind(api_version="smarter.sh/v1", name=name, plural=name.lower() + "s", model=model, summary="", example="")


KINDS = {entry.key: entry for entry in (kind("Thing"), kind("Other"))}


def read(text: str):
    return read_manifests(text.encode(), KINDS)


def manifest(name: str = "a", extra: str = "") -> str:
    return f"apiVersion: smarter.sh/v1\nkind: Thing\nmetadata: {{name: {name}}}\nspec:\n  size: 2\n{extra}"


def test_a_manifest_is_read_with_its_text_and_comments() -> None:
    manifests, problems = read("# first\n" + manifest("a") + "---\n# second\n" + manifest("b"))
    assert problems == []
    assert [found.name for found in manifests] == ["a", "b"]
    assert manifests[0].text.startswith("# first\n")
    assert manifests[1].text.startswith("# second\n")
    assert manifests[1].spec == {"size": 2}


def test_status_from_outside_is_not_judged_and_not_kept() -> None:
    manifests, problems = read(manifest("a", "status: {anything: [1, 2]}\n"))
    assert problems == []
    assert not hasattr(manifests[0].model, "status")


def test_all_faults_of_all_documents_come_with_their_places() -> None:
    text = manifest("a", "  size2: 1\n") + "---\n" + manifest("B-c").replace("size: 2", "size: two")
    manifests, problems = read(text)
    assert manifests == []
    found = {(problem.document, problem.path, problem.code, problem.line) for problem in problems}
    assert found == {
        (0, "spec.size2", "unknown_field", 6),
        (1, "metadata.name", "name", 10),
        (1, "spec.size", "type", 12),
    }


def as_json(name: str) -> str:
    return json.dumps({"apiVersion": "smarter.sh/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {}})


@pytest.mark.parametrize(
    "text",
    [
        f"{as_json('a')}\n{as_json('b')}",
        f"--- {as_json('a')}\n--- {as_json('b')}",
    ],
)
def test_documents_that_share_a_part_of_the_body_keep_no_text(text: str) -> None:
    """The one could be a secret, and the text of the other is shown."""
    manifests, problems = read(text)
    assert problems == []
    assert [(one.name, one.text) for one in manifests] == [("a", None), ("b", None)]


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("kind: Thing\nmetadata: {name: a}\n", "apiVersion", "required"),
        ("apiVersion: smarter.sh/v1\nmetadata: {name: a}\n", "kind", "required"),
        ("apiVersion: 1\nkind: Thing\n", "apiVersion", "text"),
        ("apiVersion: other/v1\nkind: Thing\n", "apiVersion", "smarter.sh/v1"),
        ("apiVersion: smarter.sh/v1\nkind: Thng\n", "kind", "Did you mean Thing?"),
    ],
)
def test_an_envelope_that_names_nothing_known(text: str, path: str, words: str) -> None:
    _, problems = read(text)
    assert [problem.path for problem in problems] == [path]
    assert words in problems[0].message
    assert problems[0].line is not None


def test_a_name_gets_a_suggestion() -> None:
    _, problems = read(manifest("My-Model"))
    assert "'my_model'" in problems[0].message


def test_the_same_manifest_twice_in_one_body_is_refused() -> None:
    _, problems = read(manifest("a") + "---\n" + manifest("a"))
    assert [(problem.code, problem.document) for problem in problems] == [("duplicate", 1)]


def test_the_hash_follows_the_content_of_the_spec() -> None:
    assert spec_hash({"a": 1, "b": [1, 2]}) == spec_hash({"b": [1, 2], "a": 1})
    assert spec_hash({"b": [1, 2]}) != spec_hash({"b": [2, 1]})


def test_what_no_longer_fits_the_schema_says_where_and_not_what() -> None:
    with pytest.raises(ValueError, match=r"spec\.size") as caught:
        model_of(KINDS[("smarter.sh/v1", "Thing")], {"name": "a"}, {"size": "canary-value"})
    assert "canary-value" not in str(caught.value)


def test_paths() -> None:
    assert path_of("spec.args[2].name") == ("spec", "args", 2, "name")
    assert path_of("") == ()
