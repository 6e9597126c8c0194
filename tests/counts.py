"""Pytest plugin: what the run proved, in the words that scripts/test ends with.

It counts three things by their ids, from the reports of tests that passed; one failed test of an id takes it out
again: cases of public bug reports (a test named `test_c02_…`, or one marked `case("C02")`), rules between fields
(`rule("<id>", "passes")` and `rule("<id>", "fails")`, both needed) and known failures of a running host that come with
a message (`failure("<reason>", "simulated")` or `failure("<reason>", "real")`). Loaded by tests/conftest.py.
"""

import re
from collections.abc import Iterable, Iterator

import pytest

CASE_IN_NAME = re.compile(r"^test_(c\d{2,})_")
MANIFESTS = ("passes", "fails")
PLACES = ("simulated", "real")
SEPARATOR = "|"


def case_ids(name: str, marked: Iterable[str] = ()) -> set[str]:
    """The ids that a test stands for, in capitals."""
    named = CASE_IN_NAME.match(name)
    return {found.upper() for found in ([named[1]] if named else []) + list(marked)}


def counted(item: pytest.Item) -> Iterator[tuple[str, str]]:
    """What the report of this test carries to the main process: one property for each thing that it counts for."""
    marked = [argument for mark in item.iter_markers("case") for argument in mark.args]
    for found in sorted(case_ids(item.name, marked)):
        yield "case", found
    for kind, second in (("rule", MANIFESTS), ("failure", PLACES)):
        for mark in item.iter_markers(kind):
            name, which = mark.args
            if which not in second:
                raise pytest.UsageError(f"{item.nodeid}: {kind}(…, {which!r}): the second word is one of {second}")
            yield kind, f"{name}{SEPARATOR}{which}"


class Counts:
    """Reports reach the main process from all workers."""

    def __init__(self) -> None:
        self.passed: set[tuple[str, str]] = set()
        self.failed: set[tuple[str, str]] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        found = {(str(key), str(value)) for key, value in report.user_properties if key in ("case", "rule", "failure")}
        if report.failed:
            self.failed |= found
        elif report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            self.passed |= found

    def ids(self, kind: str, second: str = "") -> set[str]:
        held = {value for key, value in self.passed - self.failed if key == kind}
        if not second:
            return held
        return {value.rpartition(SEPARATOR)[0] for value in held if value.endswith(SEPARATOR + second)}

    def sentence(self) -> str:
        rules = self.ids("rule", "passes") & self.ids("rule", "fails")
        simulated, real = self.ids("failure", "simulated"), self.ids("failure", "real")
        return (
            f"cases of public bug reports: {len(self.ids('case'))} by id; "
            f"rules with a passing and a failing manifest: {len(rules)}; "
            f"failures with a message: {len(simulated | real)} "
            f"(simulated {len(simulated)}, real control plane {len(real)})"
        )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.passed or self.failed:
            terminalreporter.write_line(self.sentence())


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and not config.pluginmanager.has_plugin("counts"):
        config.pluginmanager.register(Counts(), "counts")


def pytest_itemcollected(item: pytest.Item) -> None:
    item.user_properties.extend(counted(item))
