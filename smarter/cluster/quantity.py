"""Kubernetes quantities: parsed for arithmetic, and written the way a real API server writes them back.

The schema, the scheduler and admission of the simulated cluster call this.
"""

import re
from decimal import ROUND_UP, Decimal

_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:(Ki|Mi|Gi|Ti|Pi|Ei)|([numkMGTPE]?)|[eE]([+-]?\d+))")
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = (("E", 18), ("P", 15), ("T", 12), ("G", 9), ("M", 6), ("k", 3), ("", 0), ("m", -3), ("u", -6), ("n", -9))
_POWERS = dict(_DECIMAL)
_NANO = Decimal("1e-9")


def parse(value: object) -> Decimal | None:
    """None for text that is no quantity."""
    parts = _parts(value)
    return parts[0] if parts else None


def canonical(value: object) -> str | None:
    """`1000m` is `1`, `1024Mi` is `1Gi`, `0.5` is `500m`, `1000` is `1k`. None for text that is no quantity."""
    parts = _parts(value)
    if parts is None:
        return None
    number, style = parts
    if number == 0:
        return "0"
    if style == "binary" and abs(number) >= 1024:
        return _binary(number)
    if style == "exponent":
        return _exponent(number)
    return _decimal(number)


def millis(value: object) -> int:
    return int(((parse(value) or Decimal(0)) * 1000).to_integral_value(ROUND_UP))


def units(value: object) -> int:
    return int((parse(value) or Decimal(0)).to_integral_value(ROUND_UP))


def _parts(value: object) -> tuple[Decimal, str] | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    match = _QUANTITY.fullmatch(str(value))
    if match is None:
        return None
    number, binary, decimal, exponent = Decimal(match[1]), match[2], match[3], match[4]
    if binary:
        return number * 1024 ** (_BINARY.index(binary) + 1), "binary"
    if exponent:
        return number.scaleb(int(exponent)) if abs(int(exponent)) < 30 else Decimal(0), "exponent"
    return number.scaleb(_POWERS[decimal or ""]), "decimal"


def _binary(number: Decimal) -> str:
    whole, power = int(number.to_integral_value(ROUND_UP)), 0
    while whole % 1024 == 0 and power < len(_BINARY):
        whole, power = whole // 1024, power + 1
    return f"{whole}{_BINARY[power - 1] if power else ''}"


def _decimal(number: Decimal) -> str:
    number = number.quantize(_NANO, ROUND_UP)
    for suffix, power in _DECIMAL:
        scaled = number.scaleb(-power)
        if scaled == scaled.to_integral_value():
            return f"{int(scaled)}{suffix}"
    return str(number)


def _exponent(number: Decimal) -> str:
    for _, power in _DECIMAL:
        scaled = number.scaleb(-power)
        if scaled == scaled.to_integral_value():
            return f"{int(scaled)}e{power}" if power else str(int(scaled))
    return str(number)
