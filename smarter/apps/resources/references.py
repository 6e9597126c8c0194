"""What the names in a manifest stand for: the one place that turns a name into a row.

A name means a manifest of the same account, or of the platform's account where the kind is shared. Whatever belongs
to others, is being deleted or never was is absent, with the same answer for all. Apply resolves every reference
through here, and the reconciler once more before it renders.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.db.models import Q

from smarter.apps.accounts.models import Account
from smarter.apps.resources.models import Resource
from smarter.apps.resources.tables import TABLE_STORES
from smarter.apps.secrets.models import Secret
from smarter.core.kind import Kind, Reference
from smarter.kinds import KINDS

SECRET_KEY = ("smarter.sh/v1", "Secret")
Key = tuple[str, str, str]
"""apiVersion, kind, name."""


@dataclass(frozen=True, slots=True)
class Target:
    """At most one is set. Neither: the store of the target's kind decides whether it exists."""

    resource: Resource | None = None
    secret: Secret | None = None


def key_of(reference: Reference) -> Key:
    return (reference.api_version, reference.kind, reference.name)


def resolve_ref(account: Account, kind: Kind, name: str) -> Target | None:
    return resolve_refs(account, [(*kind.key, name)]).get((*kind.key, name))


def resolve_refs(account: Account, keys: Iterable[Key]) -> dict[Key, Target]:
    """Only what was found is in the answer. One query for all resources, one for each other table."""
    found: dict[Key, Target] = {}
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    for api_version, kind, name in keys:
        names[(api_version, kind)].add(name)
    in_tables = {kind_key: names.pop(kind_key) for kind_key in list(names) if kind_key in TABLE_STORES}
    for kind_key, wanted in in_tables.items():
        resolve = _RESOLVERS.get(kind_key, _left_to_the_store)
        for name, target in resolve(account, wanted).items():
            found[(*kind_key, name)] = target
    found.update(_resources(account, names))
    return found


def _resources(account: Account, names: dict[tuple[str, str], set[str]]) -> dict[Key, Target]:
    condition = Q()
    for (api_version, kind_name), wanted in names.items():
        kind = KINDS.get((api_version, kind_name))
        if kind is None:
            continue
        owner = Q(account=account) | Q(account__is_platform=True) if kind.shared else Q(account=account)
        condition |= owner & Q(api_group=kind.group, kind=kind_name, name__in=wanted)
    if not condition:
        return {}
    rows = Resource.all_accounts.filter(condition, deleting_at__isnull=True)
    # The account's own comes last and so wins over the platform's of the same name.
    ordered = sorted(rows, key=lambda row: row.account_id == account.pk)
    return {(row.api_version, row.kind, row.name): Target(resource=row) for row in ordered}


def _secrets(account: Account, names: set[str]) -> dict[str, Target]:
    rows = Secret.for_account(account).filter(name__in=names)
    return {row.name: Target(secret=row) for row in rows}


def _left_to_the_store(_account: Account, names: set[str]) -> dict[str, Target]:
    return {name: Target() for name in names}


# Kinds that manifests refer to and whose rows are not resources.
_RESOLVERS: dict[tuple[str, str], Callable[[Account, set[str]], dict[str, Target]]] = {
    SECRET_KEY: _secrets,
}
