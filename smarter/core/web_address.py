"""Which hosts are plainly not public, from their names alone. Sources call this when a manifest is applied; the fetch
program looks at the addresses behind a name when it connects."""

import ipaddress
import re

_HOST = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]", re.ASCII)
_PRIVATE_ZONES = ("local", "localhost", "internal", "intranet", "lan", "corp", "home", "svc", "arpa", "test", "invalid")


def public_host_fault(host: str) -> str | None:
    """What is wrong with a host, in words; None for a public one. `host` is in lower case, as `urlsplit` answers."""
    try:
        return None if ipaddress.ip_address(host).is_global else "This address is not a public one."
    except ValueError:
        pass
    if not _HOST.fullmatch(host):
        return "The host of the address must be a public name such as example.com."
    if host.rpartition(".")[2] in _PRIVATE_ZONES or ".svc." in host:
        return "The host of the address is not a public one."
    return None
