"""What this installation knows and who asks: kinds, schemas, examples, version, whoami. All but the last are public."""

from importlib.metadata import version

import yaml
from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from smarter.apps.accounts.actor import Actor
from smarter.apps.api import openapi
from smarter.apps.api.kinds import described, kind_for_name, schema_of
from smarter.apps.api.renderers import RENDERERS, JsonRenderer, YamlRenderer
from smarter.kinds import KINDS

VERSION = version("smarter")


class KindsView(APIView):
    authentication_classes = ()
    permission_classes = ()
    parser_classes = ()
    renderer_classes = RENDERERS

    @extend_schema(
        operation_id="kinds", tags=["about"], summary="Every kind of manifest", auth=[], responses=openapi.KINDS
    )
    def get(self, request: Request) -> Response:
        return Response({"items": [described(kind) for kind in KINDS.values()]})


class SchemaView(APIView):
    authentication_classes = ()
    permission_classes = ()
    parser_classes = ()
    renderer_classes = RENDERERS

    @extend_schema(
        operation_id="kindSchema",
        tags=["about"],
        summary="The JSON Schema of a kind",
        auth=[],
        parameters=[openapi.KIND],
        responses=openapi.FREE_OBJECT,
    )
    def get(self, request: Request, kind: str) -> Response:
        return Response(schema_of(kind_for_name(kind)))


class ExampleView(APIView):
    authentication_classes = ()
    permission_classes = ()
    parser_classes = ()
    renderer_classes = [YamlRenderer, *RENDERERS]

    @extend_schema(
        operation_id="kindExample",
        tags=["about"],
        summary="A manifest of the kind that applies as it is",
        auth=[],
        parameters=[openapi.KIND],
        responses=openapi.EXAMPLE,
    )
    def get(self, request: Request, kind: str) -> Response:
        text = kind_for_name(kind).example
        if request.accepted_renderer.format == JsonRenderer.format:
            return Response(yaml.safe_load(text))
        return Response(text)


class VersionView(APIView):
    authentication_classes = ()
    permission_classes = ()
    parser_classes = ()
    renderer_classes = RENDERERS

    @extend_schema(
        operation_id="version", tags=["about"], summary="The version of this installation", auth=[],
        responses=openapi.VERSION,
    )  # fmt: skip
    def get(self, request: Request) -> Response:
        api_versions = sorted({api_version for api_version, _ in KINDS})
        return Response({"version": VERSION, "api": "v1", "apiVersions": api_versions})


class WhoAmIView(APIView):
    parser_classes = ()
    renderer_classes = RENDERERS

    @extend_schema(
        operation_id="whoami", tags=["about"], summary="Whom this key belongs to, and what it may do",
        responses=openapi.WHOAMI,
    )  # fmt: skip
    def get(self, request: Request) -> Response:
        actor: Actor = request.auth
        return Response(
            {
                "username": actor.user.username,
                "email": actor.user.email,
                "account": {"number": actor.account.number, "companyName": actor.account.company_name},
                "role": actor.role,
                "isPlatformAdmin": actor.is_platform_admin,
                "keyId": actor.key_id,
                "scopes": sorted(actor.scopes),
                "apiDomain": settings.SMARTER.api_domain,
            }
        )
