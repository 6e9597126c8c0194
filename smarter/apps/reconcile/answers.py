"""Whether generative servers still make tokens: each is asked for one, once in some minutes.

Readiness comes from the cluster's API; this finds the server that passes its health check and generates nothing. Only
hosts on clusters that the operator named (`SMARTER_ANSWER_CHECK_CLUSTERS`) are asked, and only at the address of their
own Service. A few at a time are asked at once, each for at most five seconds, with no transaction open, so a slow
server holds a worker no longer than that. Tasks call `ask_due`; `observe` and `look` put the result into the status.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import orjson
from django.conf import settings
from django.db import connection
from django.utils import timezone

from smarter.apps.clusters import services as clusters
from smarter.apps.clusters.models import Cluster as ClusterRow
from smarter.apps.reconcile import watch
from smarter.apps.reconcile.models import AnswerCheck
from smarter.apps.reconcile.outcome import phase_fields
from smarter.apps.resources.facts import facts_for
from smarter.apps.resources.models import Resource, ResourceState
from smarter.apps.resources.revision import running_manifest
from smarter.apps.secrets import services as secrets
from smarter.cluster.asking import Reply, Request, ask
from smarter.core import naming
from smarter.core.conditions import Condition
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.kind import Kind, Observation
from smarter.core.objects import SERVICE, ObjectRef
from smarter.core.question import Question
from smarter.kinds import KINDS

AT_ONCE = 8
_BUSY = 429
_NOT_OFFERED = frozenset({404, 405, 501})
_REFUSED = frozenset({401, 403})

_ENROL = """
INSERT INTO reconcile_answercheck (resource_id, next_at, status, reason, message, failures)
SELECT resource.id, clock_timestamp() + make_interval(secs => random() * %(seconds)s), '', '', '', 0
  FROM resources_resource AS resource JOIN resources_resourcestate AS state ON state.resource_id = resource.id
 WHERE resource.cluster_id = ANY(%(clusters)s) AND resource.deployed AND state.ready
    ON CONFLICT (resource_id) DO NOTHING
"""

# The next time is set before anything is asked, so that a worker that dies while it asks costs one turn.
_CLAIM = """
WITH due AS MATERIALIZED (
     SELECT answer.resource_id FROM reconcile_answercheck AS answer
       JOIN resources_resource AS resource ON resource.id = answer.resource_id
       JOIN resources_resourcestate AS state ON state.resource_id = resource.id
      WHERE answer.next_at <= clock_timestamp() AND resource.cluster_id = ANY(%(clusters)s)
        AND resource.deployed AND resource.deleting_at IS NULL AND state.status -> 'healthy' = 'true'::jsonb
      ORDER BY answer.next_at
        FOR UPDATE OF answer SKIP LOCKED
      LIMIT %(most)s)
UPDATE reconcile_answercheck AS answer SET next_at = clock_timestamp() + make_interval(secs => %(seconds)s)
  FROM due WHERE answer.resource_id = due.resource_id
RETURNING answer.resource_id
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """As in a condition."""

    status: str
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    resource: Resource
    request: Request
    expects: str


def ask_due() -> int:
    """Asks those that are due, at most AT_ONCE. How many there were."""
    rows = _rows()
    if not rows:
        return 0
    chosen = _claimed([row.pk for row in rows])
    if not chosen:
        return 0
    resources = Resource.all_accounts.filter(pk__in=chosen).select_related("account", "cluster__account", "state")
    asked = [found for resource in resources if (found := _prepared(resource))]
    with ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="ask") as pool:
        verdicts = list(pool.map(_judged, asked))
    for one, verdict in zip(asked, verdicts, strict=True):
        _note(one.resource, verdict)
    return len(asked)


def _rows() -> list[ClusterRow]:
    names = settings.SMARTER.answer_check_names
    if not names:
        return []
    named = ClusterRow.all_accounts.filter(name__in=names).select_related("account")
    return [row for row in named if clusters.is_asked(row)]


def _claimed(cluster_ids: list[int]) -> list[int]:
    parameters = {"clusters": cluster_ids, "most": AT_ONCE, "seconds": settings.SMARTER.answer_check_seconds}
    with connection.cursor() as cursor:
        cursor.execute(_ENROL, parameters)
        cursor.execute(_CLAIM, parameters)
        return [row[0] for row in cursor.fetchall()]


def _prepared(resource: Resource) -> Asked | None:
    """None where there is nothing to ask, or nowhere to ask it."""
    kind = KINDS.get(resource.kind_key)
    if kind is None or resource.cluster is None:
        return None
    try:
        question = kind.question(running_manifest(resource), facts_for(resource, resource.cluster, {}))
        return _with_address(resource, question) if question else None
    except (ValueError, TemporaryError, PermanentError):
        return None


def _with_address(resource: Resource, question: Question) -> Asked:
    namespace = naming.namespace(resource.account.number)
    service = clusters.client_for(resource.cluster).get(ObjectRef(SERVICE, namespace, question.service))
    address = str(((service or {}).get("spec") or {}).get("clusterIP") or "")
    names = [question.key_secret] if question.key_secret else []
    key = secrets.use(resource.account, names, "answer check").get(question.key_secret or "")
    request = Request(
        address=address,
        port=question.port,
        host=f"{question.service}.{namespace}.svc",
        path=question.path,
        body=orjson.dumps(dict(question.body)),
        key=key.value if key else None,
    )
    return Asked(resource, request, question.expects)


def _judged(asked: Asked) -> Verdict:
    try:
        return judge(ask(asked.request), asked.expects)
    except ValueError:
        return Verdict("Unknown", "KeyUnusable", "The API key cannot be sent in a header.")


def judge(reply: Reply, expects: str) -> Verdict:
    """Only what shows that the server fails is False; what may be the fault of the way there is Unknown."""
    if reply.fault in ("Unreachable", "Forbidden"):
        return Verdict("Unknown", reply.fault, "The server's address cannot be reached from Smarter.")
    if reply.fault:
        return Verdict("False", reply.fault, _FAULTS[reply.fault])
    if reply.status == _BUSY:
        return Verdict("Unknown", "Busy", "The server has as many requests as it takes.")
    if reply.status in _NOT_OFFERED:
        return Verdict("Unknown", "NotOffered", "The server does not offer the request that it was asked with.")
    if reply.status in _REFUSED:
        return Verdict("False", "KeyRefused", "The server refuses the host's own API key.")
    if not 200 <= reply.status < 300:
        return Verdict("False", "BadAnswer", f"The server answers a request for one token with {reply.status}.")
    try:
        body = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        body = None
    if isinstance(body, dict) and body.get(expects) not in (None, []):
        return Verdict("True", "Answered")
    return Verdict("False", "WrongAnswer", "The server answers a request for one token with something else.")


_FAULTS = {
    "NoAnswer": "The server passes its health check and does not make one token within 5 seconds. It may be "
    "overloaded, or stuck; see the logs.",
    "TooLarge": "The server answers a request for one token with more than 64 KiB.",
    "NotHttp": "The server does not answer in HTTP.",
    "Compressed": "The server compresses its answer although that was not asked for.",
}


def _note(resource: Resource, verdict: Verdict) -> None:
    """A changed verdict lets the next pass over the cluster look at the host anew."""
    check = AnswerCheck.objects.get(pk=resource.pk)
    failures = check.failures + 1 if verdict.status == "False" else 0 if verdict.status == "True" else check.failures
    limit = settings.SMARTER.answer_check_failures
    crossed = (check.failures >= limit) != (failures >= limit)
    changed = crossed or (check.status, check.reason) != (verdict.status, verdict.reason)
    AnswerCheck.objects.filter(pk=resource.pk).update(
        asked_at=timezone.now(),
        status=verdict.status,
        reason=verdict.reason,
        message=verdict.message,
        failures=failures,
    )
    if changed and resource.cluster_id is not None:
        ResourceState.objects.filter(pk=resource.state.pk).update(seen_digest="")
        watch.wake(resource.cluster_id)


def checks_of(resource_ids: Iterable[int]) -> dict[int, AnswerCheck]:
    """Those that were asked."""
    return {check.pk: check for check in AnswerCheck.objects.filter(pk__in=list(resource_ids)).exclude(status="")}


def with_answer(observation: Observation, kind: Kind, check: AnswerCheck | None) -> Observation:
    """With the condition `Answers`; degraded where the server has not answered several times in a row."""
    if check is None or observation.phase not in ("active", "degraded"):
        return observation
    condition = Condition("Answers", check.status, check.reason, check.message)
    told = replace(observation, conditions=(*observation.conditions, condition))
    if check.failures < settings.SMARTER.answer_check_failures or observation.phase != "active":
        return told
    message = f"{check.message} {observation.message}".strip()
    status = {**observation.status, **phase_fields(kind, "degraded"), "message": message}
    return replace(told, phase="degraded", ready=False, message=message, status=status)
