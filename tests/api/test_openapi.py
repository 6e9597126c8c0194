"""The OpenAPI document: made without a warning, and true."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern
from drf_spectacular.drainage import GENERATOR_STATS

from smarter.apps.api.urls import urlpatterns

pytestmark = pytest.mark.django_db


@pytest.fixture
def document() -> dict[str, Any]:
    GENERATOR_STATS.reset()
    response = Client().get("/api/v1/openapi.json")
    assert response.status_code == 200
    read: dict[str, Any] = json.loads(response.content)
    return read


def test_no_warnings(document: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert GENERATOR_STATS._warn_cache == {}
    assert GENERATOR_STATS._error_cache == {}


def test_every_address_is_in_it(document: dict[str, Any]) -> None:
    ours = {
        "/api/v1/" + str(route.pattern).replace("<str:", "{").replace(">", "}")
        for route in urlpatterns
        if isinstance(route, URLPattern) and route.name != "openapi"
    }
    assert set(document["paths"]) == ours


def test_operations_tell_their_problems_and_their_key(document: dict[str, Any]) -> None:
    public = {"kinds", "kindSchema", "kindExample", "version"}
    seen = set()
    for operations in document["paths"].values():
        for method, operation in operations.items():
            seen.add(operation["operationId"])
            problems = {code for code in operation["responses"] if code[0] in "45"}
            assert {"400", "404", "503"} <= problems
            assert ("401" in problems) == (operation["operationId"] not in public), operation["operationId"]
            assert (method != "post") or {"409", "422"} <= problems
    assert seen >= public | {
        "apply",
        "list",
        "get",
        "delete",
        "deploy",
        "undeploy",
        "logs",
        "events",
        "objects",
        "plan",
    }
    assert document["components"]["securitySchemes"]["apiKey"]["scheme"] == "bearer"
    assert "Problem" in document["components"]["schemas"]


def test_references_lead_somewhere(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    names = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names and names <= set(document["components"]["schemas"])
