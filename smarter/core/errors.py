"""The few exceptions that cross layers.

Work on a cluster fails in two ways only: it may go better later (TemporaryError), or it needs a person
(PermanentError). A request fails as Refused, which carries everything that the HTTP edge needs to answer.
"""

from collections.abc import Sequence

from smarter.core.problems import Problem


class TemporaryError(Exception):
    """Try again after `delay_seconds`. `reason` is a CamelCase word for a condition."""

    def __init__(self, message: str, *, reason: str = "Temporary", delay_seconds: float = 5.0) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.delay_seconds = delay_seconds


class PermanentError(Exception):
    """Trying again with the same input cannot help. `reason` is a CamelCase word for a condition."""

    def __init__(self, message: str, *, reason: str = "Permanent") -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason


class Refused(Exception):
    """A request that is answered with no. `status` is the HTTP status code, `code` is stable and meant for programs,
    `detail` is for people; `problems` name each fault."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        problems: Sequence[Problem] = (),
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.problems = tuple(problems)
        self.headers = dict(headers or {})
