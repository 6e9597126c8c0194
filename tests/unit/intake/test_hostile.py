"""The hostile corpus: each case gives its code, quickly, and none raises."""

import json
import time

import pytest

from smarter.core.strict_yaml import load_documents
from tests.corpus.hostile import GOOD, HOSTILE, HostileCase

# The goal is a quarter of a second on the slowest machine; CPU time, so that a busy machine does not fail the test.
CPU_BUDGET_SECONDS = 0.25


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case.id)
def test_hostile_document_gives_its_code_within_the_budget(case: HostileCase) -> None:
    started = time.process_time()
    documents, problems = load_documents(case.body)
    spent = time.process_time() - started
    codes = {problem.code for problem in problems}
    if case.expected_code is None:
        assert codes == set()
        assert documents
    else:
        assert case.expected_code in codes
        assert not any(document.sound for document in documents if document.index in _documents(problems))
    assert spent < CPU_BUDGET_SECONDS


def _documents(problems: list) -> set[int]:
    return {problem.document for problem in problems}


def test_every_problem_but_the_size_has_a_place() -> None:
    for case in HOSTILE:
        for problem in load_documents(case.body)[1]:
            assert problem.code == "too_large" or (problem.line and problem.column), (case.id, problem)
            assert problem.message
            assert len(str(problem)) < 400


def test_the_corpus_is_built_on_a_good_document() -> None:
    documents, problems = load_documents(json.dumps(GOOD).encode())
    assert problems == []
    assert documents[0].data == GOOD


def test_the_corpus_is_large_and_its_names_are_unique() -> None:
    assert len({case.id for case in HOSTILE}) == len(HOSTILE) >= 70
