"""What the OpenAPI document says beyond what the framework can see: parameters, answers, problem documents.

Views name these constants, `urls.py` serves DocumentView.
"""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from drf_spectacular.views import SpectacularJSONAPIView


def _query(name: str, kind: Any, description: str, **more: Any) -> OpenApiParameter:
    return OpenApiParameter(name, kind, OpenApiParameter.QUERY, description=description, **more)


def _path(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(name, str, OpenApiParameter.PATH, description=description)


PLURAL = _path("plural", "The kind, such as `llmhosts`; with its group where that is ambiguous: `models.example.io`.")
NAME = _path("name", "The manifest's metadata.name.")
KIND = _path("kind", "The kind by name or plural, in any case, with or without its group.")
DRY_RUN = _query("dryRun", bool, "Store nothing; answer what would be done and what it would cost.")
DEPLOY = _query("deploy", bool, "Also run what can be deployed.")
FORCE = _query(
    "force",
    bool,
    "Remove the record without the cluster's word that everything is gone. For platform administrators, when the "
    "cluster is gone for good; `remains` says what may be left there.",
)
LIMIT = _query("limit", int, "At most so many items, 1 to 500.", default=100)
OFFSET = _query("offset", int, "Leave out so many items.", default=0)
NAME_FILTER = _query("name", str, "Only manifests whose name has this part.")
SORT = _query("sort", str, "`name`, `created` or `modified`; with `-` in front, the other way round.", default="name")
POD = _query("pod", str, "One of the pods; by default a running one.")
CONTAINER = _query("container", str, "One of the pod's containers; by default the first.")
TAIL_LINES = _query("tailLines", int, "So many lines from the end, 1 to 5000.", default=200)
PREVIOUS = _query("previous", bool, "Of the container's last run, before it was restarted.")
IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description="The ETag that was read; 412 if it has changed since."
)


def _object(properties: dict[str, Any], description: str = "") -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "description": description}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _answer(schema: dict[str, Any], description: str = "") -> OpenApiResponse:
    return OpenApiResponse(response=schema, description=description)


_TEXT: dict[str, Any] = {"type": "string"}
_TEXT_OR_NULL: dict[str, Any] = {"type": "string", "nullable": True}
_NUMBER: dict[str, Any] = {"type": "integer"}
_FLAG: dict[str, Any] = {"type": "boolean"}
_FREE: dict[str, Any] = {"type": "object", "additionalProperties": True}
_FAULT = _object(
    {
        "code": _TEXT,
        "path": _TEXT,
        "message": _TEXT,
        "line": {"type": "integer", "nullable": True},
        "column": {"type": "integer", "nullable": True},
        "document": _NUMBER,
    }
)
_MANIFEST = _object(
    {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _FREE, "spec": _FREE, "status": _FREE},
    "A manifest in the form of its kind; /api/v1/kinds/{kind}/schema has the details.",
)
_OBJECT_NAME = _object({"apiVersion": _TEXT, "kind": _TEXT, "namespace": _TEXT, "name": _TEXT})
_PLAN_OF_DOCUMENT: dict[str, Any] = {
    "type": "object",
    "description": "Only in the answer of a dry run.",
    "properties": {
        "fields": _list(_object({"path": _TEXT, "before": {}, "after": {}})),
        "objects": _object({key: _list(_OBJECT_NAME) for key in ("created", "changed", "deleted", "restarts")}),
        "memory": {**_FREE, "nullable": True},
    },
}
_OUTCOME: dict[str, Any] = {
    "type": "object",
    "properties": {
        "document": _NUMBER,
        "apiVersion": _TEXT,
        "kind": _TEXT,
        "name": _TEXT,
        "action": {"type": "string", "enum": ["created", "changed", "unchanged"]},
        "uid": _TEXT,
        "generation": _NUMBER,
        "resourceVersion": _TEXT,
        "deployed": _FLAG,
        "warnings": _list(_FAULT),
        "compute": _TEXT_OR_NULL,
        "instanceType": _TEXT,
        "replicas": _NUMBER,
        "nodeShare": _TEXT,
        "pricePerHour": _TEXT_OR_NULL,
        "pricePerMonth": _TEXT_OR_NULL,
        "currency": _TEXT_OR_NULL,
        "reveal": {**_FREE, "description": "Values that are shown this once, such as a new API key."},
        "plan": _PLAN_OF_DOCUMENT,
    },
    "required": [
        "document", "apiVersion", "kind", "name", "action", "uid", "generation", "resourceVersion", "deployed",
        "warnings", "compute", "pricePerHour", "pricePerMonth", "currency",
    ],
}  # fmt: skip

MANIFEST_BODY = {"application/yaml": _TEXT, "application/json": _MANIFEST}
_COLUMN = _object({"title": _TEXT, "path": _TEXT})
_KIND = _object(
    {
        "apiVersion": _TEXT,
        "kind": _TEXT,
        "plural": _TEXT,
        "group": _TEXT,
        "summary": _TEXT,
        "writer": _TEXT,
        "shared": _FLAG,
        "deployable": _FLAG,
        "columns": _list(_COLUMN),
    }
)
_CHANGE = _object(
    {"action": _TEXT, "apiVersion": _TEXT, "kind": _TEXT, "namespace": _TEXT, "name": _TEXT, "reason": _TEXT}
)

APPLY_RESULT = {200: _answer(_object({"dryRun": _FLAG, "results": _list(_OUTCOME)}), "One result per document.")}
MANIFEST = {200: _answer(_MANIFEST, "The ETag header has its version.")}
MANIFEST_LIST = {
    200: _answer(
        _object(
            {
                "total": _NUMBER,
                "limit": _NUMBER,
                "offset": _NUMBER,
                "columns": _list(_COLUMN),
                "items": _list(_MANIFEST),
            }
        )
    )
}
_STATE = _object({"kind": _TEXT, "name": _TEXT, "state": {"type": "string", "enum": ["deleted", "deleting"]}})
DELETED = {200: _answer(_STATE, "It is gone."), 202: _answer(_STATE, "Its objects are leaving the cluster.")}
LOGS = {200: _answer(_object({"pod": _TEXT, "container": _TEXT, "pods": _list(_TEXT), "logs": _TEXT}))}
_EVENT = _object({"at": _TEXT, "type": _TEXT, "reason": _TEXT, "message": _TEXT, "uid": _TEXT})
EVENTS = {200: _answer(_object({"items": _list(_EVENT)}))}
OBJECTS = {
    200: _answer(
        _object(
            {
                "rendered": _list(_FREE),
                "live": _list(_FREE),
                "cluster": _object({"answered": _FLAG, "message": _TEXT}),
            }
        )
    )
}
PLAN = {
    200: _answer(
        _object(
            {
                "changes": _list(_CHANGE),
                "held": _list(_CHANGE),
                "unchanged": _NUMBER,
                "keptVolumes": _list(_OBJECT_NAME),
            }
        )
    )
}
KINDS = {200: _answer(_object({"items": _list(_KIND)}))}
FREE_OBJECT = {200: _answer(_FREE)}
EXAMPLE = {
    (200, "application/yaml"): _answer(_TEXT, "With comments, as YAML."),
    (200, "application/json"): _answer(_MANIFEST),
}
VERSION = {200: _answer(_object({"version": _TEXT, "api": _TEXT, "apiVersions": _list(_TEXT)}))}
WHOAMI = {
    200: _answer(
        _object(
            {
                "username": _TEXT,
                "email": _TEXT,
                "account": _object({"number": _TEXT, "companyName": _TEXT}),
                "role": _TEXT,
                "isPlatformAdmin": _FLAG,
                "keyId": _TEXT_OR_NULL,
                "scopes": _list(_TEXT),
                "apiDomain": _TEXT,
            }
        )
    )
}

_PROBLEM = _object(
    {
        "type": _TEXT,
        "title": _TEXT,
        "status": _NUMBER,
        "code": {"type": "string", "description": "Stable, for programs."},
        "detail": {"type": "string", "description": "For people."},
        "requestId": _TEXT,
        "errors": _list({"$ref": "#/components/schemas/Fault"}),
    },
    "An RFC 9457 problem document.",
)
_PROBLEMS = {
    "400": "The request or the text of its body cannot be understood.",
    "401": "There is no valid API key.",
    "403": "The role or the key's scope does not allow it.",
    "404": "There is no such thing, or it belongs to another account.",
    "405": "This address does not take this method.",
    "406": "Answers are JSON or YAML.",
    "409": "The state does not allow it: being deleted, in use, or taken.",
    "412": "If-Match names another version.",
    "413": "The body is too large.",
    "415": "The body is compressed.",
    "422": "The manifest is not accepted; `errors` lists every fault with its place.",
    "429": "Too many requests; Retry-After says when to come back.",
    "502": "The cluster refuses.",
    "503": "The database or the cluster does not answer; Retry-After says when to try again.",
}
_EVERYWHERE = ("400", "404", "405", "406", "429", "503")
_WITH_KEY = ("401", "403")
_OF_METHOD = {
    "post": ("409", "412", "413", "415", "422"),
    "delete": ("409", "412"),
    "get": ("409", "502"),
}


def add_problems(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """A postprocessing hook: every operation tells which problem documents it may answer."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas["Fault"], schemas["Problem"] = _FAULT, _PROBLEM
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for operations in result["paths"].values():
        for method, operation in operations.items():
            codes = {*_EVERYWHERE, *_OF_METHOD.get(method, ())}
            if operation.get("security"):
                codes.update(_WITH_KEY)
            for code in sorted(codes):
                operation["responses"].setdefault(code, {"description": _PROBLEMS[code], "content": content})
    return result


@extend_schema(exclude=True)
class DocumentView(SpectacularJSONAPIView):
    """The OpenAPI document, for all: it holds nothing of any account."""

    authentication_classes = ()
    permission_classes = ()
    custom_settings = {"POSTPROCESSING_HOOKS": [f"{__name__}.{add_problems.__name__}"], "SCHEMA_PATH_PREFIX": "/api/v1"}
