"""The data keys of an account: found or made, unwrapped, counted. `services` and `rotation` call this."""

import secrets
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models import F

from smarter.apps.accounts.models import Account
from smarter.apps.secrets import crypto
from smarter.apps.secrets.keyring import KEY_BYTES, KeyRingError, current_ring
from smarter.apps.secrets.models import DataKey

# NIST SP 800-38D: with random nonces of 96 bits a key may encrypt 2^32 times. Half of that leaves room for counts that
# are lost with a transaction.
MAX_ENCRYPTIONS = 2**31


def current_key(account: Account, purpose: str) -> DataKey:
    """The key to encrypt with; a new one where there is none or the old one has encrypted enough."""
    key = _find(account, purpose)
    if key is not None and key.encryptions >= MAX_ENCRYPTIONS:
        retire(key)
        key = None
    return key or _create(account, purpose)


def retire(key: DataKey) -> None:
    """The key still decrypts, and encrypts nothing any more."""
    DataKey.for_account(key.account).filter(pk=key.pk).update(is_current=False)


def unwrapped(key: DataKey) -> bytes:
    wrapped = bytes(key.wrapped)
    kek = current_ring().keys.get(crypto.kek_id_of(wrapped))
    if kek is None:
        raise crypto.DecryptionError("A stored value cannot be decrypted: its encryption key is not in the key ring.")
    return crypto.unwrap(kek, wrapped, key.account.uid, key.uid)


def count_encryption(key: DataKey) -> None:
    DataKey.for_account(key.account).filter(pk=key.pk).update(encryptions=F("encryptions") + 1)


def by_uid(account: Account, uids: set[UUID]) -> dict[UUID, DataKey]:
    return {key.uid: key for key in DataKey.for_account(account).select_related("account").filter(uid__in=uids)}


def _find(account: Account, purpose: str) -> DataKey | None:
    keys = DataKey.for_account(account).select_related("account")
    found: DataKey | None = keys.filter(purpose=purpose, is_current=True).first()
    return found


def _create(account: Account, purpose: str) -> DataKey:
    ring, uid = current_ring(), uuid4()
    data_key = secrets.token_bytes(KEY_BYTES)
    wrapped = crypto.wrap(ring.primary_key, ring.primary, data_key, account.uid, uid)
    try:
        with transaction.atomic():
            key: DataKey = DataKey.all_accounts.create(
                account=account, uid=uid, purpose=purpose, kek_id=ring.primary, wrapped=wrapped
            )
            if ring.primary not in current_ring().keys:
                # `rotation.retire_unused` locks the table, so after the insert it either counts this row or was done.
                raise KeyRingError("The encryption key was retired meanwhile. Try again.")
            return key
    except IntegrityError:
        # Another transaction made it first; the insert above waited until that was committed.
        found = _find(account, purpose)
        if found is None:
            raise
        return found
