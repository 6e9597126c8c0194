"""Follows manifests until they are what was asked for, will never be, or time runs out. `apply`, `deploy`, `delete` and
`wait` call it.

A deployed thing that stays in error for several polls has failed: whoever waits hears it then, not at the timeout.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from smarter.cli import answers, clock, exit_codes
from smarter.cli.client import json_of
from smarter.cli.durations import readable
from smarter.cli.failures import CommandFailed
from smarter.cli.kinds import KindInfo
from smarter.cli.progress import Progress, standing
from smarter.cli.session import Session
from smarter.cli.text import one_line

POLL_SECONDS = 2.0
"""As often as the server itself looks at a cluster where something is on its way."""
ERRORS_ARE_FINAL_AFTER = 3
"""Polls in a row. A pod that is replaced may look broken once."""
STALE_SECONDS = 20.0
"""An error of an older generation counts only after this time: the new one is about to be looked at."""
UNREACHABLE_SECONDS = 60.0
"""A server that restarts in between is no reason to give up."""

Verdict = Literal["reached", "pending", "failing"]


@dataclass(frozen=True)
class Goal:
    """`word` is active, inactive, deleted, or the type of a condition in lower case with `value` its wanted status."""

    word: str
    value: str = ""

    def __str__(self) -> str:
        return f"condition={self.word}={self.value}" if self.value else self.word


ACTIVE = Goal("active")
INACTIVE = Goal("inactive")
DELETED = Goal("deleted")


@dataclass
class Awaited:
    """One manifest on its way. `generation` is the least one whose state counts."""

    kind: KindInfo
    name: str
    generation: int = 0
    state: str = ""
    message: str = ""
    reached: bool = False
    errors: int = 0
    seen_at_seconds: float = 0.0
    manifest: answers.Json = field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"{self.kind.label}/{self.name}"


def judge(manifest: answers.Json | None, goal: Goal, generation: int) -> Verdict:
    """Where one manifest stands, None being one that does not exist. What was seen of a generation older than
    `generation` says nothing."""
    if manifest is None:
        return "reached" if goal == DELETED else "pending"
    current = answers.observed_generation_of(manifest) >= generation
    if goal.value:
        found = str(answers.condition(manifest, goal.word).get("status", "")).lower()
        return "reached" if current and found == goal.value.lower() else _otherwise(manifest, goal)
    if goal == ACTIVE and current and _is_active(manifest):
        return "reached"
    if goal == INACTIVE and current and answers.state_of(manifest) == "inactive":
        return "reached"
    return _otherwise(manifest, goal)


def _is_active(manifest: answers.Json) -> bool:
    ready = answers.condition(manifest, "Ready").get("status")
    return ready == "True" if ready else answers.state_of(manifest) == "active"


def _otherwise(manifest: answers.Json, goal: Goal) -> Verdict:
    hopes_for_health = goal == ACTIVE or (goal.word == "ready" and goal.value == "true")
    return "failing" if hopes_for_health and answers.state_of(manifest) == "error" else "pending"


def wait_for(session: Session, awaited: Sequence[Awaited], goal: Goal, timeout_seconds: float) -> None:
    """Returns when all have reached the goal; fails with TIMEOUT, FAILED, or NOT_FOUND for one that is deleted."""
    began = clock.now()
    with Progress(session.quiet) as progress:
        while True:
            for one in awaited:
                if not one.reached:
                    _look(session, one, goal, clock.now() - began)
                    progress.changed(one.label, one.state, one.message, clock.now() - began)
            waiting = [one for one in awaited if not one.reached]
            if not waiting:
                return
            left = timeout_seconds - (clock.now() - began)
            if left <= 0:
                raise _timeout(waiting, goal, timeout_seconds)
            progress.waiting([(one.label, one.state, one.message) for one in waiting], timeout_seconds - left)
            clock.sleep(min(POLL_SECONDS, left))


def _look(session: Session, one: Awaited, goal: Goal, waited_seconds: float) -> None:
    try:
        manifest = _read(session, one, goal)
    except CommandFailed as failure:
        lost_for = waited_seconds - one.seen_at_seconds
        if failure.exit_code not in (exit_codes.UNREACHABLE, exit_codes.FAULT) or lost_for >= UNREACHABLE_SECONDS:
            raise
        one.message = failure.message
        return
    one.seen_at_seconds = waited_seconds
    one.manifest = manifest or {}
    one.state = answers.state_of(one.manifest) or ("deleted" if manifest is None else "")
    one.message = answers.message_of(one.manifest)
    verdict = judge(manifest, goal, one.generation) if one.kind.deployable or goal != ACTIVE else "reached"
    one.reached = verdict == "reached"
    one.errors = one.errors + 1 if verdict == "failing" and _counts(one, waited_seconds) else 0
    if one.errors >= ERRORS_ARE_FINAL_AFTER:
        raise CommandFailed(exit_codes.FAILED, f"{one.label} failed: {one_line(one.message) or 'no reason given'}")


def _read(session: Session, one: Awaited, goal: Goal) -> answers.Json | None:
    try:
        answer = session.client.fetch(one.kind.item_path(one.name))
    except CommandFailed as failure:
        if failure.exit_code == exit_codes.NOT_FOUND and goal == DELETED:
            return None
        raise
    # Somebody may have applied a newer one meanwhile; then that is the one to wait for.
    one.generation = max(one.generation, answers.generation_in(answer.headers))
    manifest: answers.Json = json_of(answer)
    return manifest


def _counts(one: Awaited, waited_seconds: float) -> bool:
    return answers.observed_generation_of(one.manifest) >= one.generation or waited_seconds >= STALE_SECONDS


def _timeout(waiting: Sequence[Awaited], goal: Goal, timeout_seconds: float) -> CommandFailed:
    where = "; ".join(standing(one.label, one.state, one.message) for one in waiting)
    return CommandFailed(exit_codes.TIMEOUT, f"Not {goal} after {readable(timeout_seconds)}. {where}")
