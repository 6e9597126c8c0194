"""What the services answer, as the JSON that clients see."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from django.utils import timezone
from rest_framework.response import Response

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.store import Stored
from smarter.apps.reconcile.queries import live_fields
from smarter.apps.resources.diff import FieldChange, ObjectChanges
from smarter.apps.resources.models import Event
from smarter.apps.resources.plans import DocumentPlan, Price
from smarter.apps.resources.results import ApplyResult, Outcome
from smarter.core.objects import ObjectRef
from smarter.core.plan import Change, Plan
from smarter.core.problems import Problem


def manifest(stored: Stored) -> dict[str, Any]:
    """Can be applied again as it is: the status is ignored."""
    return {
        "apiVersion": stored.api_version,
        "kind": stored.kind,
        "metadata": {"name": stored.name, **_sorted(stored.metadata)},
        "spec": _sorted(stored.spec),
        "status": stored.status,
    }


def _sorted(value: Any) -> Any:
    """The database keeps keys in an order of its own, which says nothing to people."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def manifests(actor: Actor, found: Sequence[Stored]) -> list[dict[str, Any]]:
    """With the fields that are views of the ledger and of the clock."""
    fields = live_fields(actor.account.pk, [stored.uid for stored in found], timezone.now()) if found else {}
    answers = [manifest(stored) for stored in found]
    for stored, answer in zip(found, answers, strict=True):
        answer["status"] = {**answer["status"], **fields.get(stored.uid, {})}
    return answers


def manifest_response(actor: Actor, stored: Stored, status: int = 200) -> Response:
    headers = {
        "ETag": f'"{stored.resource_version}"',
        "Smarter-Uid": stored.uid,
        "Smarter-Generation": str(stored.generation),
    }
    return Response(manifests(actor, [stored])[0], status=status, headers=headers)


def apply_result(result: ApplyResult) -> dict[str, Any]:
    return {"dryRun": result.dry_run, "results": [outcome(one, result.dry_run) for one in result.outcomes]}


def outcome(one: Outcome, dry_run: bool = False) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "document": one.document,
        "apiVersion": one.kind.api_version,
        "kind": one.kind.name,
        "name": one.name,
        "action": one.action,
        "uid": one.uid,
        "generation": one.generation,
        "resourceVersion": str(one.resource_version),
        "deployed": one.deployed,
        "warnings": [problem(warning) for warning in one.warnings],
        **_price(one.price),
    }
    if one.reveal:
        answer["reveal"] = {name: value.get_secret_value() for name, value in one.reveal.items()}
    if dry_run and one.plan is not None:
        answer["plan"] = _plan(one.plan)
    return answer


def problem(one: Problem) -> dict[str, Any]:
    return one.as_dict()


def _price(price: Price | None) -> dict[str, Any]:
    """Money is text, so that no client rounds it."""
    if price is None:
        return {"compute": None, "pricePerHour": None, "pricePerMonth": None, "currency": None}
    return {
        "compute": price.compute,
        "instanceType": price.instance_type,
        "replicas": price.replicas,
        "nodeShare": _number(price.share),
        "pricePerHour": _number(price.per_hour),
        "pricePerMonth": _number(price.per_month),
        "currency": price.currency,
    }


def _number(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount.normalize():f}"


def _plan(plan: DocumentPlan) -> dict[str, Any]:
    memory = plan.memory
    return {
        "fields": [_field(change) for change in plan.fields],
        "objects": _objects(plan.objects),
        "memory": None
        if memory is None
        else {
            "verdict": memory.verdict,
            "message": memory.message,
            "neededBytes": memory.needed_bytes,
            "availableBytes": memory.available_bytes,
        },
    }


def _field(change: FieldChange) -> dict[str, Any]:
    return {"path": change.path, "before": change.before, "after": change.after}


def _objects(changes: ObjectChanges) -> dict[str, Any]:
    return {
        "created": [reference(ref) for ref in changes.created],
        "changed": [reference(ref) for ref in changes.changed],
        "deleted": [reference(ref) for ref in changes.deleted],
        "restarts": [reference(ref) for ref in changes.restarts],
    }


def reference(ref: ObjectRef) -> dict[str, Any]:
    return {
        "apiVersion": ref.kind.api_version,
        "kind": ref.kind.kind,
        "namespace": ref.namespace,
        "name": ref.name,
    }


def cluster_plan(plan: Plan) -> dict[str, Any]:
    """`held` are changes that wait for a Job, such as the one that brings the weights of replicas."""

    def listed(changes: Iterable[Change]) -> list[dict[str, Any]]:
        return [{"action": one.action, **reference(one.ref), "reason": one.reason} for one in changes]

    return {
        "changes": listed(plan.changes),
        "held": listed(plan.held),
        "unchanged": plan.unchanged,
        "keptVolumes": [reference(ref) for ref in plan.kept_volumes],
    }


def event(one: Event) -> dict[str, Any]:
    return {
        "at": one.at.isoformat(),
        "type": one.type,
        "reason": one.reason,
        "message": one.message,
        "uid": str(one.resource_uid),
    }
