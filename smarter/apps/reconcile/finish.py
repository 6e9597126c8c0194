"""The end of a deletion: the cluster has confirmed that nothing is left, so the ledger is closed and the row goes."""

from django.db import transaction
from django.utils import timezone

from smarter.apps.costs.services import close_intervals, open_of
from smarter.apps.reconcile.claim import Claim
from smarter.apps.resources.lifecycle import finish_delete
from smarter.apps.resources.models import Resource


@transaction.atomic
def finish_deletion(held: Claim, resource: Resource) -> bool:
    """False when the lease was lost or something refers to the resource after all; nothing is changed then."""
    # It checks the lease itself, after it has locked the account: every writer takes these two locks in that order.
    if not finish_delete(resource, lease_token=held.token):
        return False
    # Pods close their own intervals by their timestamps; what is still open belongs to pods that nobody saw end.
    close_intervals(dict.fromkeys(open_of(resource.uid), timezone.now()))
    return True
