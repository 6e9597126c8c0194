"""Changing keys while the service runs: add a key and make it primary, rewrap the data keys, encrypt values anew where
wanted, retire what wraps nothing any more. Each step may be repeated, and a stop in between loses nothing.

Called by the command `secrets_rotate`.
"""

from dataclasses import dataclass
from pathlib import Path

from django.db import connection, transaction

from smarter.apps.accounts.models import Account
from smarter.apps.secrets import crypto, data_keys, keyring
from smarter.apps.secrets.keyring import KeyRing, current_ring
from smarter.apps.secrets.models import DataKey, Secret


@dataclass(frozen=True, slots=True)
class Report:
    reencrypted: int = 0
    dropped: int = 0
    """Data keys that nothing was encrypted with any more."""


def rewrap_all() -> int:
    """Wraps every data key with the primary key. Cheap: no value is touched."""
    ring = current_ring()
    count = 0
    for pk in DataKey.all_accounts.exclude(kek_id=ring.primary).values_list("pk", flat=True):
        count += _rewrap(pk, ring)
    return count


def _rewrap(pk: int, ring: KeyRing) -> int:
    with transaction.atomic():
        key = DataKey.all_accounts.select_for_update(of=("self",)).select_related("account").filter(pk=pk).first()
        if key is None or key.kek_id == ring.primary:
            return 0
        plain = data_keys.unwrapped(key, key.account)
        key.wrapped = crypto.wrap(ring.primary_key, ring.primary, plain, key.account.uid, key.uid)
        key.kek_id = ring.primary
        key.save(update_fields=["wrapped", "kek_id"])
        return 1


def reencrypt_all() -> Report:
    """New data keys for all accounts, every value encrypted with them, the old data keys dropped. Neither a value nor
    its checksum changes, so no workload restarts."""
    reencrypted = dropped = 0
    for account in Account.all_accounts.order_by("pk"):
        for key in DataKey.for_account(account).filter(purpose="value", is_current=True):
            data_keys.retire(key)
        for pk in Secret.for_account(account).values_list("pk", flat=True):
            reencrypted += _reencrypt(account, pk)
        dropped += data_keys.drop_retired(account)
    return Report(reencrypted=reencrypted, dropped=dropped)


def _reencrypt(account: Account, pk: int) -> int:
    with transaction.atomic():
        data_keys.lock_writes(account)
        rows = Secret.for_account(account).select_for_update(of=("self",)).select_related("data_key")
        row = rows.filter(pk=pk).first()
        if row is None:
            return 0
        place = crypto.Place(account.uid, row.uid, row.value_version)
        plain = crypto.open_sealed(data_keys.unwrapped(row.data_key, account), bytes(row.envelope), place)
        new_key = data_keys.key_to_encrypt(account)
        row.envelope = crypto.seal(data_keys.unwrapped(new_key, account), new_key.uid, plain, place)
        row.data_key = new_key
        row.save(update_fields=["envelope", "data_key"])
        return 1


def unused_key_ids() -> set[str]:
    """Keys of the ring, other than the primary, that wrap nothing."""
    ring = current_ring()
    in_use = set(DataKey.all_accounts.values_list("kek_id", flat=True).distinct())
    return set(ring.keys) - in_use - {ring.primary}


def retire_unused(path: Path) -> set[str]:
    """Removes those keys from the ring. The lock makes sure that no data key is being wrapped with one of them."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {DataKey._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")
        unused = unused_key_ids()
        if unused:
            keyring.without(path, unused)
        return unused
