"""Query parameters and headers, strictly read: what is not understood is refused and never guessed."""

import re

from rest_framework.request import Request

from smarter.core.errors import Refused

_ETAG = re.compile(r'(?:W/)?"([0-9]{1,19})"|([0-9]{1,19}|\*)', re.ASCII)
_WORDS = {"true": True, "1": True, "false": False, "0": False, "": False}


def flag(request: Request, name: str) -> bool:
    text = request.query_params.get(name, "").lower()
    if text not in _WORDS:
        raise Refused(400, "bad_request", f"{name} is true or false.")
    return _WORDS[text]


def whole_number(request: Request, name: str, *, default: int, least: int, most: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and least <= int(text) <= most):
        raise Refused(400, "bad_request", f"{name} is a whole number from {least} to {most}.")
    return int(text)


def expected_version(request: Request) -> str | None:
    """The version in If-Match, without quotation marks; `*` for any. None where there is no such header. A version
    that was never given out cannot match, and is refused as what it is."""
    text = request.headers.get("If-Match")
    if text is None:
        return None
    match = _ETAG.fullmatch(text.strip())
    if not match:
        raise Refused(400, "bad_request", 'If-Match holds one version as the ETag gives it, such as "42", or *.')
    return match.group(1) or match.group(2)
