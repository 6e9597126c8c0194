"""LLMHost: one model, served by one inference server, in one or more equal pods."""

from collections.abc import Sequence

from smarter.core.facts import Facts
from smarter.core.kind import Column, Kind, LogRequest, Reference
from smarter.core.objects import (
    CERTIFICATE,
    DEPLOYMENT,
    INGRESS,
    JOB,
    PERSISTENT_VOLUME_CLAIM,
    SECRET,
    SERVICE,
    KubernetesObject,
)
from smarter.kinds.sam.llm_host import bringing, offload
from smarter.kinds.sam.llm_host.admit import admit, unreadable
from smarter.kinds.sam.llm_host.asking import question
from smarter.kinds.sam.llm_host.check import check
from smarter.kinds.sam.llm_host.example import EXAMPLE
from smarter.kinds.sam.llm_host.host import block, host_of
from smarter.kinds.sam.llm_host.observe import observe
from smarter.kinds.sam.llm_host.placing import memory_verdict, placement
from smarter.kinds.sam.llm_host.render import render
from smarter.kinds.sam.llm_host.standing import pins, restored
from smarter.models.sam.llm_host import SAMLLMHost


def references(manifest: SAMLLMHost) -> tuple[Reference, ...]:
    spec = manifest.spec
    found = (
        ("spec.compute", "LLMHostCompute", spec.compute),
        ("spec.model.tokenSecret", "Secret", spec.model.tokenSecret),
        ("spec.network.apiKeySecret", "Secret", spec.network.apiKeySecret if spec.network else None),
    )
    return tuple(Reference(field, kind, name) for field, kind, name in found if name is not None)


def generated_secrets(manifest: SAMLLMHost) -> tuple[str, ...]:
    """The API key, unless the manifest brings one or opens the host to everybody."""
    if unreadable(manifest):
        return ()
    host = host_of(manifest)
    if host.key_secret is None or block(host.spec.network).apiKeySecret:
        return ()
    return (host.key_secret,)


def hostnames(manifest: SAMLLMHost, facts: Facts) -> tuple[str, ...]:
    if unreadable(manifest):
        return ()
    host = host_of(manifest)
    return (host.public_host(facts),) if block(host.spec.network).ingress else ()


def logs(manifest: SAMLLMHost, live: Sequence[KubernetesObject]) -> tuple[LogRequest, ...]:
    return (*bringing.logs(manifest, live), *offload.logs(manifest, live))


KIND = Kind(
    api_version="smarter.sh/v1",
    name="LLMHost",
    plural="llmhosts",
    model=SAMLLMHost,
    summary="A model, served on a cluster by an inference server.",
    example=EXAMPLE,
    columns=(
        Column("STATUS", "status.hostStatus"),
        Column("READY", "status.readyReplicas"),
        Column("REPLICAS", "status.replicas"),
        Column("ENGINE", "spec.engine.name"),
        Column("MODEL", "spec.model.repository"),
        Column("PRICE/H", "status.pricePerHour"),
        Column("COST", "status.estimatedCost"),
    ),
    references=references,
    admit=admit,
    check=check,
    placement=placement,
    hostnames=hostnames,
    memory_verdict=memory_verdict,
    deployable=True,
    object_kinds=(SECRET, PERSISTENT_VOLUME_CLAIM, JOB, DEPLOYMENT, SERVICE, INGRESS, CERTIFICATE),
    generated_secrets=generated_secrets,
    render=render,
    logs=logs,
    observe=observe,
    question=question,
    phase_field="hostStatus",
    pins=pins,
    restored=restored,
)
