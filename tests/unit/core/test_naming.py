"""Names of manifests and of their children in a cluster."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smarter.core.naming import DNS_LABELS, SAM_NAMES, hostname, object_name

LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
SAM_NAME = st.from_regex(SAM_NAMES.pattern, fullmatch=True).filter(lambda name: len(name) <= 50)


@given(SAM_NAME, st.uuids(), st.uuids())
def test_children_have_names_that_every_kind_of_object_takes(name: str, account, resource) -> None:
    child = object_name("lh", name, str(account), str(resource))
    assert LABEL.fullmatch(child)
    assert len(child) <= 54


@given(st.uuids(), st.uuids(), st.uuids())
def test_names_that_look_alike_in_a_cluster_stay_apart(account, one, other) -> None:
    if one == other:
        return
    assert object_name("lh", "a_b", str(account), str(one)) != object_name("lh", "a_b", str(account), str(other))


def test_the_same_resource_has_the_same_name() -> None:
    assert object_name("lh", "a_b", "x", "y") == object_name("lh", "a_b", "x", "y")


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("My-Model", "my_model"), ("mistral_7b_v0.1", "mistral_7b_v0_1"), ("a__b", "a_b"), ("x" * 60, "x" * 50)],
)
def test_another_spelling_is_refused_with_one_that_works(name: str, suggestion: str) -> None:
    problem = SAM_NAMES.problem(name)
    assert problem is not None
    assert problem.path == "metadata.name"
    assert repr(suggestion) in problem.message
    assert SAM_NAMES.problem(suggestion) is None


@pytest.mark.parametrize("name", ["a", "7b_qwen", "a_b_c", "x" * 50])
def test_good_names(name: str) -> None:
    assert SAM_NAMES.problem(name) is None


@pytest.mark.parametrize("name", ["", "_a", "a_", "\u0430dmin", "a b", "a\n"])
def test_bad_names(name: str) -> None:
    assert SAM_NAMES.problem(name) is not None


def test_dns_labels() -> None:
    assert DNS_LABELS.problem("llama-3") is None
    assert DNS_LABELS.problem("llama_3") is not None


def test_a_host_name_has_one_label_for_the_name() -> None:
    assert (
        hostname("a_b", "llmhost", "1111-2222-3333", "api.example.com") == "a-b.llmhost.1111-2222-3333.api.example.com"
    )
