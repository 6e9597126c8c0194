"""Which node type an LLMHost runs on and what that costs."""

from smarter.core.facts import ComputeFact, Facts
from smarter.core.kind import MemoryVerdict, Placement
from smarter.core.placement import Choice, choose, misfit, share
from smarter.core.problems import errors_of
from smarter.kinds.sam.llm_host.formats import format_problems
from smarter.kinds.sam.llm_host.host import Host, block, host_of
from smarter.kinds.sam.llm_host.memory import required_misfit, verdict
from smarter.models.sam.llm_host import SAMLLMHost


def chosen_compute(host: Host, facts: Facts) -> Choice:
    """The one that the manifest names if it fits; else the one that it runs on while it fits; else the cheapest that
    fits, whose GPUs can do what the manifest says, and, where there is one, whose memory the model should fit."""
    if host.spec.compute is not None:
        return _named(host, host.spec.compute, facts)
    current = next((compute for compute in facts.computes if compute.name == facts.placed_on), None)
    if current is not None and misfit(host.need, current) is None and _unsuitable(host, current) is None:
        return Choice(current)
    choice = _cheapest(host, facts, facts.computes)
    if choice.compute is None or _has_room(host, choice.compute):
        return choice
    roomy = tuple(compute for compute in facts.computes if _has_room(host, compute))
    better = _cheapest(host, facts, roomy)
    return better if better.compute else choice


def _named(host: Host, name: str, facts: Facts) -> Choice:
    compute = next((compute for compute in facts.computes if compute.name == name), None)
    if compute is None:
        return Choice(None, ((name, "there is no LLMHostCompute of this name"),))
    reason = misfit(host.need, compute)
    return Choice(None, ((name, reason),)) if reason else Choice(compute)


def _cheapest(host: Host, facts: Facts, computes: tuple[ComputeFact, ...]) -> Choice:
    return choose(host.need, computes, facts.node_labels, lambda compute: _unsuitable(host, compute))


def _unsuitable(host: Host, compute: ComputeFact) -> str | None:
    if errors_of(format_problems(host, compute)):
        return "its GPUs are too old for the number format"
    if contradictions(host, compute):
        return "its nodes carry other labels than those of nodeSelector"
    return required_misfit(host, compute)


def contradictions(host: Host, compute: ComputeFact) -> list[str]:
    """Labels that the manifest asks for and that all nodes of this type have with another value."""
    wanted = block(host.spec.resources).nodeSelector or {}
    return sorted(key for key, value in wanted.items() if compute.node_labels.get(key, value) != value)


def _has_room(host: Host, compute: ComputeFact) -> bool:
    return verdict(host, compute).verdict != "does_not_fit"


def placement(manifest: SAMLLMHost, facts: Facts) -> Placement | None:
    host = host_of(manifest)
    compute = chosen_compute(host, facts).compute
    if compute is None:
        return None
    return Placement(compute, share(host.need, compute), block(host.spec.scaling).replicas)


def memory_verdict(manifest: SAMLLMHost, facts: Facts) -> MemoryVerdict | None:
    host = host_of(manifest)
    compute = chosen_compute(host, facts).compute
    return verdict(host, compute) if compute else None
