"""Everything that must be read before a render, in short reads and with no transaction left open."""

from dataclasses import dataclass
from functools import cached_property

from pydantic import BaseModel

from smarter.apps.clusters import services as clusters
from smarter.apps.clusters.models import Cluster as ClusterRow
from smarter.apps.resources.facts import facts_for, secret_names_of
from smarter.apps.resources.models import Resource
from smarter.apps.resources.revision import running_manifest
from smarter.apps.secrets import services as secrets
from smarter.cluster.port import Cluster
from smarter.core.errors import PermanentError
from smarter.core.facts import Facts
from smarter.core.kind import Kind, Placement
from smarter.core.problems import Problem
from smarter.kinds import KINDS


@dataclass(frozen=True)
class Gathered:
    """`manifest` is the revision that runs. Without slots, which would leave no room to keep what is computed once."""

    resource: Resource
    kind: Kind
    manifest: BaseModel
    facts: Facts
    cluster: ClusterRow
    port: Cluster

    @cached_property
    def placement(self) -> Placement | None:
        return self.kind.placement(self.manifest, self.facts)

    @cached_property
    def problems(self) -> list[Problem]:
        """Of the rules that need facts."""
        return self.kind.check(self.manifest, self.facts)


def kind_and_manifest(resource: Resource) -> tuple[Kind, BaseModel]:
    """PermanentError for a row that this release cannot read."""
    kind = KINDS.get(resource.kind_key)
    if kind is None:
        raise PermanentError(f"this release knows no kind {resource.kind}", reason="UnknownKind")
    try:
        return kind, running_manifest(resource)
    except ValueError as error:
        raise PermanentError(str(error), reason="UnreadableManifest") from error


def gather(resource: Resource) -> Gathered:
    kind, manifest = kind_and_manifest(resource)
    cluster = resource.cluster or clusters.choose(resource.account)
    if cluster is None:
        raise PermanentError(
            "no cluster is registered for this account; apply a Cluster manifest, or ask the platform's operator",
            reason="NoCluster",
        )
    if resource.cluster_id is None:
        Resource.all_accounts.filter(pk=resource.pk, cluster__isnull=True).update(cluster=cluster)
        resource.cluster = cluster
    runs = resource.deployed and resource.deleting_at is None
    # Values leave their store only for a render that writes them.
    values = secrets.use(resource.account, secret_names_of(resource), "render") if runs else {}
    facts = facts_for(resource, cluster, values)
    return Gathered(resource, kind, manifest, facts, cluster, clusters.client_for(cluster))
