"""Cluster: a Kubernetes cluster that hosts run on, or a simulated one. Kept in a table of its own."""

import re

from smarter.core.kind import Column, Kind, Reference
from smarter.core.problems import Problem, warning
from smarter.models.sam.cluster import SAMCluster

EXAMPLE = """\
apiVersion: smarter.sh/v1
kind: Cluster
metadata:
  name: trial
  description: A cluster that exists only inside Smarter, to try things out.
  version: 1.0.0
spec:
  type: simulated
"""
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*", re.ASCII)
_DOMAIN_WORDS = "This is not a domain such as models.example.com."
_NAME_WORDS = "Kubernetes names have lower case letters, digits, hyphens and dots."


def references(manifest: SAMCluster) -> tuple[Reference, ...]:
    name = manifest.spec.kubeconfigSecret
    return (Reference("spec.kubeconfigSecret", "Secret", name),) if name else ()


def admit(manifest: SAMCluster, _stored: SAMCluster | None) -> list[Problem]:
    spec = manifest.spec
    problems = []
    real = str(spec.type) == "kubernetes"
    if real and not spec.kubeconfigSecret:
        words = "A real cluster needs the name of the Secret that holds its kubeconfig."
        problems.append(Problem("missing", "spec.kubeconfigSecret", words))
    if not real and spec.kubeconfigSecret:
        problems.append(warning("no_effect", "spec.kubeconfigSecret", "A simulated cluster has no kubeconfig."))
    for field in ("ingressClass", "clusterIssuer", "storageClass"):
        value = getattr(spec, field)
        if value is not None and not _NAME.fullmatch(value):
            problems.append(Problem("name", f"spec.{field}", _NAME_WORDS))
    if spec.apiDomain is not None and not _NAME.fullmatch(spec.apiDomain):
        problems.append(Problem("domain", "spec.apiDomain", _DOMAIN_WORDS))
    return problems


KIND = Kind(
    api_version="smarter.sh/v1",
    name="Cluster",
    plural="clusters",
    model=SAMCluster,
    summary="A Kubernetes cluster that hosts run on, or a simulated one.",
    example=EXAMPLE,
    columns=(
        Column("TYPE", "spec.type"),
        Column("DEFAULT", "spec.default"),
        Column("REACHABLE", "status.reachable"),
        Column("VERSION", "status.version"),
        Column("NODES", "status.nodes"),
        Column("GPUS", "status.gpus"),
    ),
    writer="admin",
    references=references,
    admit=admit,
)
