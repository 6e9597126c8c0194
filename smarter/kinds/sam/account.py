"""Account: an organisation that uses Smarter. Kept in a table of its own."""

import re

from smarter.core.kind import Column, Kind
from smarter.core.problems import Problem
from smarter.models.sam.account import SAMAccount

EXAMPLE = """\
apiVersion: smarter.sh/v1
kind: Account
metadata:
  name: example_company
  description: A company that runs its own models.
  version: 1.0.0
spec:
  config:
    companyName: Example Company
    country: DE
    language: de-DE
    timezone: Europe/Berlin
    currency: EUR
"""
# The form only; which of them exist is for whoever uses them to know.
_FORMS = {
    "country": (re.compile(r"[A-Z]{2}", re.ASCII), "two capital letters, such as DE"),
    "language": (re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*", re.ASCII), "a language tag, such as de-DE"),
    "timezone": (re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}", re.ASCII), "as Europe/Berlin"),
    "currency": (re.compile(r"[A-Z]{3}", re.ASCII), "three capital letters, such as EUR"),
}


def admit(manifest: SAMAccount, _stored: SAMAccount | None) -> list[Problem]:
    problems = []
    for field, (form, words) in _FORMS.items():
        value = getattr(manifest.spec.config, field)
        if value is not None and not form.fullmatch(value):
            problems.append(Problem(field, f"spec.config.{field}", f"This is written {words}."))
    return problems


KIND = Kind(
    api_version="smarter.sh/v1",
    name="Account",
    plural="accounts",
    model=SAMAccount,
    summary="An organisation that uses Smarter, apart from all others.",
    example=EXAMPLE,
    columns=(
        Column("NUMBER", "metadata.accountNumber"),
        Column("COMPANY", "spec.config.companyName"),
        Column("COUNTRY", "spec.config.country"),
    ),
    writer="platform",
    admit=admit,
)
