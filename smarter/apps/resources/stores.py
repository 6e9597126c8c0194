"""The store of each kind: of its own table where it has one, else of the table of resources."""

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.store import Store, Stored
from smarter.apps.resources import lifecycle, queries
from smarter.apps.resources.tables import TABLE_STORES
from smarter.core.kind import Kind


class ResourceStore:
    """Reads and deletes. Applies go through `apply.apply_manifests`, which takes many documents at once."""

    def get(self, actor: Actor, kind: Kind, name: str) -> Stored | None:
        return queries.get_stored(actor, kind, name)

    def list(
        self, actor: Actor, kind: Kind, *, limit: int, offset: int, name_filter: str = ""
    ) -> tuple[list[Stored], int]:
        return queries.list_stored(actor, kind, limit=limit, offset=offset, name_filter=name_filter)

    def delete(self, actor: Actor, kind: Kind, name: str, *, expected_version: str | None) -> None:
        lifecycle.delete(actor, kind, name, expected_version=expected_version)


_RESOURCES = ResourceStore()


def store_for(kind: Kind) -> "Store | ResourceStore":
    return TABLE_STORES.get(kind.key, _RESOURCES)
