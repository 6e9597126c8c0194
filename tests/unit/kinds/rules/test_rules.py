"""Every rule between fields with a manifest that breaks it and one that keeps it."""

import pytest

from smarter.core.problems import errors_of
from tests.unit.kinds.rules import engines, fields, hardware, models, reach
from tests.unit.kinds.rules.bases import CUSTOM, LLAMA, OLLAMA, SGLANG, TEI, TGI, VLLM
from tests.unit.kinds.rules.rule import DECIDED, IDS, Rule, told

RULES: tuple[Rule, ...] = (*models.RULES, *engines.RULES, *hardware.RULES, *reach.RULES, *fields.RULES)
BASES = (VLLM, LLAMA, SGLANG, TGI, OLLAMA, TEI, CUSTOM)


def marked(which: str) -> list[pytest.param]:
    """A row without a number counts for no rule of the list."""
    marks = {rule.id: [pytest.mark.rule(rule.id, which)] if rule.id else [] for rule in RULES}
    return [pytest.param(rule, id=rule.name, marks=marks[rule.id]) for rule in RULES]


@pytest.mark.parametrize("rule", marked("fails"))
def test_broken(rule: Rule) -> None:
    found = {(problem.code, problem.path, problem.level) for problem in rule.broken()}
    assert (rule.code, rule.path, rule.level) in found
    if rule.level == "warning":
        assert errors_of(rule.broken()) == []


@pytest.mark.parametrize("rule", marked("passes"))
def test_kept(rule: Rule) -> None:
    found = rule.kept()
    assert rule.path not in [problem.path for problem in found]
    assert errors_of(found) == []


def test_every_rule_is_here() -> None:
    assert {rule.id for rule in RULES} - {""} == set(IDS)
    assert set(DECIDED) <= set(IDS)


def test_names_are_unique() -> None:
    names = [rule.name for rule in RULES]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(
    "base", [VLLM, LLAMA, SGLANG, TGI, OLLAMA, TEI, CUSTOM], ids=lambda base: base["engine"]["name"]
)
def test_bases_are_right(base: dict) -> None:
    assert told(base, {}) == []


def test_messages_say_more_than_a_word() -> None:
    for rule in RULES:
        for problem in rule.broken():
            if problem.code == rule.code:
                words = problem.message.removesuffix(".").split()
                assert len(words) > 3, problem.message
