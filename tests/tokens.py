"""Pytest plugin: the fixture that finds llama.cpp's server, and the lines that the run ends with: how long the first
token took, or loudly that no token was served. Loaded by tests/conftest.py.
"""

import os
from pathlib import Path

import pytest

from smarter.cli.embedded import llama_server

MARKER = "tokens"
PROPERTY = "time to first token"


class TokensReport:
    """By the reports, which reach the main process from all workers."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.skipped: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.seconds += [float(str(value)) for name, value in report.user_properties if name == PROPERTY]
        if report.skipped and MARKER in report.keywords and isinstance(report.longrepr, tuple):
            self.skipped[report.nodeid] = report.longrepr[2].removeprefix("Skipped: ")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.seconds:
            words = f"the best of {len(self.seconds)} requests; random weights on processors"
            terminalreporter.write_line(f"time to first token: {min(self.seconds):.3f} s ({words})")
        if self.skipped:
            reasons = "\n".join(sorted(set(self.skipped.values())))
            text = f"{len(self.skipped)} TESTS THAT SERVE REAL TOKENS DID NOT RUN:\n{reasons}"
            terminalreporter.write_line(text, yellow=True, bold=True)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and not config.pluginmanager.has_plugin("tokens-report"):
        config.pluginmanager.register(TokensReport(), "tokens-report")


@pytest.fixture(scope="session")
def model_server() -> Path:
    """In CI a machine without it fails; at a desk the tests skip, and the end of the run says so."""
    found = llama_server.find()
    if found is not None:
        return found.path
    words = f"llama-server is not on this machine; get it with: {llama_server.HOW_TO_GET}"
    if os.environ.get("CI") == "true":
        pytest.fail(words)
    pytest.skip(words)
