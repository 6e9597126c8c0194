"""The account's namespace on a cluster, before anything of the account runs there.

Its walls (quota, limits, policies, an account without rights) are applied before the first workload. The observation
of the cluster puts back what somebody took down or changed.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta

import structlog
from django.utils import timezone

from smarter.apps.accounts.models import Account
from smarter.apps.clusters.models import AccountNamespace
from smarter.apps.clusters.models import Cluster as ClusterRow
from smarter.cluster.port import Cluster
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.facts import AccountFact, Environment
from smarter.core.objects import (
    LIMIT_RANGE,
    MANAGED_SELECTOR,
    NAMESPACE,
    NETWORK_POLICY,
    RESOURCE_QUOTA,
    SERVICE_ACCOUNT,
    KubernetesObject,
    owner_uid_of,
)
from smarter.core.plan import desired_hash, plan, stamped
from smarter.render.namespace import bootstrap

log = structlog.get_logger(__name__)

WALLS = (NAMESPACE, SERVICE_ACCOUNT, RESOURCE_QUOTA, LIMIT_RANGE, NETWORK_POLICY)
RECHECK_AFTER = timedelta(minutes=5)


def ensure(port: Cluster, cluster: ClusterRow, account: Account, environment: Environment) -> None:
    """Applies the namespace and its walls unless the same were applied a short while ago."""
    objects = bootstrap(AccountFact(account.number, str(account.uid)), environment)
    wanted = desired_hash({"objects": objects})
    known = AccountNamespace.all_accounts.filter(
        cluster=cluster, account=account, bootstrap_hash=wanted, checked_at__gt=timezone.now() - RECHECK_AFTER
    )
    if known.exists():
        return
    for body in objects:
        port.apply(stamped(body, generation=1))
    AccountNamespace.all_accounts.update_or_create(
        cluster=cluster, account=account, defaults={"bootstrap_hash": wanted, "checked_at": timezone.now()}
    )


def forget(cluster: ClusterRow, account: Account) -> None:
    """Somebody removed the namespace: the next pass makes it anew."""
    AccountNamespace.all_accounts.filter(cluster=cluster, account=account).delete()


def repair(port: Cluster, cluster: ClusterRow, account_ids: Iterable[int], environment: Environment) -> None:
    """Puts the walls of these accounts back where they are not as they were applied. One list for each kind."""
    rows = AccountNamespace.all_accounts.filter(cluster=cluster, account__in=set(account_ids))
    known = list(rows.select_related("account"))
    if not known:
        return
    try:
        live = _walls(port)
    except PermanentError as error:
        # What may not be listed cannot be repaired; what runs behind the walls is looked at all the same.
        log.warning("walls_not_seen", reason=error.reason, message=error.message)
        return
    for row in known:
        fact = AccountFact(row.account.number, str(row.account.uid))
        desired = bootstrap(fact, environment)
        steps = plan(desired, live[desired[0]["metadata"]["name"]], generation=1)
        bodies = [change.body for change in steps.changes if change.body is not None]
        try:
            for body in bodies:
                log.warning("wall_repaired", account=fact.number, kind=body["kind"], name=body["metadata"]["name"])
                port.apply(body)
        except (TemporaryError, PermanentError) as error:
            # A namespace that is just going refuses; the others are repaired all the same.
            log.warning("wall_not_repaired", account=fact.number, reason=error.reason)
            forget(cluster, row.account)


def _walls(port: Cluster) -> dict[str, list[KubernetesObject]]:
    """By the name of the namespace, which is itself one of them."""
    found: dict[str, list[KubernetesObject]] = defaultdict(list)
    for kind in WALLS:
        for body in port.list(kind, label_selector=MANAGED_SELECTOR):
            if owner_uid_of(body) is None:
                metadata = body["metadata"]
                found[metadata["namespace"] if kind.namespaced else metadata["name"]].append(body)
    return found
