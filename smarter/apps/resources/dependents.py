"""What refers to a manifest: for `status.dependencies`, and for the refusal to delete what is in use.

Dependents in other accounts (of what the platform shares) are counted and never named.
"""

from collections import defaultdict
from collections.abc import Iterable

from django.db.models import Q
from django.db.models.functions import Now

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.models import Account
from smarter.apps.resources.models import Reference, Resource, ResourceState
from smarter.apps.resources.references import resolve_ref
from smarter.core.errors import Refused
from smarter.core.kind import Kind

MAX_NAMED = 20


def dependencies_of(account: Account, resource_ids: Iterable[int]) -> dict[int, list[dict[str, str]]]:
    """For each resource, what of the account refers to it, as in a status. One query."""
    rows = (
        Reference.objects.filter(to_resource__in=list(resource_ids), from_resource__account=account)
        .values_list("to_resource_id", "from_resource__kind", "from_resource__name")
        .distinct()
        .order_by("from_resource__kind", "from_resource__name")
    )
    found: dict[int, list[dict[str, str]]] = defaultdict(list)
    for resource_id, kind, name in rows:
        found[resource_id].append({"kind": kind, "name": name})
    return found


def dependencies_of_secret(account: Account, uid: str) -> list[dict[str, str]]:
    """What of the account refers to the row of a table with this uid; none where it is not a secret."""
    rows = (
        Reference.objects.filter(to_secret__uid=uid, to_secret__account=account)
        .values_list("from_resource__kind", "from_resource__name")
        .distinct()
        .order_by("from_resource__kind", "from_resource__name")
    )
    return [{"kind": kind, "name": name} for kind, name in rows]


def wake_users(condition: Q) -> list[int]:
    """Lets the reconciler look again at what runs and meets `condition`, because something that it is rendered from has
    changed. Their ids, for hints after the commit."""
    rows = list(Resource.all_accounts.filter(condition, deployed=True).distinct().values_list("pk", flat=True))
    if rows:
        ResourceState.objects.filter(resource__in=rows).update(next_check_at=Now(), fail_count=0)
    return rows


def users_of_secret(uid: str) -> Q:
    return Q(references__to_secret__uid=uid)


def users_of(row: Resource, kind: Kind) -> Q:
    """What names it, and for a node type also what was placed there: in every account where the platform shares it."""
    condition = Q(references__to_resource=row)
    if kind.compute_fact is not None:
        placed = Q(placed_on=row.name)
        condition |= placed if row.account.is_platform else placed & Q(account=row.account)
    return condition


def refuse_while_used(actor: Actor, row: Resource) -> None:
    rows = Reference.objects.filter(to_resource=row).exclude(from_resource=row)
    _refuse(actor, f"{row.kind} {row.name!r}", rows.values_list("from_resource__account", *_NAME).distinct())


def refuse_while_used_by_tables(actor: Actor, kind: Kind, name: str) -> None:
    """Also for a name that is not there, which nothing refers to."""
    target = resolve_ref(actor.account, kind, name)
    if target is not None and target.secret is not None:
        rows = Reference.objects.filter(to_secret=target.secret)
        _refuse(actor, f"{kind.name} {name!r}", rows.values_list("from_resource__account", *_NAME).distinct())


_NAME = ("from_resource__kind", "from_resource__name")


def _refuse(actor: Actor, what: str, users: Iterable[tuple[int, str, str]]) -> None:
    users = list(users)
    if not users:
        return
    own = sorted(f"{kind} {name!r}" for account_id, kind, name in users if account_id == actor.account.pk)
    others = len(users) - len(own)
    words = own[:MAX_NAMED]
    if len(own) > MAX_NAMED:
        words.append(f"{len(own) - MAX_NAMED} more")
    if others:
        words.append(f"{others} other resources")
    raise Refused(409, "in_use", f"The {what} is in use by {', '.join(words)}.")
