"""The kind Cluster in its own table."""

from typing import Any

from django.db import transaction
from django.db.models import ProtectedError, QuerySet

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.rows import locked, page, save_changes
from smarter.apps.accounts.store import (
    Applied,
    Store,
    Stored,
    check_version,
    common_status,
    invalid,
    metadata_of,
    not_found,
    spec_of,
)
from smarter.apps.clusters import connections, services
from smarter.apps.clusters.models import Cluster
from smarter.apps.secrets import services as secret_services
from smarter.apps.secrets.models import Secret
from smarter.core.errors import PermanentError, Refused
from smarter.core.kind import Kind
from smarter.core.manifest import ParsedManifest

API_VERSION, KIND = "smarter.sh/v1", "Cluster"
SECRET_PATH = "spec.kubeconfigSecret"


class ClusterStore:
    def get(self, actor: Actor, kind: Kind, name: str) -> Stored | None:
        actor.require("viewer", "read")
        row = _rows(actor).filter(name=name).first()
        return None if row is None else _stored(actor, row)

    def list(
        self, actor: Actor, kind: Kind, *, limit: int, offset: int, name_filter: str = ""
    ) -> tuple[list[Stored], int]:
        actor.require("viewer", "read")
        rows, total = page(_rows(actor), limit=limit, offset=offset, name_filter=name_filter)
        return [_stored(actor, row) for row in rows], total

    def apply(self, actor: Actor, parsed: ParsedManifest, *, expected_version: str | None) -> Applied:
        actor.require(parsed.kind.writer, "admin")
        spec = {name: value for name, value in spec_of(parsed).items() if value is not None}
        is_default = bool(spec.get("default"))
        with transaction.atomic():
            row = locked(_rows(actor), parsed.name)
            check_version(row.resource_version if row else None, expected_version)
            secret = _credentials(actor, parsed, spec)
            if row is None:
                row = Cluster(account=actor.account, owner=actor.user, name=parsed.name, metadata=metadata_of(parsed))
                row.type, row.spec, row.kubeconfig_secret = spec["type"], spec, secret
                services.save(row, is_default=is_default)
                return Applied(_stored(actor, row), "created")
            if row.type != spec["type"]:
                raise invalid(parsed, "spec.type", "the type of a cluster never changes; register another cluster")
            if is_default:
                services.become_default(row)
            if row.kubeconfig_secret != secret:
                services.forget_namespaces(row)
            fields = {"spec": spec, "kubeconfig_secret": secret, "is_default": is_default}
            with services.one_default():
                action = save_changes(row, fields, metadata_of(parsed))
            return Applied(_stored(actor, row), action)

    def delete(self, actor: Actor, kind: Kind, name: str, *, expected_version: str | None) -> None:
        actor.require(kind.writer, "admin")
        with transaction.atomic():
            row = locked(_rows(actor), name)
            if row is None:
                raise not_found(kind, name)
            check_version(row.resource_version, expected_version)
            try:
                with transaction.atomic():
                    row.delete()
            except ProtectedError as error:
                raise Refused(409, "in_use", f"The Cluster {name!r} still has resources on it.") from error


STORES: dict[tuple[str, str], Store] = {(API_VERSION, KIND): ClusterStore()}


def _rows(actor: Actor) -> QuerySet:
    return Cluster.for_account(actor.account).select_related("owner")


def _credentials(actor: Actor, parsed: ParsedManifest, spec: dict[str, Any]) -> Secret | None:
    name = spec.get("kubeconfigSecret")
    if spec["type"] != Cluster.Type.KUBERNETES:
        if name is not None:
            raise invalid(parsed, SECRET_PATH, "only a cluster of the type kubernetes has a kubeconfig")
        return None
    if name is None:
        raise invalid(parsed, SECRET_PATH, "the type kubernetes needs the name of a Secret with a kubeconfig")
    fact = secret_services.use(actor.account, [name], "cluster").get(name)
    if fact is None:
        raise invalid(
            parsed, SECRET_PATH, "there is no such Secret in this account, or it has expired", code="not_found"
        )
    try:
        connections.check_kubeconfig(fact.value, allow_loopback=actor.is_platform_admin)
    except PermanentError as error:
        raise invalid(parsed, SECRET_PATH, error.message) from error
    secret: Secret = Secret.for_account(actor.account).get(name=name)
    return secret


def _stored(actor: Actor, row: Cluster) -> Stored:
    number, username = actor.account.number, row.owner.username
    status = common_status(
        KIND, row.uid, account_number=number, username=username, created=row.created, modified=row.modified
    )
    status |= {
        "reachable": row.reachable,
        "message": row.message or None,
        "version": row.version or None,
        "nodes": row.nodes,
        "gpus": row.gpus,
        "features": sorted(services.features_of(row)),
        "lastCheckedAt": row.last_checked_at.isoformat() if row.last_checked_at else None,
        "observedGeneration": row.generation,
    }
    return Stored(
        api_version=API_VERSION,
        kind=KIND,
        name=row.name,
        uid=str(row.uid),
        metadata={"name": row.name, **row.metadata},
        spec=row.spec,
        status=status,
        generation=row.generation,
        resource_version=row.resource_version,
        account_number=number,
        username=username,
        created=row.created,
        modified=row.modified,
    )
