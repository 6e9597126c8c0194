"""Secret values out of text that somebody else wrote, such as the log of a server that prints its own API key.

The logs that Smarter serves and the messages of a status go through it, with the values of the secrets that the
resource uses.
"""

from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import quote

from pydantic import SecretStr

from smarter.core.kind import Observation

MASK = "***"
SHORTEST = 6
"""Shorter values stand in every text by chance; as a key they protect nothing anyway."""
_SHORTEST_PART = 8
"""Of a value that was cut at the beginning or the end of a text."""


def mask_text(text: str, values: Iterable[SecretStr]) -> str:
    for plain in _forms(values):
        text = text.replace(plain, MASK)
        text = _without_cut_ends(text, plain)
    return text


def mask_observation(observation: Observation, values: Iterable[SecretStr]) -> Observation:
    known = list(values)
    if not known:
        return observation
    conditions = tuple(replace(one, message=mask_text(one.message, known)) for one in observation.conditions)
    message = mask_text(observation.message, known)
    status = {
        name: mask_text(value, known) if name == "message" and isinstance(value, str) else value
        for name, value in observation.status.items()
    }
    return replace(observation, message=message, status=status, conditions=conditions)


def _forms(values: Iterable[SecretStr]) -> list[str]:
    """As they are, without blanks around them, and as they stand in an address; the longest first."""
    found: set[str] = set()
    for value in values:
        plain = value.get_secret_value()
        found |= {plain, plain.strip(), quote(plain.strip(), safe="")}
        found |= {line.strip() for line in plain.splitlines()}
    return sorted((form for form in found if len(form) >= SHORTEST), key=len, reverse=True)


def _without_cut_ends(text: str, plain: str) -> str:
    """Texts are cut to a length, in the middle of a value too."""
    for size in range(len(plain) - 1, _SHORTEST_PART - 1, -1):
        head, tail = plain[:size], plain[-size:]
        text = text.replace(f"{head}…", f"{MASK}…")
        if text.endswith(head):
            text = text[:-size] + MASK
        if text.startswith(tail):
            text = MASK + text[size:]
    return text
