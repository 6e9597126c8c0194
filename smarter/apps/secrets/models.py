"""Encrypted values and the keys that encrypt them. Written and read only by `services.py` and `rotation.py`."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone

from smarter.apps.accounts.models import Account, User
from smarter.apps.accounts.rows import ManifestRow
from smarter.apps.accounts.scope import AccountScope


class DataKey(models.Model):
    """A key of one account, wrapped by a key-encryption key that is not in the database. The key for `value`
    encrypts; the key for `checksum` only ever makes checksums, so that those stay equal through every rotation."""

    class Purpose(models.TextChoices):
        VALUE = "value"
        CHECKSUM = "checksum"

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="+")
    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    purpose = models.CharField(max_length=8, choices=Purpose.choices)
    kek_id = models.CharField(max_length=32)
    """The same as in the header of `wrapped`, to find rows by."""
    wrapped = models.BinaryField()
    is_current = models.BooleanField(default=True)
    encryptions = models.BigIntegerField(default=0)
    created = models.DateTimeField(default=timezone.now, editable=False)

    all_accounts = models.Manager()
    for_account = AccountScope()

    class Meta:
        indexes = [models.Index(fields=["kek_id"], name="datakey_kek")]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "purpose"], condition=Q(is_current=True), name="datakey_one_current"
            ),
            models.CheckConstraint(condition=Q(purpose__in=["value", "checksum"]), name="datakey_purpose"),
            models.CheckConstraint(condition=Q(encryptions__gte=0), name="datakey_encryptions"),
        ]


class Secret(ManifestRow):
    """`envelope` is bound to the account, to this row and to `value_version`; see crypto.py."""

    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="secrets")
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    # Longer than a manifest's name may be: a generated key is called `llmhost_<name>_api_key`.
    name = models.CharField(max_length=128)
    description = models.CharField(max_length=2048, blank=True)
    envelope = models.BinaryField()
    data_key = models.ForeignKey(DataKey, on_delete=models.PROTECT, related_name="secrets")
    """The same as in the header of `envelope`, to find rows by."""
    value_version = models.BigIntegerField(default=1)
    checksum = models.CharField(max_length=64)
    expires_at = models.DateTimeField(null=True, blank=True)
    generated_for = models.UUIDField(null=True, blank=True, db_index=True)
    """The resource that the value was made for; it is deleted together with that."""
    last_used_at = models.DateTimeField(null=True, blank=True)
    last_used_for = models.CharField(max_length=64, blank=True)

    all_accounts = models.Manager()
    for_account = AccountScope()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["account", "name"], name="secret_name"),
            models.CheckConstraint(condition=Q(value_version__gte=1), name="secret_value_version"),
            models.CheckConstraint(condition=Q(checksum__regex=r"^[0-9a-f]{64}$"), name="secret_checksum_form"),
        ]
