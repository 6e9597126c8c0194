"""Plain data becomes a model only where JSON, read strictly, says so; and what is wrong is told without values."""

import copy
import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from smarter.models.sam.base import SAMModel, load, validate
from smarter.models.sam.llm_host import SAMLLMHost, SAMLLMHostScaling, SAMLLMHostStatus
from smarter.models.sam.schemas import schemas
from smarter.models.sam.secret import SAMSecret
from tests.unit.models.schema_cases import MODULES, fields, model_of, type_of, with_value

CANARY = "canary-3f9c1e"
PORT = ("spec", "engine", "port")
SHARE = ("spec", "engine", "gpuMemoryUtilization")
NAME = ("spec", "engine", "name")
ENV = ("spec", "engine", "env")


def judged(path: tuple[str | int, ...], value: Any, kind: str = "LLMHost") -> list[tuple[str, str, str]]:
    _, faults = validate(model_of(kind), with_value(kind, path, value))
    return [(".".join(map(str, fault.path)), fault.code, fault.message) for fault in faults]


@pytest.mark.parametrize(
    ("path", "value", "code", "message"),
    [
        (PORT, "8000", "type", "must be a whole number, not text; write it without quotes"),
        (PORT, True, "type", "must be a whole number, not true or false"),
        (PORT, 1.0, "type", "must be a whole number, not a fraction"),
        (PORT, 2**70, "too_large", "must be at most 65535"),
        pytest.param(PORT, -(10**5000), "too_small", "must be at least 1", id="a number of 5000 digits"),
        (PORT, math.nan, "type", "must be a whole number"),
        (SHARE, "0.5", "type", "must be a number, not text; write it without quotes"),
        (SHARE, False, "type", "must be a number, not true or false"),
        (SHARE, math.nan, "type", "must be a finite number"),
        (SHARE, math.inf, "type", "must be a finite number"),
        (SHARE, 1.5, "too_large", "must be at most 1"),
        (SHARE, 0, "too_small", "must be greater than 0"),
        (NAME, "VLLM", "enum", "must be one of vllm, tgi, sglang, llama_cpp, ollama, tei, custom; did you mean vllm?"),
        (NAME, "zzz", "enum", "must be one of vllm, tgi, sglang, llama_cpp, ollama, tei, custom"),
        (NAME, None, "enum", "must be one of vllm, tgi, sglang, llama_cpp, ollama, tei, custom, not empty"),
        (NAME, 0, "enum", "must be one of vllm, tgi, sglang, llama_cpp, ollama, tei, custom, not a whole number"),
        (("spec", "network", "ingress"), "yes", "type", "must be true or false, not text"),
        (("spec", "network", "ingress"), 1, "type", "must be true or false, not a whole number"),
        (("spec", "engine", "args"), "--flag", "type", "must be a list, not text"),
        (("spec", "engine", "args"), {"a": "b"}, "type", "must be a list, not a map"),
        (ENV, ["A=1"], "type", "must be a map, not a list"),
        (("spec", "engine", "dtype"), 16, "type", "must be text, not a whole number; put the value in quotes"),
        (("spec", "engine", "dtype"), "\ud800", "invalid", "holds characters that are not valid Unicode"),
        (("spec", "engine"), None, "type", "must be a map, not empty"),
        (("spec", "engine"), [], "type", "must be a map, not a list"),
        (
            ("spec", "bogus"),
            1,
            "unknown_field",
            "there is no such field; the fields here are compute, engine, "
            "healthCheck, model, network, resources, scaling, storage",
        ),
        (
            ("spec", "engine", "contextlength"),
            1,
            "unknown_field",
            "there is no such field; did you mean contextLength?",
        ),
        (
            ("metadata", "version"),
            "v1",
            "pattern",
            "does not have the right form. The version of this document, in semantic versioning, for example 1.0.0.",
        ),
        (("metadata", "annotations"), [b"x"], "type", "must be a map, not empty"),
    ],
)
def test_refusals(path: tuple[str, ...], value: Any, code: str, message: str) -> None:
    expected_path = ".".join(path) if path[-1] != "annotations" else "metadata.annotations.0"
    assert judged(path, value) == [(expected_path, code, message)]


@pytest.mark.parametrize(
    ("path", "value", "faulty", "code"),
    [
        (ENV, {"A": 1}, "spec.engine.env.A", "type"),
        (ENV, {"A": None}, "spec.engine.env.A", "type"),
        (("spec", "engine", "args"), ["a", 2], "spec.engine.args.1", "type"),
        (("metadata", "annotations"), [{"a": math.nan}], "metadata.annotations.0.a", "type"),
        (("metadata", "annotations"), [{"a": 2**53}], "metadata.annotations.0.a", "too_large"),
        (("metadata", "annotations"), [{"a": "\udfff"}], "metadata.annotations.0.a", "invalid"),
        (("metadata", "annotations"), [{"a": datetime(2030, 1, 1, tzinfo=UTC)}], "metadata.annotations.0.a", "type"),
        (("metadata", "annotations"), [{"a": 1, "b": 2}], "metadata.annotations.0", "too_long"),
        (("metadata", "annotations"), [{1: 2}], "metadata.annotations.0", "type"),
        (("metadata", "annotations"), [{"k" * 254: {"a": 1}}], f"metadata.annotations.0.{'k' * 254}", "too_long"),
    ],
)
def test_faults_inside_of_lists_and_maps(path: tuple[str, ...], value: Any, faulty: str, code: str) -> None:
    assert [(place, found) for place, found, _ in judged(path, value)] == [(faulty, code)]


@pytest.mark.parametrize(
    ("path", "value"),
    [(SHARE, 1), (PORT, None), (ENV, None), (ENV, {}), (("spec", "scaling"), None), (("spec", "scaling"), {})],
)
def test_acceptances(path: tuple[str, ...], value: Any) -> None:
    assert judged(path, value) == []


def test_enums_are_plain_text_and_times_are_times() -> None:
    host, _ = validate(SAMLLMHost, with_value("LLMHost", NAME, "vllm"))
    assert host is not None
    engine = host.spec.engine
    assert [repr(engine.name), repr(engine.apiFormat)] == ["'vllm'", "'openai_compatible'"]
    secret, _ = validate(
        SAMSecret, with_value("Secret", ("spec", "config", "expiration_date"), "2030-01-31T01:00:00+01:00")
    )
    assert secret is not None
    assert secret.spec.config.expiration_date == datetime(2030, 1, 31, tzinfo=UTC)


@pytest.mark.parametrize("value", ["tomorrow", "2030-13-01T00:00:00Z", 1893456000, True])
def test_what_is_no_time_is_refused(value: Any) -> None:
    path = ("spec", "config", "expiration_date")
    message = "must be a date and time, for example 2030-01-31T12:00:00Z"
    assert judged(path, value, "Secret") == [(".".join(path), "type", message)]


def test_all_faults_come_at_once() -> None:
    document = with_value("LLMHost", PORT, "8000")
    document["spec"]["engine"]["bogus"] = 1
    document["spec"]["engine"]["env"] = {f"V{index}": "" for index in range(129)}
    document["metadata"]["annotations"] = [{"a": math.inf}]
    del document["spec"]["model"]["repository"]
    _, faults = validate(SAMLLMHost, document)
    assert {fault.code for fault in faults} == {"missing", "unknown_field", "type", "too_long"}
    assert len(faults) == 5


def test_depth_is_bounded() -> None:
    nested: Any = "x"
    for _ in range(5000):
        nested = [nested]
    assert [code for _, code, _ in judged(("metadata", "annotations"), [{"a": nested}])] == ["invalid"]
    circle: dict[str, Any] = {}
    circle["a"] = circle
    assert [code for _, code, _ in judged(("metadata", "annotations"), [circle])] == ["invalid"]


@pytest.mark.parametrize("data", [None, [], "text", 1, True, math.nan, {}, b"bytes", object()])
def test_what_is_no_manifest_is_refused(data: Any) -> None:
    instance, faults = validate(SAMLLMHost, data)
    assert instance is None
    assert faults


@pytest.mark.parametrize("kind", MODULES)
def test_no_message_repeats_a_value(kind: str) -> None:
    values = [CANARY, CANARY * 20000, [CANARY], {"k": CANARY}, [{"k": [CANARY]}]]
    seen = 0
    for path, _ in fields(kind):
        for value in values:
            _, faults = validate(model_of(kind), with_value(kind, path, value) if path else value)
            seen += len(faults)
            assert CANARY not in json.dumps([fault.message for fault in faults])
    assert seen > 20


def test_a_secret_value_shows_nowhere() -> None:
    document = with_value("Secret", ("spec", "config", "value"), CANARY)
    secret, _ = validate(SAMSecret, document)
    assert secret is not None
    assert CANARY not in repr(secret) + str(secret.model_dump()) + secret.model_dump_json()
    assert secret.spec.config.value.get_secret_value() == CANARY
    with pytest.raises(ValidationError) as caught:
        SAMSecret.model_validate_json(json.dumps(document | {"kind": [CANARY]}))
    assert CANARY not in str(caught.value)


def test_models_are_frozen() -> None:
    host, _ = validate(SAMLLMHost, with_value("LLMHost", NAME, "vllm"))
    assert host is not None
    with pytest.raises(ValidationError):
        setattr(host.spec.engine, "port", 1)  # noqa: B010  an assignment is refused by the type checker as well


@pytest.mark.parametrize("kind", MODULES)
def test_examples_fit_and_come_back_unchanged(kind: str) -> None:
    for example in schemas()[kind]["examples"]:
        assert list(Draft202012Validator(schemas()[kind]).iter_errors(example)) == []
        instance, faults = validate(model_of(kind), example)
        assert faults == []
        assert instance is not None
        dumped = instance.model_dump(mode="json", exclude_unset=True)
        if kind == "Secret":
            dumped["spec"]["config"]["value"] = example["spec"]["config"]["value"]
        assert dumped == example
        whole = json.loads(instance.model_dump_json())
        assert whole["metadata"]["name"] == example["metadata"]["name"]


@pytest.mark.parametrize("kind", MODULES)
def test_schema_is_valid_and_its_defaults_fit(kind: str) -> None:
    Draft202012Validator.check_schema(schemas()[kind])
    _, nodes = zip(*_with_defaults(kind, schemas()[kind]), strict=True)
    for node in nodes:
        resolved = {**node, "$defs": schemas()[kind]["$defs"]}
        assert Draft202012Validator(resolved).is_valid(node["default"]), node


def _with_defaults(kind: str, node: Any) -> list[tuple[str, dict[str, Any]]]:
    if isinstance(node, list):
        return [found for item in node for found in _with_defaults(kind, item)]
    if not isinstance(node, dict):
        return []
    below = [found for key, item in node.items() if key != "examples" for found in _with_defaults(kind, item)]
    return [(kind, node), *below] if "default" in node and "title" in node else below


def test_a_block_of_a_manifest_can_be_judged_alone() -> None:
    scaling, faults = validate(SAMLLMHostScaling, {"replicas": 2})
    assert (faults, scaling and scaling.replicas) == ([], 2)
    _, faults = validate(SAMLLMHostScaling, {"replicas": 17})
    assert [fault.path for fault in faults] == [("replicas",)]


def test_a_model_without_a_schema_can_be_judged() -> None:
    class Alone(SAMModel):
        count: int

    instance, faults = validate(Alone, {"count": 1})
    assert (instance, faults) == (Alone(count=1), [])


def test_a_status_as_smarter_writes_it_fits() -> None:
    written = {
        "accountNumber": "1234-5678-9012",
        "created": "2026-01-31T00:00:00Z",
        "modified": "2026-01-31T00:00:00Z",
        "recordLocator": "llmhost/x",
        "username": "first_user",
        "estimatedCost": "1.250000000",
        "pricePerHour": 0.5,
        "hostStatus": "active",
        "observedGeneration": 1,
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "Serving", "message": "", "observedGeneration": 1}
        ],
        "warnings": [{"code": "port", "path": "spec.engine.port", "message": "a remark"}],
        "dependencies": [{"kind": "LLMHost", "name": "other"}],
    }
    status, faults = validate(SAMLLMHostStatus, written)
    assert faults == []
    assert status is not None
    assert json.loads(status.model_dump_json(exclude_unset=True)) == written


def test_load_gives_the_model_or_says_where_it_does_not_fit() -> None:
    document = with_value("LLMHost", PORT, 8000)
    assert load(SAMLLMHost, document).spec.engine.port == 8000
    document["spec"]["engine"]["dtype"] = [CANARY]
    with pytest.raises(ValueError, match=r"spec\.engine\.dtype: must be text, not a list$"):
        load(SAMLLMHost, document)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda value: not value.is_integer()),
    st.text(max_size=20),
    st.sampled_from(["vllm", "none", "1.0.0", "ReadWriteOnce", "ON_DEMAND", "kubernetes", "EUR"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_model_and_schema_accept_the_same_documents(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(MODULES)))
    places = [path for path, node in fields(kind) if path and type_of(node) and node.get("format") != "date-time"]
    document = with_value(kind, data.draw(st.sampled_from(places)), data.draw(VALUES))
    instance, _ = validate(model_of(kind), copy.deepcopy(document))
    assert (instance is not None) == Draft202012Validator(schemas()[kind]).is_valid(document)


HOSTILE = st.recursive(
    SCALARS | st.floats() | st.integers() | st.binary(max_size=4) | st.characters(codec=None),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8) | st.integers() | st.sampled_from(["spec", "kind", "metadata"]), inner)
    ),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=HOSTILE)
def test_nothing_raises(data: Any) -> None:
    instance, faults = validate(SAMLLMHost, data)
    assert instance is None
    assert faults
