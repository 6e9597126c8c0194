"""POST /api/v1/apply."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from smarter.apps.api import answers, openapi
from smarter.apps.api.bodies import read_body
from smarter.apps.api.parameters import expected_version, flag
from smarter.apps.api.renderers import RENDERERS
from smarter.apps.resources.apply import apply_manifests


class ApplyView(APIView):
    parser_classes = ()
    renderer_classes = RENDERERS

    @extend_schema(
        operation_id="apply",
        tags=["manifests"],
        summary="Apply one or more manifests: all are stored, or none",
        parameters=[openapi.DRY_RUN, openapi.DEPLOY, openapi.IF_MATCH],
        request=openapi.MANIFEST_BODY,
        responses=openapi.APPLY_RESULT,
    )
    def post(self, request: Request) -> Response:
        result = apply_manifests(
            request.auth,
            read_body(request._request),
            dry_run=flag(request, "dryRun"),
            deploy=flag(request, "deploy"),
            expected_version=expected_version(request),
        )
        return Response(answers.apply_result(result))
