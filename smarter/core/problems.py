"""What is wrong with a manifest, as data.

Every layer that judges input returns a list of Problem, so that a caller hears all faults at once. The API turns
them into a problem document, the command line into lines of text.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault at one place. `code` is stable and meant for programs, `message` is for people and never holds a
    secret value. `path` is dotted (`spec.engine.args[2]`), empty for the whole document. `line` and `column` count
    from 1 in the text as sent; `document` counts from 0 in a stream of several."""

    code: str
    path: str
    message: str
    level: Level = "error"
    line: int | None = None
    column: int | None = None
    document: int = 0

    def in_document(self, index: int) -> "Problem":
        return replace(self, document=index)

    def as_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "path": self.path,
            "message": self.message,
            "line": self.line,
            "column": self.column,
            "document": self.document,
        }

    def __str__(self) -> str:
        place = f"line {self.line}, column {self.column}: " if self.line is not None else ""
        return f"{place}{self.path or 'document'}: {self.message}"


def warning(code: str, path: str, message: str) -> Problem:
    return Problem(code=code, path=path, message=message, level="warning")


def errors_of(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.level == "error"]


MOST_REMARKS = 64


def first_of_each_path(problems: Iterable[Problem]) -> list[Problem]:
    """Several rules often notice the same fault; one error and one warning for a field are enough."""
    kept: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        kept.setdefault((problem.level, problem.path) if problem.path else (problem.level, problem.message), problem)
    return list(kept.values())


def remarks(problems: Iterable[Problem]) -> list[dict[str, str]]:
    """The warnings as a status keeps them: what they say, without the place in a text that may be gone."""
    kept = first_of_each_path(warnings_of(problems))[:MOST_REMARKS]
    return [{"code": problem.code, "path": problem.path, "message": problem.message} for problem in kept]


def warnings_of(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.level == "warning"]
