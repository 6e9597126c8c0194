"""An LLMHost to the objects that should exist for it."""

from typing import Any

from pydantic import SecretStr

from smarter.core.engine import Launch, Probe
from smarter.core.errors import PermanentError
from smarter.core.facts import ComputeFact, Facts
from smarter.core.objects import KubernetesObject
from smarter.core.quantities import parse_bytes
from smarter.core.source import Weights
from smarter.kinds.sam.llm_host.host import Host, block, brings_by_job, host_of, shm_bytes
from smarter.kinds.sam.llm_host.placing import chosen_compute
from smarter.kinds.sam.llm_host.standing import fetch_image_of, image_of
from smarter.models.sam.llm_host import SAMLLMHost
from smarter.render.deployment import Rollout, deployment
from smarter.render.identity import Identity
from smarter.render.ingress import certificate, ingress
from smarter.render.job import held_until, looking_only, weights_job
from smarter.render.pod import Pod, Probes, Resources, Scheduling
from smarter.render.secret import API_KEY, WEIGHTS_TOKEN, joint_checksum, secret
from smarter.render.service import service
from smarter.render.volume import claim


def render(manifest: SAMLLMHost, facts: Facts) -> list[KubernetesObject]:
    host = host_of(manifest)
    identity = host.identity(facts)
    volume = [_claim(host, identity, facts)] if host.own_claim else []
    if not facts.deployed:
        return volume if block(host.spec.storage).retain else []
    compute = chosen_compute(host, facts).compute
    if compute is None:
        raise PermanentError("No node type is large enough.", reason="NoCompute")
    pod = _pod(host, identity, facts, compute)
    values = _secret_values(host, facts, pod.launch)
    objects = [secret(identity, values)] if values else []
    objects += [*volume, *_workload(host, identity, facts, compute, pod), service(identity)]
    return objects + _public(host, identity, facts)


def _secret_names(host: Host) -> dict[str, str]:
    """Keys of the Secret object to names of Smarter Secrets."""
    names = {API_KEY: host.key_secret, WEIGHTS_TOKEN: host.spec.model.tokenSecret if host.source.tokens else None}
    return {key: name for key, name in names.items() if name}


def _secret_values(host: Host, facts: Facts, launch: Launch) -> dict[str, SecretStr]:
    """With the files that the engine reads a value from."""
    values = {key: usable(facts, name) for key, name in _secret_names(host).items()}
    files = [file for file in launch.secret_files if file.key in values]
    return values | {file.name: SecretStr(file.text(values[file.key].get_secret_value())) for file in files}


def usable(facts: Facts, name: str) -> SecretStr:
    """The value without blanks and line ends around it, which get there when values are copied from files."""
    fact = facts.secrets.get(name)
    value = fact.value.get_secret_value().strip() if fact else ""
    if not value:
        raise PermanentError(f"The Secret {name} does not exist, has expired or is empty.", reason="SecretMissing")
    return SecretStr(value)


def _claim(host: Host, identity: Identity, facts: Facts) -> KubernetesObject:
    storage = block(host.spec.storage)
    storage_class = storage.storageClass or facts.environment.storage_class
    return claim(identity, storage.accessMode, parse_bytes(storage.size), storage_class)


def _workload(host: Host, identity: Identity, facts: Facts, compute: ComputeFact, pod: Pod) -> list[KubernetesObject]:
    """The replicas. On a volume that many nodes share, a Job brings their weights first."""
    if not brings_by_job(host):
        return [_deployment(host, identity, facts, compute, pod)]
    job = weights_job(identity, pod, compute.node_labels)
    return [job, held_until(_deployment(host, identity, facts, compute, looking_only(pod)), job)]


def _deployment(host: Host, identity: Identity, facts: Facts, compute: ComputeFact, pod: Pod) -> KubernetesObject:
    """Replicas that need no token start anew when the API key changes, and not when the token does."""
    by_job = brings_by_job(host)
    names = {key: name for key, name in _secret_names(host).items() if not (by_job and key == WEIGHTS_TOKEN)}
    rollout = Rollout(
        replicas=block(host.spec.scaling).replicas,
        exclusive_volume=block(host.spec.storage).accessMode == "ReadWriteOnce",
        scarce=host.need.gpu_count > 0,
        surge=facts.surge,
    )
    return deployment(
        identity,
        pod,
        rollout,
        compute=compute.name,
        checksum=joint_checksum({key: facts.secrets[name].checksum for key, name in names.items()}) if names else None,
        fetches=host.source.brings and not by_job,
    )


def _pod(host: Host, identity: Identity, facts: Facts, compute: ComputeFact) -> Pod:
    spec, engine = host.spec, host.engine
    storage = block(spec.storage)
    weights = host.weights(facts.environment)
    return Pod(
        image=image_of(host, facts, compute),
        launch=engine.launch(spec, weights, host.served_name),
        port=block(spec.engine.port),
        probes=_probes(host, weights),
        resources=_resources(host),
        scheduling=_scheduling(host, compute),
        termination=engine.termination(spec),
        user=engine.user,
        weights=weights,
        claim=storage.existingClaim or identity.name,
        claim_read_only=not host.source.brings,
        fetch_image=fetch_image_of(facts),
        secret_name=identity.name,
        secret_keys=frozenset(_secret_names(host)),
        extra_args=tuple(spec.engine.args or ()),
        extra_env={n: v for n, v in (spec.engine.env or {}).items() if n not in host.source.env_names},
        writable=engine.writable,
    )


def _probes(host: Host, weights: Weights) -> Probes:
    """A path in the manifest holds for all probes."""
    check, engine = block(host.spec.healthCheck), host.engine
    health = Probe(check.path, engine.health.timeout_seconds) if check.path else engine.health
    return Probes(
        health=health,
        startup=engine.startup(host.spec, weights) if engine.startup and not check.path else None,
        readiness=engine.readiness(host.spec, weights) if engine.readiness and not check.path else None,
        period_seconds=check.periodSeconds,
        startup_timeout_seconds=check.startupTimeoutSeconds,
    )


def _resources(host: Host) -> Resources:
    need = host.need
    return Resources(
        cpu_millis=need.cpu_millis,
        memory_bytes=need.memory_bytes,
        shm_bytes=shm_bytes(host.spec),
        gpu_count=need.gpu_count,
        gpu_resource=need.gpu_resource,
    )


def _scheduling(host: Host, compute: ComputeFact) -> Scheduling:
    """The node type's own labels win over those of the manifest."""
    resources = block(host.spec.resources)
    scheduling: dict[str, Any] = {
        "node_selector": {**(resources.nodeSelector or {}), **compute.node_labels},
        "tolerations": _tolerations(host, compute),
    }
    if resources.serviceAccountName:
        scheduling["service_account"] = resources.serviceAccountName
    return Scheduling(**scheduling)


def _tolerations(host: Host, compute: ComputeFact) -> list[dict[str, Any]]:
    resources = block(host.spec.resources)
    wanted: list[dict[str, Any]] = []
    if resources.gpuCount:
        wanted.append({"key": resources.gpuResource, "operator": "Exists"})
    wanted += [_in_order(toleration) for toleration in (*compute.tolerations, *(resources.tolerations or ()))]
    kept: list[dict[str, Any]] = []
    for toleration in wanted:
        if toleration not in kept:
            kept.append(toleration)
    return kept


def _in_order(toleration: Any) -> dict[str, Any]:
    fields = ("key", "operator", "value", "effect", "tolerationSeconds")
    return {name: toleration[name] for name in fields if toleration.get(name) is not None}


def _public(host: Host, identity: Identity, facts: Facts) -> list[KubernetesObject]:
    if not block(host.spec.network).ingress:
        return []
    name = host.public_host(facts)
    objects = [ingress(identity, name, host.engine.public_paths[host.api_format], facts.environment)]
    if "cert-manager" in facts.features:
        objects.append(certificate(identity, name, facts.environment))
    return objects
