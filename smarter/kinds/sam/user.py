"""User: a person or program that signs in to an account. Kept in a table of its own."""

import re

from smarter.core.kind import Column, Kind
from smarter.core.problems import Problem
from smarter.models.sam.user import SAMUser

EXAMPLE = """\
apiVersion: smarter.sh/v1
kind: User
metadata:
  name: first_user
  description: Administers the account.
  version: 1.0.0
  username: first_user
spec:
  config:
    firstName: First
    lastName: User
    email: first.user@example.com
    isStaff: true
    isActive: true
"""
_EMAIL = re.compile(r"[^@\s]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", re.ASCII)
_USERNAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,149}", re.ASCII)


def admit(manifest: SAMUser, _stored: SAMUser | None) -> list[Problem]:
    problems = []
    if not _EMAIL.fullmatch(manifest.spec.config.email):
        problems.append(Problem("email", "spec.config.email", "This is not an address such as name@example.com."))
    if not _USERNAME.fullmatch(manifest.metadata.username):
        words = "A user name has letters, digits and . _ @ + - only, and starts with a letter or digit."
        problems.append(Problem("username", "metadata.username", words))
    return problems


KIND = Kind(
    api_version="smarter.sh/v1",
    name="User",
    plural="users",
    model=SAMUser,
    summary="A person or program that signs in to an account.",
    example=EXAMPLE,
    columns=(
        Column("USERNAME", "metadata.username"),
        Column("EMAIL", "spec.config.email"),
        Column("ADMIN", "spec.config.isStaff"),
        Column("ACTIVE", "spec.config.isActive"),
    ),
    writer="admin",
    admit=admit,
)
