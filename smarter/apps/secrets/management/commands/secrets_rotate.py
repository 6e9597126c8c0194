"""Rotates the encryption keys of secrets online. Where the key file is mounted read-only, its operator adds the new key
there, and this command runs without --new-key."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from smarter.apps.secrets import keyring, rotation
from smarter.core.errors import PermanentError


class Command(BaseCommand):
    help = "Wrap all data keys with the primary key of the key file; optionally make a new primary first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--new-key", action="store_true", help="add a key to the file and make it primary first")
        parser.add_argument("--reencrypt", action="store_true", help="also encrypt every value with a new data key")
        parser.add_argument("--retire", action="store_true", help="at the end, remove keys that wrap nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        path = settings.SMARTER.kek_file
        try:
            if options["new_key"]:
                self.stdout.write(f"primary key is now {keyring.add_primary(path).primary}")
            self.stdout.write(f"data keys rewrapped: {rotation.rewrap_all()}")
            if options["reencrypt"]:
                report = rotation.reencrypt_all()
                self.stdout.write(f"values encrypted anew: {report.reencrypted}, data keys dropped: {report.dropped}")
            self._report_unused(
                rotation.retire_unused(path) if options["retire"] else rotation.unused_key_ids(), options
            )
        except PermanentError as error:
            raise CommandError(error.message) from error
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}") from error

    def _report_unused(self, unused: set[str], options: dict[str, Any]) -> None:
        if unused:
            names = ", ".join(sorted(unused))
            words = f"keys retired: {names}" if options["retire"] else f"keys that wrap nothing: {names} (see --retire)"
            self.stdout.write(words)
