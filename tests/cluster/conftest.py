"""Loads the fixtures for the real control plane; a test that uses them carries `@pytest.mark.control_plane`."""

import pytest

from tests.cluster import report

PLUGIN = "tests.cluster.report"


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin(PLUGIN):
        config.pluginmanager.register(report, PLUGIN)
