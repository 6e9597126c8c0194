"""A kubeconfig read as data: where the server is, whom to trust, how to say who we are. Nothing in it is ever run,
opened or followed: what would be (exec, auth-provider, file paths, a proxy) is a problem.

`kubernetes.py` connects with the result; `apps/clusters` reads one when it is uploaded.
"""

import base64
import binascii
import ipaddress
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import yaml
from pydantic import SecretStr

from smarter.core.problems import Problem

_SIZE_LIMIT = 256 * 1024
_TOP_KEYS = {"apiVersion", "kind", "clusters", "users", "contexts", "current-context", "preferences", "extensions"}
_CLUSTER_KEYS = {"server", "certificate-authority-data", "tls-server-name", "disable-compression", "extensions"}
_USER_KEYS = {"token", "client-certificate-data", "client-key-data", "extensions"}
_CONTEXT_KEYS = {"cluster", "user", "namespace", "extensions"}
_INSTEAD = {
    "exec": "runs a program; give the token of a ServiceAccount instead",
    "auth-provider": "runs a sign-in; give the token of a ServiceAccount instead",
    "certificate-authority": "is a path; put the certificate itself into certificate-authority-data",
    "client-certificate": "is a path; put the certificate itself into client-certificate-data",
    "client-key": "is a path; put the key itself into client-key-data",
    "tokenFile": "is a path; put the token itself into token",
    "proxy-url": "is not followed; the cluster must be reachable directly",
    "insecure-skip-tls-verify": "would trust anybody; give certificate-authority-data instead",
    "username": "and password are no longer accepted by Kubernetes; give a token",
    "password": "and username are no longer accepted by Kubernetes; give a token",
}
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")


@dataclass(frozen=True, slots=True)
class Connection:
    """All that a client needs. Certificates are PEM text; the secret ones never show in a repr."""

    server: str
    certificate_authority: str = field(default="", repr=False)
    server_name: str = ""
    token: SecretStr | None = None
    client_certificate: str = field(default="", repr=False)
    client_key: SecretStr | None = None


def read_kubeconfig(text: str, *, allow_plain_loopback: bool = False) -> tuple[Connection | None, list[Problem]]:
    """`allow_plain_loopback` lets `http://127.0.0.1` pass, for tests with a server of their own."""
    config, problems = _load(text)
    if config is None:
        return None, problems
    problems += _unknown(config, _TOP_KEYS, "")
    context = _entry(config, "contexts", "context", config.get("current-context"), problems)
    problems += _unknown(context, _CONTEXT_KEYS, "contexts.context")
    cluster = _entry(config, "clusters", "cluster", context.get("cluster"), problems)
    user = _entry(config, "users", "user", context.get("user"), problems)
    if problems:
        return None, problems
    problems += _unknown(cluster, _CLUSTER_KEYS, "clusters.cluster")
    problems += _unknown(user, _USER_KEYS, "users.user")
    problems += _server_problems(cluster.get("server"), allow_plain_loopback)
    authority = _certificate(cluster, "certificate-authority-data", "clusters.cluster", problems)
    if not authority and str(cluster.get("server", "")).startswith("https:"):
        message = "the certificate of the cluster's authority is needed"
        problems.append(Problem("missing", "clusters.cluster.certificate-authority-data", message))
    connection = _with_user(cluster, user, authority, problems)
    return (None, problems) if problems else (connection, [])


def _load(text: str) -> tuple[dict[str, Any] | None, list[Problem]]:
    if len(text) > _SIZE_LIMIT:
        return None, [Problem("too_large", "", f"a kubeconfig may have {_SIZE_LIMIT} characters")]
    try:
        config = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        # The error's own words quote the text, which holds credentials.
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        return None, [Problem("syntax", "", "this is not YAML", line=line, column=column)]
    except (yaml.YAMLError, ValueError, RecursionError):
        return None, [Problem("syntax", "", "this is not YAML")]
    if not isinstance(config, dict):
        return None, [Problem("type", "", "a kubeconfig is a map")]
    return config, []


def _entry(config: Mapping[str, Any], group: str, inner: str, name: Any, problems: list[Problem]) -> dict[str, Any]:
    """The content of the entry with that name."""
    entries = config.get(group)
    if not isinstance(entries, list) or not name:
        problems.append(Problem("missing", group, f"no {inner} is named, or there is none"))
        return {}
    for entry in entries:
        if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(inner), dict):
            found: dict[str, Any] = entry[inner]
            return found
    problems.append(Problem("missing", group, f"the {inner} that is referred to is not there"))
    return {}


def _unknown(entry: Mapping[Any, Any], known: set[str], path: str) -> list[Problem]:
    problems = []
    for key, value in entry.items():
        if key in known or (key == "insecure-skip-tls-verify" and value is False):
            continue
        place = f"{path}.{key}" if path else str(key)
        problems.append(Problem("refused", place[:200], f"{key} {_INSTEAD.get(str(key), 'is not known')}"[:300]))
    return problems


def _server_problems(server: Any, allow_plain_loopback: bool) -> list[Problem]:
    path = "clusters.cluster.server"
    if not isinstance(server, str) or not server:
        return [Problem("missing", path, "the address of the cluster is needed")]
    try:
        parts = urlsplit(server)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return [Problem("format", path, "this is no address")]
    address = _address(host)
    loopback = address.is_loopback if address is not None else host == "localhost"
    if parts.scheme != "https" and not (parts.scheme == "http" and loopback and allow_plain_loopback):
        return [Problem("refused", path, "the address must begin with https://")]
    if parts.username or parts.password or parts.query or parts.fragment or port == 0:
        return [Problem("format", path, "an address has a host, a port and a path, and nothing else")]
    if address is None and not _HOST_NAME.fullmatch(host):
        return [Problem("format", path, "this host is no name and no address")]
    if address is not None and (address.is_link_local or address.is_multicast or address.is_unspecified):
        return [Problem("refused", path, "no cluster lives at a link-local, multicast or unspecified address")]
    return []


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address


def _with_user(
    cluster: Mapping[str, Any], user: Mapping[str, Any], authority: str, problems: list[Problem]
) -> Connection:
    token = user.get("token")
    certificate = _certificate(user, "client-certificate-data", "users.user", problems)
    key = _decoded(user, "client-key-data", "users.user", problems)
    if token is not None and (not isinstance(token, str) or not _TOKEN.fullmatch(token)):
        problems.append(Problem("format", "users.user.token", "a token is printable text without spaces"))
    if bool(certificate) != bool(key):
        problems.append(Problem("missing", "users.user", "a client certificate and its key belong together"))
    if not token and not certificate:
        problems.append(Problem("missing", "users.user", "a token, or a client certificate with its key, is needed"))
    server_name = cluster.get("tls-server-name") or ""
    if not isinstance(server_name, str) or (server_name and not _HOST_NAME.fullmatch(server_name)):
        problems.append(Problem("format", "clusters.cluster.tls-server-name", "this is no host name"))
    return Connection(
        server=str(cluster.get("server", "")).rstrip("/"),
        certificate_authority=authority,
        server_name=str(server_name),
        token=SecretStr(str(token)) if token else None,
        client_certificate=certificate,
        client_key=SecretStr(key) if key else None,
    )


def _decoded(entry: Mapping[str, Any], key: str, path: str, problems: list[Problem]) -> str:
    value = entry.get(key)
    if value in (None, ""):
        return ""
    try:
        text = base64.b64decode("".join(str(value).split()), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        text = ""
    if "-----BEGIN " not in text:
        problems.append(Problem("format", f"{path}.{key}", "this is no PEM text in base64"))
        return ""
    return text


def _certificate(entry: Mapping[str, Any], key: str, path: str, problems: list[Problem]) -> str:
    text = _decoded(entry, key, path, problems)
    if not text:
        return ""
    try:
        ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError):
        problems.append(Problem("format", f"{path}.{key}", "this is no certificate"))
        return ""
    return text
