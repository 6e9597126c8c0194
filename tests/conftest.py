"""Fixtures for all tests. Those of one topic live beside it."""

pytest_plugins = ["tests.cluster.report"]
