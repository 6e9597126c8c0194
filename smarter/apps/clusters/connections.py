"""Clients of clusters, one per process, cluster and version of its credentials. `services.client_for` is the door.

A client is made after a fork and never shared with the parent, because connection pools do not survive one.
"""

import ipaddress
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.utils import timezone
from pydantic import SecretStr

from smarter.apps.clusters.models import Cluster
from smarter.apps.secrets import services as secret_services
from smarter.cluster import port
from smarter.cluster.kubernetes import KubernetesCluster, connection_from_kubeconfig
from smarter.cluster.simulated import open_simulated
from smarter.core.errors import PermanentError, TemporaryError

Mark = tuple[Any, ...]

_lock = threading.Lock()
_clients: dict[tuple[int, UUID], tuple[Mark, port.Cluster]] = {}


def client_of(cluster: Cluster) -> port.Cluster:
    """The cached client while its credentials are the same, otherwise a new one."""
    mark = _MARKS[cluster.type](cluster)
    key = (os.getpid(), cluster.uid)
    with _lock:
        cached = _clients.get(key)
        if cached is not None and cached[0] == mark:
            return cached[1]
    client = _OPENERS[cluster.type](cluster)
    with _lock:
        replaced = _clients.get(key)
        _clients[key] = (mark, client)
    if replaced is not None:
        replaced[1].close()
    return client


def close_all() -> None:
    with _lock:
        clients = [client for _, client in _clients.values()]
        _clients.clear()
    for client in clients:
        client.close()


def check_kubeconfig(value: SecretStr, *, allow_loopback: bool) -> None:
    """PermanentError for credentials that cannot be used, above all such that would run a program or read a file.
    Loopback is where the service's own neighbours listen, so only the platform may have a cluster there."""
    connection = connection_from_kubeconfig(value.get_secret_value())
    if not allow_loopback and _is_loopback(urlsplit(connection.server).hostname or ""):
        raise PermanentError(
            "The cluster's address is this machine's own, which only the platform may use.", reason="Invalid"
        )


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host.rstrip(".").lower().endswith("localhost")
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def simulated_path(cluster: Cluster) -> Path:
    """One file for the platform's simulated cluster, which the command line shows too; one for each other."""
    path: Path = settings.SMARTER.simulated_path
    if cluster.account.is_platform:
        return path
    return path.with_name(f"{path.stem}-{cluster.uid}{path.suffix}")


def _kubernetes_mark(cluster: Cluster) -> Mark:
    rows = Cluster.for_account(cluster.account).filter(pk=cluster.pk)
    row = rows.values_list(
        "kubeconfig_secret__uid", "kubeconfig_secret__value_version", "kubeconfig_secret__expires_at"
    )
    found: Mark | None = row.first()
    if found is None or (found[2] is not None and found[2] <= timezone.now()):
        raise _no_credentials(cluster)
    return found


def _simulated_mark(cluster: Cluster) -> Mark:
    return (simulated_path(cluster),)


def _open_kubernetes(cluster: Cluster) -> port.Cluster:
    name = cluster.kubeconfig_secret.name
    fact = secret_services.use(cluster.account, [name], "cluster").get(name)
    if fact is None:
        raise _no_credentials(cluster)
    return KubernetesCluster(connection_from_kubeconfig(fact.value.get_secret_value()))


def _open_simulated(cluster: Cluster) -> port.Cluster:
    return open_simulated(simulated_path(cluster))


def _no_credentials(cluster: Cluster) -> TemporaryError:
    return TemporaryError(
        f"The Secret with the kubeconfig of the cluster {cluster.name!r} is missing or has expired. Apply it again.",
        reason="CredentialsInvalid",
        delay_seconds=30,
    )


_MARKS: dict[str, Callable[[Cluster], Mark]] = {"kubernetes": _kubernetes_mark, "simulated": _simulated_mark}
_OPENERS: dict[str, Callable[[Cluster], port.Cluster]] = {"kubernetes": _open_kubernetes, "simulated": _open_simulated}
