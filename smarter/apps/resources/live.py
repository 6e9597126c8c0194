"""What a cluster says about one manifest, asked for by a person: logs, objects, the difference to what is desired.

The API calls this. No transaction is open here, since a cluster may be slow. TemporaryError and PermanentError of the
cluster pass through.
"""

from dataclasses import dataclass, field

from smarter.apps.accounts.actor import Actor
from smarter.apps.accounts.store import not_found
from smarter.apps.clusters.services import client_for, features_of
from smarter.apps.resources import queries
from smarter.apps.resources.diff import masked
from smarter.apps.resources.facts import facts_for, secret_names_of, secret_values_of, stand_ins_of
from smarter.apps.resources.models import Resource
from smarter.apps.resources.revision import running_manifest
from smarter.apps.secrets import services as secrets
from smarter.core import naming
from smarter.core.errors import PermanentError, Refused, TemporaryError
from smarter.core.facts import SecretFact
from smarter.core.kind import Kind
from smarter.core.masking import mask_text
from smarter.core.objects import OWNER_UID_LABEL, POD, KubernetesObject
from smarter.core.plan import Plan, plan

MAX_TAIL_LINES = 5000


@dataclass(frozen=True, slots=True)
class LogRequest:
    """Empty `pod` and `container` leave the choice to `read_logs`."""

    pod: str = ""
    container: str = ""
    tail_lines: int = 200
    previous: bool = False


@dataclass(frozen=True, slots=True)
class Logs:
    pod: str
    container: str
    text: str
    pods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Objects:
    """`message` says why `live` is empty where the cluster did not answer."""

    rendered: list[KubernetesObject]
    live: list[KubernetesObject] = field(default_factory=list)
    answered: bool = False
    message: str = ""


def read_logs(actor: Actor, kind: Kind, name: str, wanted: LogRequest) -> Logs:
    """404 for a pod or container that the resource does not have, 409 where it has no pods."""
    row = _own(actor, kind, name)
    pods = _pods(row)
    if row.cluster is None or not pods:
        raise Refused(409, "no_pods", f"The {kind.name} {name!r} has no pods, so there are no logs.")
    names = tuple(pod["metadata"]["name"] for pod in pods)
    if wanted.pod and wanted.pod not in names:
        raise Refused(404, "not_found", f"There is no such pod. Pods: {', '.join(names)}.")
    pod = next((pod for pod in pods if pod["metadata"]["name"] == wanted.pod), None) or _most_telling(pods)
    containers = _containers(pod)
    container = wanted.container or containers[0]
    if container not in containers:
        raise Refused(404, "not_found", f"There is no such container. Containers: {', '.join(containers)}.")
    text = client_for(row.cluster).logs(
        naming.namespace(row.account.number),
        pod["metadata"]["name"],
        container=container,
        tail_lines=wanted.tail_lines,
        previous=wanted.previous,
    )
    return Logs(pod["metadata"]["name"], container, mask_text(text, secret_values_of(row, "mask logs")), names)


def read_objects(actor: Actor, kind: Kind, name: str) -> Objects:
    """What is rendered and what lives, without the values of secrets."""
    row = _own(actor, kind, name)
    rendered = [masked(body) for body in _render(kind, row, stand_ins_of(row))]
    if row.cluster is None:
        return Objects(rendered, message="It has not been deployed to a cluster.")
    try:
        live = [masked(body) for body in (*_live(kind, row), *_pods(row))]
    except (TemporaryError, PermanentError) as error:
        return Objects(rendered, message=error.message)
    return Objects(rendered, live, answered=True)


def read_plan(actor: Actor, kind: Kind, name: str) -> Plan:
    """What the next pass of the reconciler would change on the cluster."""
    row = _own(actor, kind, name)
    facts = secrets.use(row.account, secret_names_of(row), "plan")
    desired = [] if row.deleting_at else _render(kind, row, facts)
    live = _live(kind, row) if row.cluster else []
    return plan(desired, live, generation=row.generation, delete_volumes=not row.deployed)


def _own(actor: Actor, kind: Kind, name: str) -> Resource:
    """What the platform shares has objects of the platform's, which are not for tenants to see."""
    row = queries.find(actor, kind, name)
    if row is None or row.account_id != actor.account.pk:
        raise not_found(kind, name)
    return row


def _render(kind: Kind, row: Resource, facts: dict[str, SecretFact]) -> list[KubernetesObject]:
    try:
        manifest = running_manifest(row)
    except ValueError as error:
        raise Refused(409, "outdated", f"{str(error).capitalize()}. Apply it again in the present form.") from error
    return kind.render(manifest, facts_for(row, row.cluster, facts))


def _selector(row: Resource) -> str:
    return f"{OWNER_UID_LABEL}={row.uid}"


def _pods(row: Resource) -> list[KubernetesObject]:
    if row.cluster is None:
        return []
    return client_for(row.cluster).list(
        POD, label_selector=_selector(row), namespace=naming.namespace(row.account.number)
    )


def _live(kind: Kind, row: Resource) -> list[KubernetesObject]:
    assert row.cluster is not None
    client, features = client_for(row.cluster), features_of(row.cluster)
    found: list[KubernetesObject] = []
    for object_kind in kind.object_kinds:
        if object_kind.feature is None or object_kind.feature in features:
            found += client.list(
                object_kind, label_selector=_selector(row), namespace=naming.namespace(row.account.number)
            )
    return found


def _most_telling(pods: list[KubernetesObject]) -> KubernetesObject:
    """A running pod before others, and the youngest of those."""
    return max(
        pods,
        key=lambda pod: (
            pod.get("status", {}).get("phase") == "Running",
            pod["metadata"].get("creationTimestamp") or "",
            pod["metadata"]["name"],
        ),
    )


def _containers(pod: KubernetesObject) -> list[str]:
    """The main container first; those that prepare the pod last."""
    spec = pod.get("spec", {})
    return [entry["name"] for entry in (*spec.get("containers", ()), *spec.get("initContainers", ()))]
