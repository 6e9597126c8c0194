"""Kubernetes quantities (`3500m`, `24Gi`) as whole numbers and back, within bounds.

Used by the rules of the kinds, by placement and by cost. The grammar is narrower than that of Kubernetes: what
Kubernetes would round, sign or read in a surprising way is refused with words that say what to write instead.
Every function raises ValueError with a message for people; the message never repeats the input.
"""

import re
from fractions import Fraction

# No node sold today has a quarter of this. The bounds keep sums inside 64 bits.
MAX_CPU_MILLIS = 10_000 * 1000
MAX_BYTES = 2**50

_QUANTITY = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,9}))?(?:([eE]\+?[0-9]{1,2})|([a-zA-Z]{1,2}))?\Z", re.ASCII)
_MAX_LENGTH = 32
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}


def parse_cpu_millis(text: str, *, maximum: int = MAX_CPU_MILLIS) -> int:
    """Thousandths of a core: `2` is 2000, `0.5` and `500m` are 500."""
    number, suffix = _split(text)
    if suffix not in ("", "m"):
        raise ValueError("a CPU amount is a number of cores such as 2 or 0.5, or of thousandths such as 500m")
    millis = number if suffix == "m" else number * 1000
    if millis.denominator != 1:
        raise ValueError("a CPU amount cannot be finer than one thousandth of a core (1m)")
    if millis > maximum:
        raise ValueError(f"this CPU amount is more than {format_cpu(maximum)} cores")
    return int(millis)


def parse_bytes(text: str, *, maximum: int = MAX_BYTES) -> int:
    """Bytes, rounded up where a fraction such as `0.1Gi` does not give a whole number."""
    number, suffix = _split(text)
    if suffix in ("m", "u", "n"):
        raise ValueError("an amount of bytes cannot use m, u or n, which mean fractions; write M or Mi for millions")
    factor = _BINARY.get(suffix) or _DECIMAL.get(suffix) or (1 if suffix == "" else None)
    if factor is None:
        raise ValueError("this unit is not known; units are k, M, G, T, P and Ki, Mi, Gi, Ti, Pi, as in 24Gi")
    amount = -(-number * factor // 1)
    if amount > maximum:
        raise ValueError(f"this amount is more than {format_bytes(maximum)}")
    return int(amount)


def _split(text: str) -> tuple[Fraction, str]:
    """The number and its suffix; an exponent is already multiplied in."""
    match = _QUANTITY.match(text) if len(text) <= _MAX_LENGTH else None
    if not match:
        raise ValueError("this is not a quantity such as 24Gi, 500m or 2; signs, blanks and a leading dot are not read")
    whole, fraction, exponent, suffix = match.groups()
    number = Fraction(f"{whole}.{fraction}" if fraction else whole)
    if exponent:
        number *= 10 ** int(exponent[1:])
    return number, suffix or ""


def format_bytes(amount: int) -> str:
    """The shortest exact spelling for Kubernetes: `24Gi`, or plain bytes where no binary unit divides."""
    for suffix, factor in reversed(_BINARY.items()):
        if amount and amount % factor == 0:
            return f"{amount // factor}{suffix}"
    return str(amount)


def format_cpu(millis: int) -> str:
    """`4` for whole cores, `3500m` otherwise."""
    return f"{millis}m" if millis % 1000 else str(millis // 1000)


def gigabytes(amount: int) -> str:
    """Decimal ones, as places that models come from count: `16.4`, or `0.05` where one decimal would say nothing."""
    return f"{amount / 10**9:.1f}" if amount >= 10**8 or amount == 0 else f"{amount / 10**9:.2g}"


def readable_bytes(amount: int) -> str:
    """For people, rounded to one decimal: `23.6 GiB`."""
    for suffix, factor in reversed(_BINARY.items()):
        if amount >= factor:
            return f"{amount / factor:.1f} {suffix}B"
    return f"{amount} B"


_ANY_QUANTITY = re.compile(r"(\d{0,30}(?:\.\d{0,30})?)(?:([eE][+-]?\d{1,2})|([KMGTPE]i|[numkMGTPE]))?", re.ASCII)
_SMALL = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000)}


def parse_amount(text: object) -> Fraction | None:
    """A quantity as others write it into Kubernetes objects, in whole units, whatever it counts. None for what is none:
    this is for looking at clusters, not for judging manifests."""
    match = _ANY_QUANTITY.fullmatch(str(text))
    if match is None or not match[1].strip("."):
        return None
    number, exponent, suffix = Fraction(match[1]), match[2], match[3] or ""
    if exponent:
        return number * Fraction(10) ** int(exponent[1:])
    return number * Fraction(_BINARY.get(suffix) or _DECIMAL.get(suffix) or _SMALL.get(suffix) or 1)
