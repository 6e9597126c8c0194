"""Text that came from a server, a model or a log, made fit to be shown. Used wherever the command line prints.

Such text may hold terminal escape sequences: they are made visible, never obeyed. Nothing heavy is imported here,
because `smarter --help` imports it.
"""

import json
from typing import Any

from smarter.core.text_policy import FORBIDDEN


def safe(text: object) -> str:
    """Line feeds and tabs stay; every other control or reordering character is shown as an escape."""
    return FORBIDDEN.sub(lambda match: _escape(match.group()), str(text).replace("\r\n", "\n"))


def one_line(text: object) -> str:
    return " ".join(safe(text).split())


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def json_text(data: Any) -> str:
    """Characters that a terminal would obey are written as escapes of JSON, so the value stays the same."""
    text = json.dumps(data, indent=2, ensure_ascii=False)
    return FORBIDDEN.sub(lambda match: f"\\u{ord(match.group()):04x}", text) + "\n"


def money(amount: object, currency: str = "USD", digits: int = 4) -> str:
    """Amounts come as text, so that no digit is lost on the way."""
    if amount in (None, ""):
        return "-"
    try:
        number = f"{float(str(amount)):,.{digits}f}"
    except ValueError:
        return one_line(amount)
    return f"${number}" if currency == "USD" else f"{number} {one_line(currency)}"
