"""Which node type an LLMHost runs on and what that costs."""

from collections.abc import Iterable

from smarter.core.facts import ComputeFact, Facts
from smarter.core.kind import Placement
from smarter.core.placement import Choice, choose, misfit, share
from smarter.kinds.sam.llm_host.host import Host, block, host_of
from smarter.models.sam.llm_host import SAMLLMHost


def chosen_compute(host: Host, computes: Iterable[ComputeFact]) -> Choice:
    """The one that the manifest names if it fits, otherwise the cheapest that fits."""
    named = host.spec.compute
    if named is None:
        return choose(host.need, computes)
    compute = next((compute for compute in computes if compute.name == named), None)
    if compute is None:
        return Choice(None, ((named, "there is no such LLMHostCompute"),))
    reason = misfit(host.need, compute)
    return Choice(None, ((named, reason),)) if reason else Choice(compute)


def placement(manifest: SAMLLMHost, facts: Facts) -> Placement | None:
    host = host_of(manifest)
    compute = chosen_compute(host, facts.computes).compute
    if compute is None:
        return None
    return Placement(compute, share(host.need, compute), block(host.spec.scaling).replicas)
