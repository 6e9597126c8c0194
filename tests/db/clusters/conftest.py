"""A ring of encryption keys, a folder for simulated clusters, and no client left over from another test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from smarter.apps.clusters import connections
from smarter.apps.secrets.keyring import create_ring


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "kek.json"
    create_ring(path)
    monkeypatch.setattr(settings.SMARTER, "kek_file", path)
    monkeypatch.setattr(settings.SMARTER, "simulated_cluster_file", tmp_path / "simulated.sqlite3")
    yield tmp_path
    connections.close_all()
