"""Rules of an LLMHost that need facts: where it fits, what the cluster has, which names are the account's, and whether
referenced values can be used. Run at apply and again before each render."""

import re

from smarter.core.facts import ComputeFact, Facts
from smarter.core.problems import Problem, warning
from smarter.kinds.sam.llm_host.admit import unreadable
from smarter.kinds.sam.llm_host.formats import format_problems
from smarter.kinds.sam.llm_host.host import Host, block, host_of
from smarter.kinds.sam.llm_host.memory import verdict
from smarter.kinds.sam.llm_host.placing import chosen_compute, contradictions
from smarter.models.sam.llm_host import SAMLLMHost

_KEY = re.compile(r"(?!-)[!-+\--~]{1,4096}", re.ASCII)
"""Printable, without blanks and commas: servers read a comma as the end of one key and the start of another, and a
hyphen at the start as a flag."""


def check(manifest: SAMLLMHost, facts: Facts) -> list[Problem]:
    if unreadable(manifest):
        return []  # Told already.
    host = host_of(manifest)
    return [
        *host.source.reach(host.spec, facts.environment),
        *_placement_problems(host, facts),
        *_account_problems(host, facts),
        *_hostname_problems(host, facts),
        *_secret_problems(host, facts),
    ]


def _placement_problems(host: Host, facts: Facts) -> list[Problem]:
    choice = chosen_compute(host, facts)
    if choice.compute is None:
        path = "spec.compute" if host.spec.compute else "spec.resources"
        what = "It does not fit" if host.spec.compute else "No LLMHostCompute is large enough"
        return [Problem("does_not_fit", path, f"{what}: {choice.why_not or 'there is none'}.")]
    compute = choice.compute
    return [*_selector_problems(host, compute), *format_problems(host, compute), *_memory_problems(host, compute)]


def _selector_problems(host: Host, compute: ComputeFact) -> list[Problem]:
    return [
        Problem(
            "node_selector",
            "spec.resources.nodeSelector",
            f"The nodes of {compute.name} carry {key}={compute.node_labels[key]}; this asks for another value.",
        )
        for key in contradictions(host, compute)
    ]


def _memory_problems(host: Host, compute: ComputeFact) -> list[Problem]:
    found = verdict(host, compute)
    if found.verdict != "does_not_fit":
        return []
    if block(host.spec.resources).vramRequiredGb and host.need.gpu_count:
        return [Problem("gpu_memory", "spec.resources.vramRequiredGb", f"{compute.name}: {found.message}.")]
    return [warning("gpu_memory", "spec.resources", f"{compute.name}: {found.message}.")]


def _account_problems(host: Host, facts: Facts) -> list[Problem]:
    name = block(host.spec.resources).serviceAccountName
    if name is None or name in facts.environment.service_accounts:
        return []
    words = "Pods run with an account without rights. Another one must be allowed for this cluster by its operator."
    return [Problem("service_account", "spec.resources.serviceAccountName", words)]


def _hostname_problems(host: Host, facts: Facts) -> list[Problem]:
    network = block(host.spec.network)
    if not network.ingress:
        return []
    problems = []
    domain, own = facts.environment.api_domain, f"llmhost.{facts.account.number}.{facts.environment.api_domain}"
    name = host.public_host(facts)
    if (name == domain or name.endswith(f".{domain}")) and not name.endswith(f".{own}"):
        words = f"Below {domain} only names that end in .{own} are yours."
        problems.append(Problem("hostname", "spec.network.hostname", words))
    if max(len(label) for label in name.split(".")) > 63 or len(name) > 253:
        words = "The host name would be too long. Give a shorter one."
        problems.append(Problem("hostname", "spec.network.hostname", words))
    if "cert-manager" not in facts.features:
        words = "The cluster has no cert-manager, so the ingress controller's own certificate is used."
        problems.append(warning("no_certificate", "spec.network.ingress", words))
    return problems


def _secret_problems(host: Host, facts: Facts) -> list[Problem]:
    """Values that are here but cannot be used. Whether a secret exists is for references to tell."""
    network = block(host.spec.network)
    places = {
        "spec.network.apiKeySecret": network.apiKeySecret if host.asks_for_key else None,
        "spec.model.tokenSecret": host.spec.model.tokenSecret if host.source.tokens else None,
    }
    problems = []
    for path, name in places.items():
        fact = facts.secrets.get(name) if name else None
        if fact and not _KEY.fullmatch(fact.value.get_secret_value().strip()):
            words = f"The value of the Secret {name} is empty, starts with a hyphen, or has blanks or commas in it."
            problems.append(Problem("secret_value", path, words))
    return problems
