"""Which cluster an account's workloads run on, how to reach it, and what is known of it.

`apps/resources` chooses a cluster here, `apps/reconcile` gets its client and keeps the rows fresh.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from pydantic import SecretStr

from smarter.apps.accounts.models import Account, User
from smarter.apps.clusters import connections
from smarter.apps.clusters.models import AccountNamespace, Cluster
from smarter.apps.secrets import services as secret_services
from smarter.cluster import port
from smarter.core.errors import PermanentError, Refused, TemporaryError
from smarter.core.facts import Environment

MAX_MESSAGE = 2048
MAX_LABEL_SETS = 200
_OF_ONE_NODE = frozenset({"kubernetes.io/hostname", "topology.kubernetes.io/zone"})


def client_for(cluster: Cluster) -> port.Cluster:
    """TemporaryError or PermanentError where there are no usable credentials. Makes no request to the cluster."""
    return connections.client_of(cluster)


def choose(account: Account) -> Cluster | None:
    """The account's own default, or else the platform's."""
    usable = Q(account=account) | Q(account__is_platform=True)
    defaults = Cluster.all_accounts.filter(usable, is_default=True).select_related("account")
    return max(defaults, key=lambda cluster: cluster.account_id == account.pk, default=None)


def environment_for(cluster: Cluster | None) -> Environment:
    """The cluster's own names where its manifest gives them, otherwise the platform's."""
    spec, platform = cluster.spec if cluster else {}, settings.SMARTER
    return Environment(
        api_domain=spec.get("apiDomain") or platform.api_domain,
        fetch_image=platform.fetch_image,
        hub_url=platform.hub_url.rstrip("/"),
        registry_url=platform.registry_url.rstrip("/"),
        trusted_sources=platform.trusted_sources,
        service_accounts=tuple(name.strip() for name in platform.service_accounts.split(",") if name.strip()),
        ingress_class=spec.get("ingressClass") or platform.ingress_class,
        ingress_namespace=platform.ingress_namespace,
        cluster_issuer=spec.get("clusterIssuer") or platform.cluster_issuer,
        storage_class=spec.get("storageClass") or None,
        asking_namespace=platform.answer_check_namespace if cluster and is_asked(cluster) else "",
    )


def is_asked(cluster: Cluster) -> bool:
    """Whether the workers can reach the Services there, and ask servers for a token now and then. Clusters of the
    platform alone: at one that a tenant registered, the tenant says where its Services are."""
    return cluster.account.is_platform and cluster.name in settings.SMARTER.answer_check_names


def features_of(cluster: Cluster) -> frozenset[str]:
    """What the manifest declares, or else what was found."""
    declared = cluster.spec.get("features")
    return frozenset(cluster.features if declared is None else declared)


def refresh(cluster: Cluster) -> Cluster:
    """Asks the cluster and notes the answer. What was known before stays while it does not answer."""
    try:
        fields = _known(client_for(cluster).info())
    except (TemporaryError, PermanentError) as error:
        fields = {"reachable": False, "message": error.message[:MAX_MESSAGE]}
    fields["last_checked_at"] = timezone.now()
    Cluster.for_account(cluster.account).filter(pk=cluster.pk).update(**fields)
    for field, value in fields.items():
        setattr(cluster, field, value)
    return cluster


def become_default(cluster: Cluster) -> None:
    """At most one default in an account; call it before the row is saved as one."""
    Cluster.for_account(cluster.account).filter(is_default=True).exclude(pk=cluster.pk).update(is_default=False)


def forget_namespaces(cluster: Cluster) -> None:
    """With other credentials it may be another cluster, where nothing is prepared yet."""
    AccountNamespace.all_accounts.filter(cluster=cluster).delete()


def ensure_cluster(
    account: Account,
    owner: User,
    name: str,
    *,
    type: str,
    kubeconfig: SecretStr | None = None,
    is_default: bool = True,
    **spec: Any,
) -> Cluster:
    """Registers a cluster, or brings its registration up to date; the kubeconfig is kept as a Secret. Safe to repeat.
    422 for a kubeconfig that cannot be used."""
    if kubeconfig is not None:
        try:
            connections.check_kubeconfig(kubeconfig, allow_loopback=True)
        except PermanentError as error:
            raise Refused(422, "invalid", error.message) from error
    document = {"type": type, **spec, **({"default": True} if is_default else {})}
    with transaction.atomic():
        secret = None
        if kubeconfig is not None:
            secret = secret_services.put(account, owner, f"{name[:39]}_kubeconfig", kubeconfig)
            document["kubeconfigSecret"] = secret.name
        cluster = Cluster.for_account(account).select_for_update().filter(name=name).first()
        if cluster is None:
            cluster = Cluster(account=account, owner=owner, name=name, metadata={"name": name})
        elif (cluster.type, cluster.kubeconfig_secret_id, cluster.is_default, cluster.spec) == (
            type,
            secret.pk if secret else None,
            is_default,
            document,
        ):
            return cluster
        else:
            cluster.generation += 1
            cluster.resource_version += 1
            cluster.modified = timezone.now()
            forget_namespaces(cluster)
        cluster.type, cluster.kubeconfig_secret, cluster.spec = type, secret, document
        save(cluster, is_default=is_default)
    return cluster


def save(cluster: Cluster, *, is_default: bool) -> None:
    if is_default:
        become_default(cluster)
    cluster.is_default = is_default
    with one_default():
        cluster.save()


@contextmanager
def one_default() -> Iterator[None]:
    """409 where another request just made a cluster of that name, or the default one."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        raise Refused(409, "conflict", "Another request changed the clusters of this account. Try again.") from error


def _known(info: port.ClusterInfo) -> dict[str, Any]:
    return {
        "reachable": True,
        "message": "",
        "version": info.version[:64],
        "features": sorted(info.features),
        "nodes": len(info.nodes),
        "gpus": sum(node.gpus for node in info.nodes),
        "node_labels": _label_sets(info),
    }


def _label_sets(info: port.ClusterInfo) -> list[dict[str, str]]:
    """At most MAX_LABEL_SETS, so that a strange cluster does not fill the row."""
    found: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    for node in info.nodes:
        labels = {key: value for key, value in sorted(node.labels.items()) if key not in _OF_ONE_NODE}
        found.setdefault(tuple(labels.items()), labels)
    return list(found.values())[:MAX_LABEL_SETS]
