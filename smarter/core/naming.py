"""Names: what a manifest may be called, and what its children are called in a cluster.

One function names all children, so a limit is known in one place. Cluster names are a pure function of the uids of the
account and the resource: a create whose answer was lost is found again, and a name that is used again never meets the
objects of its predecessor.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass

from smarter.core.problems import Problem

SLUG_LENGTH = 40
HASH_LENGTH = 10


@dataclass(frozen=True, slots=True)
class NameRule:
    pattern: re.Pattern[str]
    max_length: int
    words: str
    suggest: Callable[[str], str]

    def problem(self, name: str, path: str = "metadata.name") -> Problem | None:
        """None for a good name; otherwise the fault, with a spelling that would be accepted where there is one."""
        if len(name) <= self.max_length and self.pattern.fullmatch(name):
            return None
        suggestion = self.suggest(name)
        hint = f" Try {suggestion!r}." if suggestion and suggestion != name else ""
        return Problem("name", path, f"A name has {self.words}, at most {self.max_length} characters.{hint}")


def _snake(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name[:200].lower()).strip("_")[:50].strip("_")


def _kebab(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name[:200].lower()).strip("-")[:63].strip("-")


SAM_NAMES = NameRule(
    re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*"), 50, "lower case letters and digits, joined by single underscores", _snake
)
DNS_LABELS = NameRule(
    re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"), 63, "lower case letters, digits and inner hyphens", _kebab
)


def object_name(prefix: str, name: str, account_uid: str, resource_uid: str) -> str:
    """The base name of all children in the cluster: a DNS label of at most 54 characters that starts with a letter,
    so that a suffix of 9 characters still fits. `prefix` is the kind's, 2 letters."""
    digest = hashlib.sha256(f"{account_uid}/{resource_uid}".encode()).hexdigest()[:HASH_LENGTH]
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower())[:SLUG_LENGTH].strip("-")
    return f"{prefix}-{slug}-{digest}" if slug else f"{prefix}-{digest}"


def namespace(account_number: str) -> str:
    return f"smarter-{account_number}"


def hostname(name: str, plural_label: str, account_number: str, api_domain: str) -> str:
    """`<name>.llmhost.<account number>.<domain>`, with one label for the name."""
    return f"{name.replace('_', '-')}.{plural_label}.{account_number}.{api_domain}"
