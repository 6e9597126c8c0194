"""The end of a deletion: the cluster has confirmed that nothing is left, so the row and what belongs to it go."""

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from smarter.apps.costs.services import close_intervals, open_of
from smarter.apps.reconcile.claim import Claim
from smarter.apps.resources.events import event_for, write_events
from smarter.apps.resources.models import Resource, ResourceState
from smarter.apps.secrets import services as secrets


@transaction.atomic
def finish_deletion(held: Claim, resource: Resource) -> bool:
    """False when the lease was lost: somebody else is at it."""
    rows = ResourceState.all_accounts.select_for_update().filter(
        pk=held.resource_id, lease_token=held.token, lease_until__gt=Now()
    )
    if not rows.exists():
        return False
    # Pods close their own intervals by their timestamps; what is still open belongs to pods that nobody saw end.
    now = timezone.now()
    close_intervals(dict.fromkeys(open_of(resource.uid), now))
    write_events([event_for(resource, "Deleted", "All objects are gone from the cluster.")])
    generated_for = resource.uid
    resource.delete()
    secrets.delete_generated(generated_for)
    return True
