"""Whether the process lives and whether it can serve, for load balancers; and a page that says what this is."""

from operator import attrgetter

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from smarter.apps.api.views.about import VERSION
from smarter.apps.reconcile.queries import worker_age_seconds
from smarter.kinds import KINDS

# Migrations that are applied stay applied while a process of this release runs, so one good answer holds.
_migrated = False


@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    """The process answers; nothing else is looked at, so that a database that is away restarts no web server."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(_request: HttpRequest) -> HttpResponse:
    """503 where a request would fail. Workers are reported and do not count: an apply is accepted without them."""
    try:
        migrated = _is_migrated()
        age = worker_age_seconds() if migrated else None
    except DatabaseError:
        return JsonResponse(
            {"status": "not ready", "database": "unreachable"}, status=503, headers={"Retry-After": "5"}
        )
    state = "applied" if migrated else "pending"
    answer = {"database": "ok", "migrations": state, "workerSecondsSinceWork": age}
    if not migrated:
        return JsonResponse({"status": "not ready", **answer}, status=503, headers={"Retry-After": "5"})
    return JsonResponse({"status": "ok", **answer})


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    response = render(
        request, "api/index.html", {"version": VERSION, "kinds": sorted(KINDS.values(), key=attrgetter("name"))}
    )
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'self'; frame-ancestors 'none'"
    return response


def _is_migrated() -> bool:
    global _migrated
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    if not _migrated:
        executor = MigrationExecutor(connection)
        _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return _migrated
