"""Reading, deleting, deploying and undeploying manifests, for every kind alike."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from smarter.apps.accounts.store import not_found
from smarter.apps.api import answers, openapi
from smarter.apps.api.kinds import columns_of, kind_for_manifest, kind_for_plural
from smarter.apps.api.parameters import expected_version, flag, whole_number
from smarter.apps.api.renderers import RENDERERS
from smarter.apps.reconcile.forget import forget
from smarter.apps.resources import lifecycle, queries

MAX_LIMIT = 500


class ManifestsView(APIView):
    parser_classes = ()
    renderer_classes = RENDERERS

    @extend_schema(
        operation_id="list",
        tags=["manifests"],
        summary="List manifests of one kind",
        parameters=[openapi.PLURAL, openapi.LIMIT, openapi.OFFSET, openapi.NAME_FILTER, openapi.SORT],
        responses=openapi.MANIFEST_LIST,
    )
    def get(self, request: Request, plural: str) -> Response:
        kind = kind_for_plural(plural)
        limit = whole_number(request, "limit", default=100, least=1, most=MAX_LIMIT)
        offset = whole_number(request, "offset", default=0, least=0, most=1_000_000)
        found, total = queries.list_stored(
            request.auth,
            kind,
            limit=limit,
            offset=offset,
            name_filter=request.query_params.get("name", ""),
            sort=request.query_params.get("sort", "name"),
        )
        items = answers.manifests(request.auth, found)
        page = {"total": total, "limit": limit, "offset": offset, "columns": columns_of(kind)}
        return Response({**page, "items": items})


class ManifestView(APIView):
    parser_classes = ()
    renderer_classes = RENDERERS

    @extend_schema(
        operation_id="get",
        tags=["manifests"],
        summary="Read one manifest with its status",
        parameters=[openapi.PLURAL, openapi.NAME],
        responses=openapi.MANIFEST,
    )
    def get(self, request: Request, plural: str, name: str) -> Response:
        kind = kind_for_manifest(plural, name)
        stored = queries.get_stored(request.auth, kind, name)
        if stored is None:
            raise not_found(kind, name)
        return answers.manifest_response(request.auth, stored)

    @extend_schema(
        operation_id="delete",
        tags=["manifests"],
        summary="Delete a manifest; its objects leave the cluster first",
        parameters=[openapi.PLURAL, openapi.NAME, openapi.IF_MATCH, openapi.FORCE],
        responses=openapi.DELETED,
    )
    def delete(self, request: Request, plural: str, name: str) -> Response:
        kind = kind_for_manifest(plural, name)
        if flag(request, "force"):
            found = forget(request.auth, kind, name, expected_version=expected_version(request))
            words = {"remains": list(found.remains), "message": found.message}
            return Response({"kind": kind.name, "name": name, "state": "deleted", **words})
        gone = lifecycle.delete(request.auth, kind, name, expected_version=expected_version(request))
        state = "deleted" if gone else "deleting"
        return Response({"kind": kind.name, "name": name, "state": state}, status=200 if gone else 202)


class DeployView(APIView):
    parser_classes = ()
    renderer_classes = RENDERERS

    @extend_schema(
        operation_id="deploy",
        tags=["manifests"],
        summary="Run a stored manifest on a cluster",
        parameters=[openapi.PLURAL, openapi.NAME, openapi.IF_MATCH],
        request=None,
        responses=openapi.MANIFEST,
    )
    def post(self, request: Request, plural: str, name: str) -> Response:
        kind = kind_for_manifest(plural, name)
        lifecycle.deploy(request.auth, kind, name, expected_version=expected_version(request))
        return _read_back(request, plural, name)


class UndeployView(APIView):
    parser_classes = ()
    renderer_classes = RENDERERS

    @extend_schema(
        operation_id="undeploy",
        tags=["manifests"],
        summary="Take a manifest off its cluster; volumes stay",
        parameters=[openapi.PLURAL, openapi.NAME, openapi.IF_MATCH],
        request=None,
        responses=openapi.MANIFEST,
    )
    def post(self, request: Request, plural: str, name: str) -> Response:
        kind = kind_for_manifest(plural, name)
        lifecycle.undeploy(request.auth, kind, name, expected_version=expected_version(request))
        return _read_back(request, plural, name)


def _read_back(request: Request, plural: str, name: str) -> Response:
    kind = kind_for_manifest(plural, name)
    stored = queries.get_stored(request.auth, kind, name)
    if stored is None:
        raise not_found(kind, name)
    return answers.manifest_response(request.auth, stored)
