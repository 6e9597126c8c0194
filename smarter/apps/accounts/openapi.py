"""Describes API keys in the OpenAPI document. Imported when the app is ready, which registers it."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from smarter.apps.accounts.tokens import TOKEN_PATTERN


class ApiKeyScheme(OpenApiAuthenticationExtension):
    target_class = "smarter.apps.accounts.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": TOKEN_PATTERN,
            "description": "An API key of one account, as `Authorization: Bearer <key>` or `Token <key>`.",
        }
