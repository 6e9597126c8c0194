"""All that may be done with secret values. `use` is the only way to a value, and there is no other way to write one.

The store of the kind Secret, `apps/reconcile` (values for workloads) and `apps/clusters` (kubeconfigs) call this.
"""

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import structlog
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError, Q
from django.utils import timezone
from pydantic import SecretStr

from smarter.apps.accounts.models import Account, User
from smarter.apps.secrets import crypto, data_keys
from smarter.apps.secrets.models import Secret
from smarter.core.errors import Refused
from smarter.core.facts import SecretFact

MAX_VALUE_BYTES = 64 * 1024
LAST_USED_STEP = timedelta(minutes=1)
MAX_TOKEN_LENGTH = 4096
_TOKEN_LIKE = re.compile(r"[!-+\--~]+")
"""Visible ASCII without the comma: safe in an HTTP header, in an environment variable and in a list of keys."""

log = structlog.get_logger(__name__)


def is_token_like(value: SecretStr) -> bool:
    """Whether a value can serve as an API key."""
    text = value.get_secret_value()
    return len(text) <= MAX_TOKEN_LENGTH and _TOKEN_LIKE.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Sealed:
    """A value on its way into a row."""

    envelope: bytes
    data_key: Any
    checksum: str


def check_size(value: SecretStr) -> bytes:
    """The bytes to encrypt. 422 for none, and for too many."""
    plain = value.get_secret_value().encode("utf-8", "surrogatepass")
    if not plain or len(plain) > MAX_VALUE_BYTES:
        raise Refused(422, "invalid", f"A secret value has at least 1 byte and at most {MAX_VALUE_BYTES // 1024} KiB.")
    return plain


def checksum_of(account: Account, secret_uid: UUID, value: SecretStr) -> str:
    key = data_keys.unwrapped(data_keys.current_key(account, "checksum"), account)
    return crypto.checksum(key, secret_uid, check_size(value))


def seal(account: Account, secret_uid: UUID, version: int, value: SecretStr) -> Sealed:
    plain = check_size(value)
    data_key = data_keys.key_to_encrypt(account)
    place = crypto.Place(account.uid, secret_uid, version)
    envelope = crypto.seal(data_keys.unwrapped(data_key, account), data_key.uid, plain, place)
    return Sealed(envelope, data_key, checksum_of(account, secret_uid, value))


def fields_for_value(account: Account, row: Secret, value: SecretStr) -> dict[str, Any]:
    """The columns that change when this value is stored in the row; none where the row holds it already."""
    if row.checksum and row.checksum == checksum_of(account, row.uid, value):
        return {}
    version = row.value_version + 1 if row.checksum else 1
    sealed = seal(account, row.uid, version, value)
    return {
        "envelope": sealed.envelope,
        "data_key": sealed.data_key,
        "checksum": sealed.checksum,
        "value_version": version,
    }


def put(
    account: Account,
    owner: User,
    name: str,
    value: SecretStr,
    *,
    expires_at: datetime | None = None,
    generated_for: UUID | None = None,
) -> Secret:
    """Creates the secret, or replaces its value and expiry."""
    with transaction.atomic():
        data_keys.lock_writes(account)
        row = Secret.for_account(account).select_for_update().filter(name=name).first()
        if row is None:
            return _create(account, owner, name, value, expires_at=expires_at, generated_for=generated_for)
        changes = fields_for_value(account, row, value)
        if not changes and row.expires_at == expires_at:
            return row
        for field, changed in changes.items():
            setattr(row, field, changed)
        row.expires_at = expires_at
        row.generation += 1
        row.resource_version += 1
        row.modified = timezone.now()
        row.save()
        return row


def ensure_generated(account: Account, owner: User, name: str, generated_for: UUID) -> Secret:
    """A random value that belongs to one resource. An existing secret is never touched: it is returned where it was
    made for the same resource, and refused with 409 where it was not, so that nobody can plant a weak key."""
    row = Secret.for_account(account).filter(name=name).first()
    if row is None:
        # Digits and letters only: a hyphen at the start would be read as a flag where a server takes it as an argument.
        value = SecretStr(secrets.token_hex(32))
        try:
            with transaction.atomic():
                return _create(account, owner, name, value, generated_for=generated_for)
        except Refused:
            row = Secret.for_account(account).filter(name=name).first()
    if row is None or row.generated_for != generated_for:
        raise Refused(
            409,
            "conflict",
            f"The Secret {name!r} exists and was not made for this resource. Delete or rename it, or name another one.",
        )
    return row


def exists(account: Account, names: Iterable[str]) -> set[str]:
    """Those of the names that `use` would answer now. Decrypts nothing."""
    return set(_usable(account, names).values_list("name", flat=True))


def use(account: Account, names: Iterable[str], purpose: str) -> dict[str, SecretFact]:
    """Values by name, for the stated purpose. Names that are missing or expired are absent. DecryptionError where a row
    was tampered with or its key is gone."""
    # Rows and keys in one query: a rotation in between would otherwise take the key away from under the row.
    rows = list(_usable(account, names).select_related("data_key"))
    # Noted before anything is decrypted, so that a use that fails is noted too.
    _note_use(account, rows, purpose)
    return {row.name: SecretFact(row.name, SecretStr(_opened(account, row)), row.checksum) for row in rows}


def delete(account: Account, name: str) -> bool:
    """False where there is none. 409 while something refers to it."""
    try:
        with transaction.atomic():
            return bool(Secret.for_account(account).filter(name=name).delete()[0])
    except ProtectedError as error:
        raise Refused(409, "in_use", f"The Secret {name!r} is in use and cannot be deleted.") from error


def delete_generated(generated_for: UUID) -> int:
    """What `ensure_generated` made for a resource that is gone. How many there were."""
    count: int = Secret.all_accounts.filter(generated_for=generated_for).delete()[0]
    return count


def _usable(account: Account, names: Iterable[str]) -> Any:
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return Secret.for_account(account).filter(unexpired, name__in=set(names))


def _note_use(account: Account, rows: list[Secret], purpose: str) -> None:
    """At most once a minute for each secret and purpose. A row that somebody is writing is passed over: waiting for
    several rows here could meet a request that waits for the same rows in another order."""
    now, purpose = timezone.now(), purpose[:64]
    stale = [
        row.pk
        for row in rows
        if row.last_used_for != purpose or row.last_used_at is None or row.last_used_at < now - LAST_USED_STEP
    ]
    if not stale:
        return
    with transaction.atomic():
        free = Secret.for_account(account).filter(pk__in=stale).select_for_update(skip_locked=True)
        held = list(free.values_list("pk", flat=True))
        Secret.for_account(account).filter(pk__in=held).update(last_used_at=now, last_used_for=purpose)
    names = sorted(row.name for row in rows if row.pk in stale)
    log.info("secrets_used", account=account.number, names=names, purpose=purpose)


def _create(account: Account, owner: User, name: str, value: SecretStr, **fields: Any) -> Secret:
    row = Secret(uid=uuid4(), account=account, owner=owner, name=name, metadata={"name": name}, **fields)
    for field, content in fields_for_value(account, row, value).items():
        setattr(row, field, content)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError as error:
        raise Refused(409, "conflict", f"There is a Secret {name!r} already.") from error
    return row


def _opened(account: Account, row: Secret) -> str:
    envelope = bytes(row.envelope)
    if crypto.data_key_uid_of(envelope) != row.data_key.uid:
        raise crypto.DecryptionError
    place = crypto.Place(account.uid, row.uid, row.value_version)
    plain = crypto.open_sealed(data_keys.unwrapped(row.data_key, account), envelope, place)
    return plain.decode("utf-8", "surrogatepass")
