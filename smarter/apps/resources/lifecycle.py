"""Deploy, undeploy and delete: what happens to a manifest that is stored.

The API calls the first three, the reconciler `finish_delete`. A delete has two phases: the row is marked and keeps its
name, a worker removes everything from the cluster, and only then the row goes.
"""

from django.db import transaction
from django.db.models import ProtectedError
from django.db.models.functions import Now
from django.utils import timezone

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.store import check_version, not_found
from smarter.apps.clusters.services import choose
from smarter.apps.resources.audit import Entry, record
from smarter.apps.resources.claims import claim
from smarter.apps.resources.dependents import refuse_while_used, refuse_while_used_by_tables
from smarter.apps.resources.drafts import NO_CLUSTER
from smarter.apps.resources.events import event_for, write_events
from smarter.apps.resources.facts import facts_for, stand_ins_of
from smarter.apps.resources.hint import hint_after_commit
from smarter.apps.resources.locks import lock_account
from smarter.apps.resources.models import Reference, Resource, ResourceState
from smarter.apps.resources.revision import declared_manifest
from smarter.apps.resources.tables import TABLE_STORES
from smarter.apps.resources.write import generated_targets, next_version
from smarter.apps.secrets import services as secrets
from smarter.core.errors import Refused
from smarter.core.kind import Kind, Manifest
from smarter.core.problems import errors_of


def deploy(actor: Actor, kind: Kind, name: str, *, expected_version: str | None = None) -> Resource:
    """Again for one that is deployed: nothing but a look at it soon. 422 where it cannot run."""
    _require_deployable(actor, kind)
    with transaction.atomic():
        quota = lock_account(actor.account)
        row = _own(actor, kind, name, expected_version)
        outcome = "unchanged"
        if not row.deployed:
            _launch(actor, kind, row)
            outcome = "changed"
            write_events([event_for(row, "Launched", f"Deployed by {actor.user.username}.")])
        _look_soon(row)
        record(quota, actor, [_entry("deploy", row, outcome)])
    return row


def undeploy(actor: Actor, kind: Kind, name: str, *, expected_version: str | None = None) -> Resource:
    """Everything leaves the cluster but what the kind keeps, such as a volume with weights."""
    _require_deployable(actor, kind)
    with transaction.atomic():
        quota = lock_account(actor.account)
        row = _own(actor, kind, name, expected_version)
        outcome = "unchanged"
        if row.deployed:
            row.deployed, row.deployed_at = False, None
            _save_next_generation(row)
            outcome = "changed"
            write_events([event_for(row, "Undeployed", f"Undeployed by {actor.user.username}.")])
        _look_soon(row)
        record(quota, actor, [_entry("undeploy", row, outcome)])
    return row


def delete(actor: Actor, kind: Kind, name: str, *, expected_version: str | None = None) -> bool:
    """True where it is gone, False where a worker has to clean a cluster first. 409 while something refers to it."""
    store = TABLE_STORES.get(kind.key)
    if store is not None:
        return _delete_from_table(actor, kind, name, expected_version)
    actor.require(kind.writer, "apply")
    with transaction.atomic():
        quota = lock_account(actor.account)
        row = _own(actor, kind, name, expected_version, deleting_is_fine=True)
        if row.deleting_at is not None:
            _look_soon(row)
            return False
        refuse_while_used(actor, row)
        record(quota, actor, [_entry("delete", row, "accepted")])
        if _is_nowhere(kind, row):
            remove(row)
            return True
        row.deleting_at, row.resource_version = timezone.now(), next_version()
        row.save(update_fields=["deleting_at", "resource_version"])
        write_events([event_for(row, "Deleting", f"Deletion asked for by {actor.user.username}.")])
        _look_soon(row)
        return False


def finish_delete(resource: Resource, *, lease_token: int | None = None) -> bool:
    """For the reconciler, when nothing of the resource is left on any cluster. False: the lease was lost, somebody
    refers to it after all, or it is not being deleted; the row stays."""
    try:
        with transaction.atomic():
            quota = lock_account(resource.account)
            rows = ResourceState.objects.select_for_update().filter(
                resource=resource.pk, resource__deleting_at__isnull=False
            )
            state = rows.select_related(None).first()
            if state is None or not _holds(state, lease_token):
                return False
            remove(resource)
            record(quota, None, [_entry("delete", resource, "gone")])
    except ProtectedError:
        return False
    return True


def _holds(state: ResourceState, lease_token: int | None) -> bool:
    if lease_token is None:
        return True
    return state.lease_token == lease_token and state.lease_until is not None and state.lease_until > timezone.now()


def _own(
    actor: Actor, kind: Kind, name: str, expected_version: str | None, *, deleting_is_fine: bool = False
) -> Resource:
    rows = Resource.for_account(actor.account).select_related("account", "cluster", "state")
    row = rows.filter(api_group=kind.group, kind=kind.name, name=name).first()
    if row is None:
        raise not_found(kind, name)
    if row.deleting_at is not None and not deleting_is_fine:
        raise Refused(409, "deleting", f"The {kind.name} {name!r} is being deleted.")
    check_version(row.resource_version, expected_version)
    return row


def _require_deployable(actor: Actor, kind: Kind) -> None:
    actor.require("member", "deploy")
    if not kind.deployable:
        raise Refused(422, "not_deployable", f"A {kind.name} cannot be deployed.")


def _launch(actor: Actor, kind: Kind, row: Resource) -> None:
    """The same rules as for an apply, since prices, node types and clusters may have changed since that."""
    row.cluster = row.cluster or choose(actor.account)
    if row.cluster is None:
        raise Refused(422, NO_CLUSTER, "There is no cluster to deploy to. Apply a Cluster with isDefault first.")
    try:
        manifest = declared_manifest(row)
    except ValueError as error:
        raise Refused(422, "invalid", f"{str(error).capitalize()}. Apply it again in the present form.") from error
    row.deployed, row.deployed_at = True, timezone.now()
    row.generation += 1
    facts = facts_for(row, row.cluster, stand_ins_of(row))
    faults = errors_of(kind.check(manifest, facts))
    if faults:
        raise Refused(422, "invalid", f"The {kind.name} cannot be deployed.", faults)
    row.generation -= 1
    _save_next_generation(row)
    claim(row, kind.hostnames(manifest, facts))
    _refer_to_generated(actor, kind, row, manifest)


def _refer_to_generated(actor: Actor, kind: Kind, row: Resource, manifest: Manifest) -> None:
    targets = generated_targets(actor, row, kind.generated_secrets(manifest))
    Reference.objects.bulk_create(
        [Reference(from_resource=row, to_secret=target.secret, field=field) for field, target in targets.items()],
        ignore_conflicts=True,
    )


def _save_next_generation(row: Resource) -> None:
    row.generation += 1
    row.resource_version = next_version()
    row.modified = timezone.now()
    row.save(update_fields=["generation", "resource_version", "modified", "deployed", "deployed_at", "cluster"])


def _look_soon(row: Resource) -> None:
    ResourceState.objects.filter(resource=row).update(next_check_at=Now(), fail_count=0)
    hint_after_commit([row.pk])


def _is_nowhere(kind: Kind, row: Resource) -> bool:
    """Whether no cluster can hold anything of it. A worker sets `touched` before its first write, under its lease, so
    one that is at work now must be waited for."""
    if not kind.deployable:
        return True
    state = row.state
    return not state.touched and (state.lease_until is None or state.lease_until < timezone.now())


def remove(row: Resource, message: str = "", *, warning: bool = False) -> None:
    """The end of the record, in the caller's transaction and with the account locked."""
    write_events([event_for(row, "Deleted", message, warning=warning)])
    row.delete()
    secrets.delete_generated(row.uid)


def _entry(verb: str, row: Resource, outcome: str) -> Entry:
    return Entry(verb, row.kind, row.name, str(row.uid), outcome, before_hash=row.spec_hash)


def _delete_from_table(actor: Actor, kind: Kind, name: str, expected_version: str | None) -> bool:
    store = TABLE_STORES[kind.key]
    with transaction.atomic():
        quota = lock_account(actor.account)
        refuse_while_used_by_tables(actor, kind, name)
        try:
            store.delete(actor, kind, name, expected_version=expected_version)
        except ProtectedError as error:
            raise Refused(409, "in_use", f"The {kind.name} {name!r} is in use and cannot be deleted.") from error
        record(quota, actor, [Entry("delete", kind.name, name, "", "gone")])
    return True
