"""Which node type an LLMHost runs on and what that costs."""

from smarter.core.facts import Facts
from smarter.core.kind import Placement
from smarter.core.placement import Choice, choose, misfit, share
from smarter.kinds.sam.llm_host.host import Host, block, host_of
from smarter.models.sam.llm_host import SAMLLMHost


def chosen_compute(host: Host, facts: Facts) -> Choice:
    """The one that the manifest names if it fits; else the one that it runs on while it fits; else the cheapest that
    fits."""
    named = host.spec.compute
    if named is None:
        current = next((compute for compute in facts.computes if compute.name == facts.placed_on), None)
        if current is not None and misfit(host.need, current) is None:
            return Choice(current)
        return choose(host.need, facts.computes, facts.node_labels)
    compute = next((compute for compute in facts.computes if compute.name == named), None)
    if compute is None:
        return Choice(None, ((named, "there is no LLMHostCompute of this name"),))
    reason = misfit(host.need, compute)
    return Choice(None, ((named, reason),)) if reason else Choice(compute)


def placement(manifest: SAMLLMHost, facts: Facts) -> Placement | None:
    host = host_of(manifest)
    compute = chosen_compute(host, facts).compute
    if compute is None:
        return None
    return Placement(compute, share(host.need, compute), block(host.spec.scaling).replicas)
