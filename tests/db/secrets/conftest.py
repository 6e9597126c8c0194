"""A ring of encryption keys for each test."""

from pathlib import Path

import pytest
from django.conf import settings

from smarter.apps.secrets.keyring import create_ring


@pytest.fixture(autouse=True)
def key_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "keys" / "kek.json"
    create_ring(path)
    monkeypatch.setattr(settings.SMARTER, "kek_file", path)
    return path
