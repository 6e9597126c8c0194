"""Which texts may stand in the arguments of a program: names of models, files and revisions.

No shell ever reads them, so nothing here guards against one; a leading hyphen would be read as a flag, and blanks or
control characters have no meaning in such names. Sources and kinds call this.
"""

import re

from smarter.core.problems import Problem

_PART = re.compile(r".*-(\d{5})-of-\d{5}\.[A-Za-z0-9]+", re.ASCII)
_WORD = re.compile(r"[^\s\"'`$;&|<>(){}\\*?!#\x00-\x1f\x7f]+")


def word_problem(text: str, path: str, *, code: str = "unsafe_text") -> Problem | None:
    if text.startswith("-"):
        return Problem(code, path, "This may not start with a hyphen: it would be read as a flag.")
    if not _WORD.fullmatch(text):
        return Problem(code, path, "This may not be empty, nor hold blanks, quotes or characters that shells read.")
    return None


def relative_path_problem(text: str, path: str, *, code: str = "unsafe_path") -> Problem | None:
    """For a path below a folder: it may not leave the folder."""
    fault = word_problem(text, path, code=code)
    if fault:
        return fault
    parts = text.split("/")
    if text.startswith("~") or "%" in text or any(part in ("", ".", "..") for part in parts):
        return Problem(code, path, "This must be a path below the model's folder: not absolute, without '.' or '..'.")
    return None


def file_problems(text: str, path: str) -> list[Problem]:
    """For a weights file below a repository: a safe path, and of a file in parts the first one."""
    found = [relative_path_problem(text, path)]
    part = _PART.fullmatch(text)
    if part and int(part[1]) != 1:
        words = "Name the first part of a file that is split, which ends in -00001-of- and the number of parts."
        found.append(Problem("shard", path, words))
    return [problem for problem in found if problem]
