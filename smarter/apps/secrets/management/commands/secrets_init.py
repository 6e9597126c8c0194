"""Makes the ring of encryption keys of a new installation."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from smarter.apps.secrets.keyring import create_ring, load_ring


class Command(BaseCommand):
    help = "Create the file of encryption keys where there is none. An existing one is checked and kept."
    # The check that would run first is that the file exists.
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        path = settings.SMARTER.kek_file
        created = create_ring(path)
        ring = load_ring(path)
        words = "created" if created else "kept"
        self.stdout.write(f"{path} {words}, {len(ring.keys)} key(s), primary {ring.primary}. Keep a copy elsewhere.")
