"""The data keys of an account: found or made, unwrapped, counted. `services` and `rotation` call this."""

import secrets
from uuid import uuid4

from django.db import IntegrityError, transaction
from django.db.models import F

from smarter.apps.accounts.models import Account
from smarter.apps.secrets import crypto
from smarter.apps.secrets.keyring import KEY_BYTES, KeyRingError, current_ring
from smarter.apps.secrets.models import DataKey
from smarter.core.errors import TemporaryError

# NIST SP 800-38D: with random nonces of 96 bits a key may encrypt 2^32 times. Half of that leaves room for counts that
# are lost with a transaction.
MAX_ENCRYPTIONS = 2**31
_ATTEMPTS = 5


def current_key(account: Account, purpose: str) -> DataKey:
    """The account's key for this purpose; a new one where there is none."""
    return _find(account, purpose) or _create(account, purpose)


def lock_writes(account: Account) -> None:
    """Writes of one account's secrets follow one another. Taken before any row of a secret, by whoever holds one and
    wants a key, so that a request with several secrets and a rotation never wait for each other in a circle."""
    Account.all_accounts.select_for_update(no_key=True).only("pk").get(pk=account.pk)


def key_to_encrypt(account: Account) -> DataKey:
    """The key for one more value, which is counted. Call it inside the transaction that stores the value: until that
    ends, the key cannot be dropped."""
    lock_writes(account)
    for _ in range(_ATTEMPTS):
        key = current_key(account, "value")
        if key.encryptions >= MAX_ENCRYPTIONS:
            retire(key)
            continue
        row = DataKey.for_account(account).filter(pk=key.pk, is_current=True)
        if row.update(encryptions=F("encryptions") + 1):
            return key
    raise TemporaryError("The keys of the account are being changed.", reason="KeysChanging")


def retire(key: DataKey) -> None:
    """The key still decrypts, and encrypts nothing any more."""
    DataKey.all_accounts.filter(pk=key.pk).update(is_current=False)


def unwrapped(key: DataKey, account: Account) -> bytes:
    wrapped = bytes(key.wrapped)
    kek = current_ring().keys.get(crypto.kek_id_of(wrapped))
    if kek is None:
        raise crypto.DecryptionError("A stored value cannot be decrypted: its encryption key is not in the key ring.")
    return crypto.unwrap(kek, wrapped, account.uid, key.uid)


def drop_retired(account: Account) -> int:
    """Removes keys that nothing is encrypted with any more. The lock waits for those who are encrypting."""
    with transaction.atomic():
        retired = DataKey.for_account(account).filter(purpose="value", is_current=False)
        held = list(retired.select_for_update().values_list("pk", flat=True))
        dropped: int = DataKey.for_account(account).filter(pk__in=held, secrets=None).delete()[0]
        return dropped


def _find(account: Account, purpose: str) -> DataKey | None:
    found: DataKey | None = DataKey.for_account(account).filter(purpose=purpose, is_current=True).first()
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
