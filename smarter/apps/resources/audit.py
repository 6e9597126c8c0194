"""The audit trail: written in the transaction of what it tells of, so that neither exists without the other.

Every service of this app calls `record` while it holds the account's quota row, which is what keeps the chain of
hashes in one line. `first_break` is for the verifier.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

import structlog
from django.utils import timezone

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.models import Account
from smarter.apps.resources.models import AccountQuota, AuditEvent


@dataclass(frozen=True, slots=True)
class Entry:
    """One act. The hashes are of specs without secret values, empty where there was or is nothing."""

    verb: str
    kind: str
    name: str
    uid: str
    outcome: str
    before_hash: str = ""
    after_hash: str = ""


def record(quota: AccountQuota, actor: Actor | None, entries: Iterable[Entry]) -> None:
    """`actor` is None for what Smarter does by itself. The quota row must be locked."""
    request_id = str(structlog.contextvars.get_contextvars().get("request_id", ""))[:64]
    at = timezone.now()
    rows = []
    for entry in entries:
        row = AuditEvent(
            account_id=quota.account_id,
            seq=quota.audit_seq + 1,
            at=at,
            actor=actor.user.username if actor else "smarter",
            key_id=(actor.key_id or "") if actor else "",
            verb=entry.verb,
            kind=entry.kind,
            name=entry.name,
            uid=entry.uid,
            request_id=request_id,
            outcome=entry.outcome,
            before_hash=entry.before_hash,
            after_hash=entry.after_hash,
            prev_hash=quota.audit_hash,
        )
        row.hash = hash_of(row)
        quota.audit_seq, quota.audit_hash = row.seq, row.hash
        rows.append(row)
    if rows:
        AuditEvent.all_accounts.bulk_create(rows)
        quota.save(update_fields=["audit_seq", "audit_hash"])


def hash_of(row: AuditEvent) -> str:
    fields = [
        row.account_id, row.seq, row.at.isoformat(), row.actor, row.key_id, row.verb, row.kind, row.name, row.uid,
        row.request_id, row.outcome, row.before_hash, row.after_hash, row.prev_hash,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(fields, ensure_ascii=False).encode()).hexdigest()


def first_break(account: Account) -> int | None:
    """The number of the first entry that was changed or is missing, None where the whole chain holds."""
    previous, expected = "", 1
    for row in AuditEvent.for_account(account).order_by("seq").iterator(chunk_size=1000):
        if row.seq != expected or row.prev_hash != previous or row.hash != hash_of(row):
            return expected
        previous, expected = row.hash, expected + 1
    head = AccountQuota.objects.filter(account=account).first()
    seq, last = (head.audit_seq, head.audit_hash) if head else (0, "")
    return None if (seq, last) == (expected - 1, previous) else expected
