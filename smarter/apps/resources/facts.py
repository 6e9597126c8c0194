"""Fills `core.facts.Facts` from the database, for an apply and for the reconciler alike.

An apply never decrypts anything: it passes stand-ins that carry the stored checksum of each secret, which is all that
a check or a plan needs. The reconciler passes what `secrets.services.use` answered.
"""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from uuid import UUID

from django.db.models import Q
from django.utils import timezone
from pydantic import SecretStr

from smarter.apps.accounts.models import Account
from smarter.apps.clusters.models import Cluster
from smarter.apps.clusters.services import environment_for, features_of
from smarter.apps.resources.models import Reference, Resource
from smarter.apps.resources.references import SECRET_KEY, Target, resolve_refs
from smarter.apps.resources.revision import is_restored, pins_of, place_of, running_manifest
from smarter.apps.secrets.services import use
from smarter.core.facts import NO_PINS, AccountFact, ComputeFact, Facts, SecretFact
from smarter.core.manifest import model_of
from smarter.kinds import KINDS

STAND_IN = SecretStr("stand-in")


def facts_for(
    resource: Resource,
    cluster: Cluster | None,
    secrets: Mapping[str, SecretFact],
    computes: tuple[ComputeFact, ...] | None = None,
) -> Facts:
    """`computes` may be passed in by a caller that asks for many resources of one account."""
    return build_facts(
        resource.account,
        resource.uid,
        generation=resource.generation,
        deployed=resource.deployed and resource.deleting_at is None,
        cluster=cluster,
        secrets=secrets,
        computes=computes_for(resource.account) if computes is None else computes,
        placed_on=place_of(resource),
        pins=pins_of(resource),
        surge=resource.state.rollout.get("surge"),
    )


def build_facts(  # noqa: PLR0913 - one argument for each thing that is not in the manifest
    account: Account,
    uid: UUID,
    *,
    generation: int,
    deployed: bool,
    cluster: Cluster | None,
    secrets: Mapping[str, SecretFact],
    computes: tuple[ComputeFact, ...],
    placed_on: str = "",
    pins: Mapping[str, str] = NO_PINS,
    surge: bool | None = None,
) -> Facts:
    return Facts(
        account=AccountFact(account.number, str(account.uid)),
        uid=str(uid),
        generation=generation,
        deployed=deployed,
        environment=environment_for(cluster),
        features=features_of(cluster) if cluster else frozenset(),
        secrets=secrets,
        computes=computes,
        placed_on=placed_on or None,
        node_labels=tuple(cluster.node_labels) if cluster else (),
        pins=pins,
        surge=surge,
    )


def secret_names_of(resource: Resource) -> tuple[str, ...]:
    """Names of the secrets that the resource refers to and of those that were made for it, as resolved when it was
    applied. What the reconciler asks `secrets.services.use` for."""
    rows = Reference.objects.filter(from_resource=resource, to_secret__account=resource.account)
    return tuple(sorted({*rows.values_list("to_secret__name", flat=True), *_secrets_put_back(resource)}))


def stand_ins_of(resource: Resource) -> dict[str, SecretFact]:
    rows = Reference.objects.filter(from_resource=resource, to_secret__isnull=False).select_related("to_secret")
    back = resolve_refs(resource.account, [(*SECRET_KEY, name) for name in _secrets_put_back(resource)])
    return stand_ins([*(Target(secret=row.to_secret) for row in rows), *back.values()])


def secret_values_of(resource: Resource, purpose: str) -> list[SecretStr]:
    """To be masked in what the resource's containers wrote: some servers print theirs at their start."""
    return [fact.value for fact in use(resource.account, secret_names_of(resource), purpose).values()]


def _secrets_put_back(resource: Resource) -> set[str]:
    """A revision that was put back may need other secrets than the declared one refers to."""
    if not is_restored(resource):
        return set()
    kind = KINDS[resource.kind_key]
    try:
        manifest = running_manifest(resource)
    except ValueError:
        return set()
    named = {ref.name for ref in kind.references(manifest) if (ref.api_version, ref.kind) == SECRET_KEY}
    return named | set(kind.generated_secrets(manifest))


def stand_ins(targets: Iterable[Target]) -> dict[str, SecretFact]:
    """Expired secrets are absent, as they are for `use`."""
    now = timezone.now()
    secrets = [target.secret for target in targets if target.secret is not None]
    return {
        secret.name: SecretFact(secret.name, STAND_IN, secret.checksum)
        for secret in secrets
        if secret.expires_at is None or secret.expires_at > now
    }


def computes_for(account: Account) -> tuple[ComputeFact, ...]:
    """The node types that the account may use: its own, and those that the platform shares. Where both have a name,
    the account's own counts."""
    keys = [kind for kind in KINDS.values() if kind.compute_fact is not None]
    if not keys:
        return ()
    condition = Q()
    for kind in keys:
        owner = Q(account=account) | Q(account__is_platform=True) if kind.shared else Q(account=account)
        condition |= owner & Q(api_version=kind.api_version, kind=kind.name)
    # Plain rows: this is asked for with every apply, and rows as objects would cost more than the query.
    rows = Resource.all_accounts.filter(condition, deleting_at__isnull=True).values_list(
        "account_id", "api_version", "kind", "name", "metadata", "spec"
    )
    found: dict[str, ComputeFact] = {}
    for _, api_version, kind_name, name, metadata, spec in sorted(rows, key=lambda row: row[0] == account.pk):
        fact = _compute_fact((api_version, kind_name), json.dumps([metadata, spec], sort_keys=True))
        if fact is not None:
            found[name] = fact
    return tuple(found[name] for name in sorted(found))


@lru_cache(maxsize=2048)
def _compute_fact(kind_key: tuple[str, str], text: str) -> ComputeFact | None:
    """Cached by the text, since every apply asks for the same few. None where the text no longer fits its schema."""
    kind = KINDS[kind_key]
    metadata, spec = json.loads(text)
    try:
        return kind.compute_fact(model_of(kind, metadata, spec)) if kind.compute_fact else None
    except ValueError:
        return None
