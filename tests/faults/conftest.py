"""A rig for each test. `rig` lives in one transaction and moves time itself; `live` commits and has workers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from smarter.apps.clusters import connections
from tests.faults.rig import Nursery, Rig, make_rig


@pytest.fixture
def rig(db: None, tmp_path: Path) -> Iterator[Rig]:
    yield from _rig(tmp_path)


@pytest.fixture
def live(transactional_db: None, tmp_path: Path) -> Iterator[Rig]:
    for made in _rig(tmp_path):
        made.nursery = Nursery(tmp_path / "workers.log")
        yield made
        made.stop_workers()
        made.nursery.close()


def _rig(folder: Path) -> Iterator[Rig]:
    before = settings.SMARTER.simulated_cluster_file
    made = make_rig(folder)
    yield made
    made.oracle.close()
    connections.close_all()
    settings.SMARTER.simulated_cluster_file = before
