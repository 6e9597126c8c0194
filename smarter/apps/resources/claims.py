"""Host names: each belongs to one resource over all accounts, from the apply that names it until the resource goes.

Apply and deploy call it inside their transaction. Two accounts that ask for one name at once are put in order by the
unique index; the second waits for the first to commit and then sees that it lost.
"""

from collections.abc import Iterable
from typing import Any

from smarter.apps.resources.models import Hostname, Resource
from smarter.core.errors import Refused
from smarter.core.problems import Problem


def claim(resource: Resource, wanted: Iterable[str]) -> None:
    """What the resource no longer wants is released. Refused with 409 where somebody else holds a name."""
    problems = [
        Problem(
            "hostname_taken",
            path_of_value(resource.spec, name) or "metadata.name",
            f"the host name {name} is not available",
        )
        for name in _taken(resource, wanted)
    ]
    if problems:
        raise Refused(409, "hostname_taken", "A host name is not available.", problems)


def _taken(resource: Resource, wanted: Iterable[str]) -> list[str]:
    names = sorted(set(wanted))
    Hostname.all_accounts.filter(resource=resource).exclude(hostname__in=names).delete()
    if not names:
        return []
    rows = [Hostname(hostname=name, account_id=resource.account_id, resource=resource) for name in names]
    Hostname.all_accounts.bulk_create(rows, ignore_conflicts=True)
    mine = set(Hostname.all_accounts.filter(resource=resource).values_list("hostname", flat=True))
    return [name for name in names if name not in mine]


def path_of_value(spec: Any, value: str, path: str = "spec") -> str | None:
    """Where a text stands in a spec, whatever its case; None where it is not there, as with a name made up for it."""
    if isinstance(spec, str):
        return path if spec.lower() == value else None
    items = spec.items() if isinstance(spec, dict) else enumerate(spec) if isinstance(spec, list) else ()
    for key, item in items:
        found = path_of_value(item, value, f"{path}[{key}]" if isinstance(spec, list) else f"{path}.{key}")
        if found:
            return found
    return None
