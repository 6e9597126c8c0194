"""One look at a whole cluster: a list for each kind of object, then status, drift and money of everything on it.

The cost of a pass is the lists and the resources that changed since the last one; what looks as before is skipped.
Tasks call it for clusters that are due.
"""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from uuid import UUID

import structlog
from django.conf import settings
from django.utils import timezone
from pydantic import SecretStr

from smarter.apps.clusters import services as clusters
from smarter.apps.clusters.models import Cluster as ClusterRow
from smarter.apps.costs import services as costs
from smarter.apps.reconcile import leftovers, namespaces, usage
from smarter.apps.reconcile.answers import checks_of
from smarter.apps.reconcile.happenings import has_last_words
from smarter.apps.reconcile.judgement import Eyes, Scene, judged
from smarter.apps.reconcile.outcome import digest, fingerprint, phase_event, state_columns
from smarter.apps.reconcile.sight import Seen, look
from smarter.apps.reconcile.spent_pods import remove_spent
from smarter.apps.reconcile.states import Finding, wake_deployed, wake_failed, write_findings
from smarter.apps.reconcile.tails import Budget
from smarter.apps.reconcile.watch import Watch, claim_watch, release
from smarter.apps.resources.events import write_events
from smarter.apps.resources.facts import computes_for, facts_for, secret_values_of
from smarter.apps.resources.models import Resource, ResourceState
from smarter.apps.resources.revision import may_restore, remember_good, running_manifest
from smarter.cluster.port import Cluster
from smarter.core import naming
from smarter.core.conditions import Condition
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.facts import Facts
from smarter.core.kind import Placement
from smarter.kinds import KINDS

log = structlog.get_logger(__name__)

INFO_AFTER = timedelta(seconds=60)
"""Features and nodes change rarely; reading them costs three requests."""
UNCONFIRMED_AFTER = timedelta(minutes=15)


def observe(cluster_id: int | None = None) -> int | None:
    """Looks at the given cluster, or at one that is due. Its id, or None when there was nothing to do."""
    held = claim_watch(cluster_id)
    if held is None:
        return None
    row = ClusterRow.all_accounts.select_related("account", "kubeconfig_secret").get(pk=held.cluster_id)
    now, began = timezone.now(), time.monotonic()
    try:
        with _collector_paused():
            moving, info_at = _pass(row, held, now)
    except (TemporaryError, PermanentError) as error:
        _unreachable(row, held, error.message, now)
        return held.cluster_id
    release(held, seconds=_pause(moving, time.monotonic() - began), fail_count=0, info_at=info_at, observed_at=now)
    return held.cluster_id


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Thousands of objects are read and all of them are kept until the end of the pass, while Python's collector would
    walk through them again and again in search of garbage: two thirds of the time of reading 5,000 pods."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _pause(moving: bool, spent_seconds: float) -> float:
    """From the end of one pass to the next, so that passes begin a poll apart. A little less, because beat asks once in
    a poll what is due: what fell due just after it asked would be found a whole poll later. A pass that takes long is
    followed by a pause of the same length, so that looking never takes more than half of one worker."""
    fast = settings.SMARTER.poll_fast_seconds
    wanted = fast if moving else settings.SMARTER.poll_slow_seconds
    return max(wanted - fast / 4 - spent_seconds, fast / 4, spent_seconds)


def _pass(row: ClusterRow, held: Watch, now: datetime) -> tuple[bool, datetime | None]:
    """Whether something moves on the cluster, and when its features were read last."""
    info_at = held.info_at
    if info_at is None or row.reachable is not True or now - info_at > INFO_AFTER:
        _learn(row)
        info_at = now
    port = clusters.client_for(row)
    try:
        sight = look(port, clusters.features_of(row))
    except PermanentError as error:
        if error.reason != "KindMissing":
            raise
        # A feature has gone since the features were read.
        _learn(row)
        sight = look(port, clusters.features_of(row))
    seen = sight.by_owner
    states = _states(row)
    leftovers.look_after(port, row, {owner: found.owned for owner, found in seen.items()}, states)
    namespaces.repair(port, row, {state.resource.account_id for state in states}, clusters.environment_for(row))
    if held.fail_count:
        wake_failed(row.pk)
    opened = costs.open_pods(row.uid)
    costs.mark_unconfirmed(row.uid, confirmed=True)
    findings = []
    computes = cache(computes_for)
    eyes = Eyes(port, Budget(), checks_of(state.resource_id for state in states), now)
    for state in states:
        found = seen.get(str(state.resource.uid), Seen())
        facts = _facts_of(state, row, computes)
        try:
            _record_usage(state, row, found, opened, facts)
            if sight.hides(state):
                # The reconciler says which kind may not be listed; it is asked again in its own time.
                findings += [Finding(state, {}, drifted=True)] if state.next_check_at is None else []
                continue
            finding = _finding(state, found, facts, eyes)
        except (ValueError, KeyError):
            # A row that this release cannot read is the reconciler's to report; the others go on.
            log.exception("observe_skipped", resource=state.pk)
            continue
        if finding:
            findings.append(finding)
        remove_spent(port, found.pods)
    _close_vanished(port, states, seen, opened, held.observed_at or now)
    write_findings(findings)
    remember_good([finding.state for finding in findings if finding.columns.get("ready")])
    write_events([finding.event for finding in findings if finding.event])
    still = {finding.state.pk: finding.columns.get("in_transition", False) for finding in findings}
    return any(still.get(state.pk, state.in_transition) for state in states), info_at


def _learn(row: ClusterRow) -> None:
    """Reads version, features and nodes; with other features, what runs there is rendered again."""
    before = clusters.features_of(row)
    clusters.refresh(row)
    if clusters.features_of(row) != before:
        wake_deployed(row.pk)


def _states(row: ClusterRow) -> list[ResourceState]:
    """Everything that may have objects on the cluster."""
    states = ResourceState.objects.filter(resource__cluster=row, touched=True)
    return list(states.select_related("resource__account", "resource__owner").order_by("pk"))


def _facts_of(state: ResourceState, row: ClusterRow, computes: Callable[..., tuple]) -> Callable[[], Facts]:
    """Facts when they are needed; most resources look as before and need none."""
    resource = state.resource
    return cache(lambda: facts_for(resource, row, {}, computes(resource.account)))


def _finding(state: ResourceState, found: Seen, facts: Callable[[], Facts], eyes: Eyes) -> Finding | None:
    """None where there is nothing to write."""
    resource = state.resource
    drifted = state.next_check_at is None and fingerprint(found.owned) != state.fingerprint
    if state.observed_generation != resource.generation or resource.deleting_at:
        # The reconciler has not applied this generation yet, or deletes it: what is seen belongs to an older one.
        return Finding(state, {}, drifted=True) if drifted else None
    seen_digest = digest([*found.owned, *found.pods])
    if seen_digest == state.seen_digest and not state.in_transition:
        return Finding(state, {}, drifted=True) if drifted else None
    observation = judged(_scene(resource, found, facts()), eyes)
    # What will not come up is the reconciler's, which puts the last good revision back.
    drifted = drifted or (observation.failed and may_restore(resource))
    conditions = [
        Condition(old["type"], old["status"], old["reason"], old["message"])
        for old in state.status.get("conditions") or []
        if old["type"] == "Reconciled"
    ]
    columns = state_columns(state, observation, generation=resource.generation, conditions=conditions, now=eyes.now)
    columns["seen_digest"] = seen_digest
    event = phase_event(resource, state.phase, observation.phase, observation.message)
    return Finding(state, columns, drifted=drifted, event=event)


def _scene(resource: Resource, found: Seen, facts: Facts) -> Scene:
    kind, manifest = KINDS[resource.kind_key], running_manifest(resource)
    return Scene(
        resource=resource,
        kind=kind,
        manifest=manifest,
        facts=facts,
        live=[*found.owned, *found.pods],
        pods=found.pods,
        placement=lambda: kind.placement(manifest, facts),
        secret_values=lambda: _values_that_show(resource, found),
    )


def _values_that_show(resource: Resource, found: Seen) -> list[SecretStr]:
    """Secrets are opened only where a status repeats what a container wrote."""
    return secret_values_of(resource, "mask status") if has_last_words(found.pods) else []


def _record_usage(
    state: ResourceState, row: ClusterRow, found: Seen, opened: dict[str, UUID], facts: Callable[[], Facts]
) -> None:
    resource = state.resource
    kind = KINDS[resource.kind_key]

    def placement() -> Placement | None:
        return kind.placement(running_manifest(resource), facts())

    usage.record(usage.payer_of(resource, row.uid), found.pods, opened, placement)


def _close_vanished(
    port: Cluster, states: list[ResourceState], seen: dict[str, Seen], opened: dict[str, UUID], last_seen: datetime
) -> None:
    alive = {pod["metadata"]["uid"] for found in seen.values() for pod in found.pods}
    gone = {uid: owner for uid, owner in opened.items() if uid not in alive}
    if not gone:
        return
    homes = {state.resource.uid: naming.namespace(state.resource.account.number) for state in states}
    names = costs.names_of(gone)
    pods = {uid: (homes.get(owner, ""), names[uid]) for uid, owner in gone.items()}
    usage.close_vanished(port, pods, last_seen)


def _unreachable(row: ClusterRow, held: Watch, message: str, now: datetime) -> None:
    """Nothing is known, so nothing is changed but the word about the cluster itself. Costs go on: the pods may."""
    ClusterRow.all_accounts.filter(pk=row.pk).update(reachable=False, message=message[:1024], last_checked_at=now)
    if held.observed_at and now - held.observed_at > UNCONFIRMED_AFTER:
        costs.mark_unconfirmed(row.uid, confirmed=False)
    seconds = min(settings.SMARTER.poll_fast_seconds * 2**held.fail_count, settings.SMARTER.poll_slow_seconds)
    release(
        held,
        seconds=seconds,
        fail_count=min(held.fail_count + 1, 10),
        info_at=held.info_at,
        observed_at=held.observed_at,
    )
