"""The simulated API server's ways to say no, as the same `Status` answers that a real one sends."""

from collections.abc import Sequence
from typing import Any

from smarter.cluster import answers


def invalid(what: str, faults: Sequence[str], *, quiet: bool = False) -> answers.Failure:
    causes = [{"field": fault.partition(":")[0].lstrip("."), "message": fault.partition(": ")[2]} for fault in faults]
    message = f"{what} is invalid: " + ", ".join(fault.lstrip(".") for fault in faults)
    return _failure(422, "Invalid", message, what, quiet=quiet, causes=causes)


def malformed(what: str, faults: Sequence[str], *, quiet: bool = False) -> answers.Failure:
    message = "failed to create typed patch object: " + "; ".join(faults)
    causes = [{"field": fault.partition(":")[0].lstrip("."), "message": fault.partition(": ")[2]} for fault in faults]
    return _failure(500, "InternalError", message, what, quiet=quiet, causes=causes)


def forbidden(what: str, message: str) -> answers.Failure:
    return _failure(403, "Forbidden", f"{what} is forbidden: {message}", what)


def namespace_leaving(what: str, namespace: str) -> answers.Failure:
    causes = [{"reason": "NamespaceTerminating", "field": "metadata.namespace", "message": namespace}]
    message = f"unable to create new content in namespace {namespace} because it is being terminated"
    return _failure(403, "Forbidden", message, what, causes=causes)


def namespace_missing(what: str, namespace: str) -> answers.Failure:
    return _failure(404, "NotFound", f'namespaces "{namespace}" not found', what, name=namespace, kind="namespaces")


def kind_missing(what: str) -> answers.Failure:
    return _failure(404, "NotFound", "the server could not find the requested resource", what)


def conflict(what: str, managers: Sequence[str], fields: Sequence[str]) -> answers.Failure:
    causes = [{"reason": "FieldManagerConflict", "field": field, "message": "conflict"} for field in fields]
    listed = ", ".join(f'"{manager}"' for manager in managers)
    message = f"Apply failed with {len(fields)} conflict(s): conflicts with {listed}: " + ", ".join(fields)
    return _failure(409, "Conflict", message, what, causes=causes)


def bad_request(what: str, message: str) -> answers.Failure:
    return _failure(400, "BadRequest", message, what)


def _failure(
    code: int, reason: str, message: str, what: str, *, quiet: bool = False, **details: Any
) -> answers.Failure:
    return answers.failure_for(code, answers.status_body(code, reason, message, **details), what=what, quiet=quiet)
