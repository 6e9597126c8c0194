"""The timeline of a resource. Services of this app and the reconciler write it."""

from smarter.apps.resources.models import Event, Resource

MESSAGE_LENGTH = 1024


def event_for(resource: Resource, reason: str, message: str = "", *, warning: bool = False) -> Event:
    """Not saved, so that a caller can write many at once. `reason` is a CamelCase word."""
    return Event(
        account_id=resource.account_id,
        resource_uid=resource.uid,
        api_version=resource.api_version,
        kind=resource.kind,
        name=resource.name,
        type=Event.Type.WARNING if warning else Event.Type.NORMAL,
        reason=reason,
        message=message[:MESSAGE_LENGTH],
    )


def write_events(events: list[Event]) -> None:
    if events:
        Event.all_accounts.bulk_create(events)
