"""Makes an account and its first administrator."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from smarter.apps.accounts import services
from smarter.core.errors import Refused
from smarter.core.naming import SAM_NAMES


class Command(BaseCommand):
    help = "Create an account, and a user who administers it where --admin is given."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="as in manifests, for example example_company")
        parser.add_argument("--company-name", default="")
        parser.add_argument("--number", help="9999-9999-9999; drawn at random where it is left out")
        parser.add_argument("--admin", metavar="USERNAME")
        parser.add_argument("--email", default="")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"]
        problem = SAM_NAMES.problem(name)
        if problem:
            raise CommandError(problem.message)
        number = options["number"]
        if number is not None and not services.is_account_number(number):
            raise CommandError("An account number looks like 9999-9999-9999.")
        try:
            with transaction.atomic():
                account = services.create_account(name, options["company_name"] or name, number=number)
                if options["admin"]:
                    user = services.create_user(options["admin"], options["email"], home_account=account)
                    services.add_member(account, user, "admin")
        except Refused as error:
            raise CommandError(error.detail) from error
        self.stdout.write(account.number)
