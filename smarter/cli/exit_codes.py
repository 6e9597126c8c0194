"""The exit codes of `smarter`, which scripts rely on. Documented in docs/cli.md and at the end of `smarter --help`."""

OK = 0
FAULT = 1
"""A fault of Smarter's own, or of the server (5xx)."""
REFUSED = 2
"""A manifest that was refused, or a command that makes no sense."""
NOT_ALLOWED = 3
NOT_FOUND = 4
CONFLICT = 5
TIMEOUT = 6
FAILED = 7
"""What was waited for has failed and will not come up by itself."""
UNREACHABLE = 8

MEANINGS = {
    OK: "done",
    FAULT: "a fault of Smarter or of its server",
    REFUSED: "manifest refused, or bad usage",
    NOT_ALLOWED: "not logged in, or not allowed",
    NOT_FOUND: "not found",
    CONFLICT: "conflict with what is there",
    TIMEOUT: "time ran out while waiting",
    FAILED: "what was deployed has failed",
    UNREACHABLE: "the server cannot be reached",
}


def for_status(status: int) -> int:
    """The exit code for the HTTP status of a refusal."""
    if status in (401, 403):
        return NOT_ALLOWED
    if status in (404, 410):
        return NOT_FOUND
    if status in (402, 409, 412, 423, 428):
        return CONFLICT
    # 408 and 429 are not the request's fault: the same request is accepted later.
    return REFUSED if 400 <= status < 500 and status not in (408, 429) else FAULT
