"""Which network addresses the fetch may talk to.

A manifest names the address, the pod runs inside a cluster: without this check it would read the cloud's metadata
service or a neighbour's port for its owner. The caller connects to the very address that was checked, so that a name
that answers differently the second time gains nothing.
"""

import ipaddress
import socket

from smarter.fetch.errors import Broken, FetchError

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Metadata services that do not live in a link-local network: Amazon over IPv6, Alibaba, Oracle.
_METADATA = {ipaddress.ip_address(text) for text in ("fd00:ec2::254", "100.100.100.200", "192.0.0.192")}


def plain_address(address: IpAddress) -> IpAddress:
    """The IPv4 address inside an IPv6 one that only wraps it."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped:
        return address.ipv4_mapped
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def is_allowed(address: IpAddress, *, allow_private: bool) -> bool:
    """Public addresses; with `allow_private` also private and loopback ones. Never link-local or metadata."""
    inner = plain_address(address)
    if inner.is_link_local or inner.is_multicast or inner.is_unspecified or inner in _METADATA:
        return False
    if isinstance(inner, ipaddress.IPv6Address) and (inner.sixtofour or inner.teredo):
        return False
    if inner.is_private or inner.is_loopback:
        return allow_private
    return inner.is_global


def checked_addresses(host: str, port: int, *, allow_private: bool) -> list[str]:
    """The addresses of a host, in the resolver's order. One forbidden address among them refuses the host."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror:
        raise Broken("unreachable", f"the name {host} cannot be resolved") from None
    except (UnicodeError, ValueError):
        raise FetchError("bad_url", "the address has no valid host name") from None
    texts = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    for text in texts:
        if not is_allowed(ipaddress.ip_address(text.partition("%")[0]), allow_private=allow_private):
            raise FetchError("forbidden_address", f"{host} leads to an address inside a private or reserved network")
    return texts
