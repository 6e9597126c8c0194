"""Shows what is being waited for: one live line on a terminal, plain lines in a log, nothing with --quiet.

Called by waiting.py. A log gets a line for each change of state, and a sign of life now and then, because runners end
jobs that stay silent.
"""

from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.status import Status
from rich.text import Text

from smarter.cli import output
from smarter.cli.durations import readable
from smarter.cli.text import one_line

SIGN_OF_LIFE_SECONDS = 30.0

Seen = tuple[str, str, str]
"""Label, state and message of one manifest."""


class Progress:
    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.states: dict[str, str] = {}
        self.spoke_at_seconds = 0.0
        self.live: Status | None = None
        if not quiet and output.is_terminal():
            self.live = Status("", console=Console(stderr=True, highlight=False, markup=False, emoji=False))

    def __enter__(self) -> "Progress":
        if self.live:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live:
            self.live.stop()

    def changed(self, label: str, state: str, message: str, waited_seconds: float) -> None:
        if self.quiet or self.states.get(label) == state:
            return
        self.states[label] = state
        self._line(standing(label, state, message), waited_seconds)

    def waiting(self, seen: Sequence[Seen], waited_seconds: float) -> None:
        if self.live:
            more = f" (and {len(seen) - 1} more)" if len(seen) > 1 else ""
            self.live.update(Text(f"{readable(waited_seconds)}  {standing(*seen[0])}{more}"))
        elif not self.quiet and waited_seconds - self.spoke_at_seconds >= SIGN_OF_LIFE_SECONDS:
            for one in seen:
                self._line(standing(*one), waited_seconds)

    def _line(self, text: str, waited_seconds: float) -> None:
        self.spoke_at_seconds = waited_seconds
        line = f"[{readable(waited_seconds):>5}] {text}"
        if self.live:
            # Through the same console, so that the live line moves down instead of being torn.
            self.live.console.print(Text(line), soft_wrap=True)
        else:
            output.note(line)


def standing(label: str, state: str, message: str) -> str:
    """`llmhost/x pending: no node has a free GPU`; a manifest may have no state yet, or no message."""
    parts = [one_line(part) for part in (state, message) if part]
    if not parts:
        return f"{one_line(label)} accepted"
    return f"{one_line(label)}{' ' if state else ': '}{': '.join(parts)}"
