"""Accounts, the people and programs in them, and their keys.

Read through `queries.py`, written through `services.py` and the stores of the kinds Account, User and
SmarterAuthToken.
"""

import uuid
from datetime import datetime

from django.contrib.auth.models import AbstractUser, UserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from smarter.apps.accounts.rows import ManifestRow
from smarter.apps.accounts.scope import AccountScope


class Account(ManifestRow):
    """A tenant. The number is in hostnames, namespaces and bills, so it never changes."""

    name = models.CharField(max_length=50, unique=True)
    number = models.CharField(max_length=14, unique=True, editable=False)
    company_name = models.CharField(max_length=255)
    phone_number = models.CharField(max_length=32, blank=True)
    address1 = models.CharField(max_length=255, blank=True)
    address2 = models.CharField(max_length=255, blank=True)
    city = models.CharField(max_length=255, blank=True)
    state = models.CharField(max_length=255, blank=True)
    postal_code = models.CharField(max_length=32, blank=True)
    country = models.CharField(max_length=2, default="US")
    language = models.CharField(max_length=35, default="en-US")
    timezone = models.CharField(max_length=64, default="America/New_York")
    currency = models.CharField(max_length=3, default="USD")
    is_active = models.BooleanField(default=True)
    is_platform = models.BooleanField(default=False)
    """Owns what every account may use: built-in node types, the default cluster."""

    all_accounts = models.Manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=Q(number__regex=r"^\d{4}-\d{4}-\d{4}$"), name="account_number_form"),
            models.CheckConstraint(condition=Q(currency__regex=r"^[A-Z]{3}$"), name="account_currency_form"),
            models.UniqueConstraint(fields=["is_platform"], condition=Q(is_platform=True), name="account_one_platform"),
        ]

    def __str__(self) -> str:
        return self.number


class User(AbstractUser):
    """A person or program. One user may be a member of several accounts; the home account, which created the user,
    is the only one that may change the user's name and address."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    home_account = models.ForeignKey(Account, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")

    objects = None
    all_accounts = UserManager()


class Membership(ManifestRow):
    """A user's place in an account, and the row behind the kind User. `name` is the manifest's."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        MEMBER = "member"
        ADMIN = "admin"

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    name = models.CharField(max_length=50)
    role = models.CharField(max_length=8, choices=Role.choices, default=Role.MEMBER)
    is_active = models.BooleanField(default=True)

    all_accounts = models.Manager()
    for_account = AccountScope()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["account", "user"], name="membership_once"),
            models.UniqueConstraint(fields=["account", "name"], name="membership_name"),
            models.CheckConstraint(condition=Q(role__in=["viewer", "member", "admin"]), name="membership_role"),
        ]


class ApiKey(ManifestRow):
    """The key itself is not here: only its id, and a digest that cannot be turned back. Deleting a key sets
    `revoked_at`, so that old audit entries still have something to point to, and frees the name."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="api_keys")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys")
    created_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    name = models.CharField(max_length=50)
    key_id = models.CharField(max_length=12, unique=True)
    digest = models.CharField(max_length=64)
    scopes = ArrayField(models.CharField(max_length=16))
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    is_active = models.BooleanField(default=True)

    all_accounts = models.Manager()
    for_account = AccountScope()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "name"], condition=Q(revoked_at__isnull=True), name="apikey_name"
            ),
            models.CheckConstraint(condition=Q(key_id__regex=r"^[a-z2-7]{12}$"), name="apikey_id_form"),
            models.CheckConstraint(condition=Q(digest__regex=r"^[0-9a-f]{64}$"), name="apikey_digest_form"),
            models.CheckConstraint(
                condition=Q(scopes__contained_by=["read", "apply", "deploy", "secrets:write", "admin"]),
                name="apikey_scopes",
            ),
        ]

    def works_at(self, moment: datetime) -> bool:
        return self.is_active and self.revoked_at is None and self.expires_at > moment
