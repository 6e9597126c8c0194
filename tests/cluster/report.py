"""Pytest plugin: the fixtures for the real control plane, its end with the run, the count of tests that used it.

tests/conftest.py loads it for all tests (`pytest_plugins`): with xdist the main process counts and ends, and that one
does not read the conftest of a folder. tests/cluster/conftest.py loads it for a run of that folder alone.
"""

import os
from collections.abc import Iterator

import pytest

from tests.cluster import harness
from tests.cluster.harness import ControlPlane

MARKER = "control_plane"
COUNTED = ("passed", "failed")


def is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def owner_pid(config: pytest.Config) -> int:
    """The process whose end is the end of the run; a worker of xdist is a child of it."""
    return os.getppid() if is_worker(config) else os.getpid()


class ControlPlaneReport:
    """Counts by the reports, which reach the main process from all workers."""

    def __init__(self) -> None:
        self.ran: set[str] = set()
        self.skipped: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if MARKER not in report.keywords:
            return
        if report.when == "call" and report.outcome in COUNTED:
            self.ran.add(report.nodeid)
        if report.skipped and isinstance(report.longrepr, tuple):
            self.skipped[report.nodeid] = report.longrepr[2].removeprefix("Skipped: ")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(f"{len(self.ran)} tests ran on the real control plane")
        if self.skipped:
            reasons = "\n".join(sorted(set(self.skipped.values())))
            text = f"{len(self.skipped)} TESTS DID NOT RUN ON THE REAL CONTROL PLANE:\n{reasons}"
            terminalreporter.write_line(text, yellow=True, bold=True)

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        harness.release(harness.folder_of_run(owner_pid(config)))


def pytest_configure(config: pytest.Config) -> None:
    if not is_worker(config) and not config.pluginmanager.has_plugin("control-plane-report"):
        config.pluginmanager.register(ControlPlaneReport(), "control-plane-report")


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> ControlPlane:
    """One for the whole test run, all workers included; started by the first test that asks."""
    return harness.for_test_run(owner_pid(request.config))


@pytest.fixture
def kube_namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace of the test's own, without Pod Security labels."""
    with control_plane.namespace() as name:
        yield name
