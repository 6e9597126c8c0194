"""The kinds whose rows are tables of their own, and the store of each. All others live in the table of resources."""

from smarter.apps.accounts.store import Store
from smarter.apps.accounts.stores import STORES as ACCOUNT_STORES
from smarter.apps.clusters.store import STORES as CLUSTER_STORES
from smarter.apps.secrets.store import STORES as SECRET_STORES
from smarter.core.kind import Kind

TABLE_STORES: dict[tuple[str, str], Store] = {**ACCOUNT_STORES, **SECRET_STORES, **CLUSTER_STORES}


def is_table_kind(kind: Kind) -> bool:
    return kind.key in TABLE_STORES
