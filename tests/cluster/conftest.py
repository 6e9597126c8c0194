"""Fixtures for tests on the real control plane. Such a test carries `@pytest.mark.control_plane`."""

from collections.abc import Iterator

import pytest

from tests.cluster import harness, report
from tests.cluster.harness import ControlPlane


def pytest_configure(config: pytest.Config) -> None:
    report.pytest_configure(config)


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> ControlPlane:
    """One for the whole test run, all workers included; started by the first test that asks."""
    return harness.for_test_run(report.owner_pid(request.config))


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace of the test's own, without Pod Security labels."""
    with control_plane.namespace() as name:
        yield name
