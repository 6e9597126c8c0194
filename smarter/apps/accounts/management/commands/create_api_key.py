"""Makes an API key and prints it, the only time that it is seen."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from smarter.apps.accounts import services
from smarter.apps.accounts.actor import DEFAULT_SCOPES, SCOPES
from smarter.apps.accounts.models import Account, User
from smarter.core.errors import Refused


class Command(BaseCommand):
    help = "Create an API key. The key goes to standard output, everything else to standard error."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("account", metavar="ACCOUNT_NUMBER")
        parser.add_argument("username")
        parser.add_argument("name", help="of the key, for example pipeline_key")
        parser.add_argument("--scope", action="append", choices=SCOPES, help=f"default: {', '.join(DEFAULT_SCOPES)}")
        parser.add_argument("--days", type=int, default=services.KEY_LIFETIME.days, help="until it expires")

    def handle(self, *args: Any, **options: Any) -> None:
        account = Account.all_accounts.filter(number=options["account"]).first()
        user = User.all_accounts.filter(username=options["username"]).first()
        if account is None or user is None:
            raise CommandError("There is no such account or user.")
        if not 1 <= options["days"] <= 3650:
            raise CommandError("--days is 1 to 3650.")
        try:
            key, text = services.create_api_key(
                account,
                user,
                options["name"],
                scopes=options["scope"] or DEFAULT_SCOPES,
                expires_at=timezone.now() + timedelta(days=options["days"]),
            )
        except Refused as error:
            raise CommandError(error.detail) from error
        self.stderr.write(f"Shown once. Scopes {', '.join(key.scopes)}; expires {key.expires_at:%Y-%m-%d}.")
        self.stdout.write(text.get_secret_value())
