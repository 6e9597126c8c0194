"""The account's namespace on a cluster, before anything of the account runs there.

Its walls (quota, limits, policies, an account without rights) are applied first, and again every few minutes, so that
a wall that somebody took down comes back.
"""

from datetime import timedelta

from django.utils import timezone

from smarter.apps.accounts.models import Account
from smarter.apps.clusters.models import AccountNamespace
from smarter.apps.clusters.models import Cluster as ClusterRow
from smarter.cluster.port import Cluster
from smarter.core.facts import AccountFact, Environment
from smarter.core.plan import desired_hash, stamped
from smarter.render.namespace import bootstrap

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
