"""LLMHost carries the contract of the published model: every class, field, type, default, bound and enum member.

The published text lies outside of this checkout, in ../shared/seeds, without indentation. Where it is absent the
comparison is skipped.
"""

import ast
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
SEED = ROOT.parent / "shared" / "seeds" / "004_4f65f39d74532589.txt"
# Fields that are ours, all in the part that Smarter writes.
OWN_FIELDS = {"SAMLLMHostStatus": {"conditions", "observedGeneration", "pricePerHour", "progress", "warnings"}}
# The published text names these classes but ends before it shows them; the last ones are ours.
NOT_SHOWN = {"ApiFormat", "SAMLLMHostMetadata", "ConditionStatus", "SAMCondition", "SAMLLMHostProgress", "SAMWarning"}

needs_seed = pytest.mark.skipif(not SEED.exists(), reason=f"the published model is not at {SEED}")


@dataclass
class Field:
    type: str
    default: str | None = None
    title: str | None = None
    bounds: dict[str, float] = field(default_factory=dict)


@dataclass
class Class:
    base: str
    fields: dict[str, Field] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)


class _Unbound(ast.NodeTransformer):
    """Writes conint(ge=1) as int, and keeps the bounds."""

    def __init__(self) -> None:
        self.bounds: dict[str, float] = {}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        assert isinstance(node.func, ast.Name)
        plain = {"conint": "int", "confloat": "float", "constr": "str"}[node.func.id]
        self.bounds |= {word.arg: ast.literal_eval(word.value) for word in node.keywords if word.arg}
        return ast.Name(plain)


def read_field(statement: ast.AnnAssign) -> Field:
    unbound = _Unbound()
    read = Field(ast.unparse(unbound.visit(statement.annotation)), bounds=unbound.bounds)
    value = statement.value
    if isinstance(value, ast.Call):
        read.default = ast.unparse(value.args[0])
        read.title = next(ast.literal_eval(word.value) for word in value.keywords if word.arg == "title")
    elif value is not None:
        read.default = ast.unparse(value)
    return read


def read_class(statement: ast.ClassDef) -> Class:
    read = Class(ast.unparse(statement.bases[0]))
    for part in statement.body:
        if isinstance(part, ast.AnnAssign):
            assert isinstance(part.target, ast.Name)
            read.fields[part.target.id] = read_field(part)
        elif isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant):
            assert isinstance(part.targets[0], ast.Name)
            read.members[part.targets[0].id] = str(part.value.value)
    return read


def read_classes(source: str) -> dict[str, Class]:
    return {part.name: read_class(part) for part in ast.parse(source).body if isinstance(part, ast.ClassDef)}


def indented(text: str) -> str:
    """The published page as Python: what follows a line with `class` up to the next one is its body."""
    lines, in_class = [], False
    for line in text.replace("[docs]\n", "").splitlines():
        starts = bool(re.match(r"class \w+\(\w+\):$", line))
        in_class = in_class or starts
        lines.append(f"    {line}" if in_class and not starts else line)
    return "\n".join(lines)


@cache
def ours() -> dict[str, Class]:
    return read_classes((ROOT / "smarter/models/sam/llm_host.py").read_text("utf-8"))


def differences(published: dict[str, Class], present: dict[str, Class]) -> list[str]:
    found = [f"{name} is missing" for name in published if name not in present]
    found += [f"{name} is not in the contract" for name in present if name not in published and name not in NOT_SHOWN]
    for name in published.keys() & present.keys():
        found += [f"{name}: {text}" for text in _class_differences(name, published[name], present[name])]
    order = [name for name in present if name in published]
    return found if found or order == list(published) else ["the classes are in another order"]


def _class_differences(name: str, published: Class, present: Class) -> list[str]:
    found = []
    if (published.base, published.members) != (present.base, present.members):
        found.append("other base or members")
    if present.fields.keys() - OWN_FIELDS.get(name, set()) != published.fields.keys():
        found.append(f"other fields: {sorted(present.fields.keys() ^ published.fields.keys())}")
    for key in published.fields.keys() & present.fields.keys():
        theirs, own = published.fields[key], present.fields[key]
        if (theirs.type, theirs.default, theirs.title) != (own.type, own.default, own.title):
            found.append(f"{key}: {theirs} became {own}")
        # We may close an open end of a range upwards, and nothing else.
        added = own.bounds.items() - theirs.bounds.items()
        if theirs.bounds.items() - own.bounds.items() or {rule for rule, _ in added} - allowed(theirs):
            found.append(f"{key}: bounds {theirs.bounds} became {own.bounds}")
    return found


def allowed(theirs: Field) -> set[str]:
    required_text = theirs.type == "str" and theirs.default == "..."
    return {"le", "max_length"} | ({"min_length"} if required_text else set())


@needs_seed
def test_llmhost_is_the_published_model() -> None:
    published = read_classes(indented(SEED.read_text("utf-8")))
    assert len(published) == 17
    assert sum(len(one.fields) for one in published.values()) == 86
    assert differences(published, ours()) == []


@needs_seed
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("conint(ge=1, le=16) | None = Field(1,", "conint(ge=1, le=15) | None = Field(1,"),
        ("conint(ge=0) | None = Field(None", "conint(ge=2) | None = Field(None"),
        ('Field("50Gi"', 'Field("51Gi"'),
        ('mxfp4 = "mxfp4"', 'mxfp4 = "mxfp8"'),
        ("dtype: str | None", "dtype: str"),
        ("servedName:", "served:"),
        ('title="Shmsize"', 'title="ShmSize"'),
        ("class SAMLLMHostScaling", "class SAMLLMHostScales"),
        ("float | str | None", "float | None"),
        ("compute: str | None = Field(None", "compute: str | None = Field(..."),
    ],
)
def test_comparison_sees_each_sort_of_change(old: str, new: str) -> None:
    text = SEED.read_text("utf-8")
    assert old in text
    assert differences(read_classes(indented(text.replace(old, new, 1))), ours())


@needs_seed
def test_descriptions_are_in_our_own_words() -> None:
    theirs = set(_sentences(SEED.read_text("utf-8")))
    source = (ROOT / "smarter/models/sam/llm_host.py").read_text("utf-8")
    assert len(theirs) > 50
    assert [text for text in _sentences(source) if text in theirs] == []


def _sentences(source: str) -> list[str]:
    """Text in documentation strings, by sentence, without the leading path that the published text puts there."""
    texts = re.findall(r'"""(.*?)"""', source, re.DOTALL)
    parts = [part for text in texts for part in re.split(r"(?<=\.)\s+", text)]
    stripped = (re.sub(r"^\S+: ", "", part.strip()).lower() for part in parts)
    return [part for part in stripped if len(part.split()) >= 5]


def test_cut_off_parts_have_the_values_that_the_text_names() -> None:
    assert list(ours()["ApiFormat"].members.values()) == ["openai_compatible", "huggingface", "ollama_native", "custom"]
    metadata: dict[str, Any] = {name: one.type for name, one in ours()["SAMLLMHostMetadata"].fields.items()}
    assert metadata == {
        "annotations": "list[dict[str, Any]] | None",
        "description": "str | None",
        "name": "str",
        "tags": "list[str] | None",
        "version": "str | None",
    }
