"""What happened to a manifest and what lives of it: logs, events, objects, plan."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from smarter.apps.accounts.store import not_found
from smarter.apps.api import answers, openapi
from smarter.apps.api.kinds import kind_for_manifest
from smarter.apps.api.parameters import flag, whole_number
from smarter.apps.api.renderers import RENDERERS
from smarter.apps.resources import live, queries


class LogsView(APIView):
    parser_classes = ()
    renderer_classes = RENDERERS

    @extend_schema(
        operation_id="logs",
        tags=["insight"],
        summary="The last lines that a pod wrote",
        parameters=[
            openapi.PLURAL, openapi.NAME, openapi.POD, openapi.CONTAINER, openapi.TAIL_LINES, openapi.PREVIOUS
        ],
        responses=openapi.LOGS,
    )  # fmt: skip
    def get(self, request: Request, plural: str, name: str) -> Response:
        kind = kind_for_manifest(plural, name)
        wanted = live.LogRequest(
            pod=request.query_params.get("pod", ""),
            container=request.query_params.get("container", ""),
            tail_lines=whole_number(request, "tailLines", default=200, least=1, most=live.MAX_TAIL_LINES),
            previous=flag(request, "previous"),
        )
        logs = live.read_logs(request.auth, kind, name, wanted)
        answer = {"pod": logs.pod, "container": logs.container, "pods": list(logs.pods), "logs": logs.text}
        return Response(answer)


class EventsView(APIView):
    parser_classes = ()
    renderer_classes = RENDERERS

    @extend_schema(
        operation_id="events",
        tags=["insight"],
        summary="The timeline of a manifest, newest first; it outlives the manifest",
        parameters=[openapi.PLURAL, openapi.NAME, openapi.LIMIT],
        responses=openapi.EVENTS,
    )
    def get(self, request: Request, plural: str, name: str) -> Response:
        kind = kind_for_manifest(plural, name)
        limit = whole_number(request, "limit", default=100, least=1, most=500)
        events = queries.events_of(request.auth, kind, name, limit=limit)
        if not events and queries.get_stored(request.auth, kind, name) is None:
            raise not_found(kind, name)
        return Response({"items": [answers.event(one) for one in events]})


class ObjectsView(APIView):
    parser_classes = ()
    renderer_classes = RENDERERS

    @extend_schema(
        operation_id="objects",
        tags=["insight"],
        summary="The Kubernetes objects of a manifest: as rendered, and as the cluster has them",
        parameters=[openapi.PLURAL, openapi.NAME],
        responses=openapi.OBJECTS,
    )
    def get(self, request: Request, plural: str, name: str) -> Response:
        found = live.read_objects(request.auth, kind_for_manifest(plural, name), name)
        cluster = {"answered": found.answered, "message": found.message}
        return Response({"rendered": found.rendered, "live": found.live, "cluster": cluster})


class PlanView(APIView):
    parser_classes = ()
    renderer_classes = RENDERERS

    @extend_schema(
        operation_id="plan",
        tags=["insight"],
        summary="What would change on the cluster to make it as declared",
        parameters=[openapi.PLURAL, openapi.NAME],
        responses=openapi.PLAN,
    )
    def get(self, request: Request, plural: str, name: str) -> Response:
        return Response(answers.cluster_plan(live.read_plan(request.auth, kind_for_manifest(plural, name), name)))
