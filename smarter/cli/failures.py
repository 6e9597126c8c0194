"""A command that cannot go on, as an exception. Every command raises it; lazy.py prints it and sets the exit code."""

from collections.abc import Mapping
from typing import Any

from smarter.cli import exit_codes


class CommandFailed(Exception):
    """`problem` is the problem document for `-o json`; one is made of the message where the server sent none."""

    def __init__(self, exit_code: int, message: str, problem: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.message = message
        self.problem: dict[str, Any] = dict(problem) if problem else {"code": _CODES[exit_code], "detail": message}


_CODES = {
    exit_codes.FAULT: "fault",
    exit_codes.REFUSED: "bad_usage",
    exit_codes.NOT_ALLOWED: "not_allowed",
    exit_codes.NOT_FOUND: "not_found",
    exit_codes.CONFLICT: "conflict",
    exit_codes.TIMEOUT: "timeout",
    exit_codes.FAILED: "failed",
    exit_codes.UNREACHABLE: "unreachable",
}


def bad_usage(message: str) -> CommandFailed:
    return CommandFailed(exit_codes.REFUSED, message)
