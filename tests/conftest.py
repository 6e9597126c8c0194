"""Fixtures for all tests. Those of one topic live beside it."""

import pytest
from django.db import connection

pytest_plugins = ["tests.cluster.report", "tests.counts", "tests.tokens"]


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker) -> None:
    """Tests that commit are cleaned up by TRUNCATE, which the audit trail refuses. That one trigger is off here; the
    tests of the audit trail turn it on again for themselves."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE resources_auditevent DISABLE TRIGGER audit_no_truncate")
