"""Spans of time as people write them (`90s`, `10m`, `1h30m`), and as they read them. Used by the commands that wait."""

import re

from smarter.cli.failures import bad_usage

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+\Z")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds_of(text: str) -> float:
    """A number without a unit is seconds."""
    cleaned = text.strip().lower()
    if re.fullmatch(r"\d+(?:\.\d+)?", cleaned):
        return float(cleaned)
    if not _WHOLE.match(cleaned):
        raise bad_usage(f"{text!r} is no span of time; write it like 90s, 10m or 1h30m.")
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(cleaned))


def readable(seconds: float) -> str:
    whole = round(seconds)
    if whole < 120:
        return f"{whole}s"
    if whole < 2 * 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 2 * 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d"
