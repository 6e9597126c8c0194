"""The small platform, a new one for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from smarter.apps.clusters import connections
from tests.db.reconcile.world import World, make_world


@pytest.fixture
def world(db: None, tmp_path: Path) -> Iterator[World]:
    before = settings.SMARTER.simulated_cluster_file
    yield make_world(tmp_path)
    connections.close_all()
    settings.SMARTER.simulated_cluster_file = before
