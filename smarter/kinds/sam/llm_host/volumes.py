"""What the volume of an LLMHost has to do with how it fares."""

from collections.abc import Sequence

from smarter.core.conditions import Condition
from smarter.core.objects import KubernetesObject
from smarter.core.quantities import parse_bytes
from smarter.kinds.sam.llm_host import words
from smarter.kinds.sam.llm_host.host import Host, block
from smarter.kinds.sam.llm_host.pods import Finding, by_event
from smarter.kinds.sam.llm_host.view import View

_LOST = "The disk behind the volume is gone. Delete the host and apply it again; the weights are brought anew."
_GROWTH_FAILED = frozenset({"ControllerResizeError", "NodeResizeError"})


def trouble_of(
    trouble: Finding | None, claim: KubernetesObject | None, events: Sequence[KubernetesObject], host: Host
) -> Finding | None:
    """A volume that is lost or never came explains a pod that waits. `events` are those about the claim."""
    if claim is None or (trouble and trouble.state not in ("pending", "deploying")):
        return None
    phase = (claim.get("status") or {}).get("phase")
    if phase == "Lost":
        return Finding("error", "VolumeLost", _LOST, final=True)
    waits = trouble is not None and ("volume" in trouble.message or trouble.reason == "Starting")
    if phase != "Pending" or not waits:
        return None
    name = block(host.spec.storage).storageClass or (claim.get("spec") or {}).get("storageClassName")
    of_class = f"the storage class {words.clean(name, 253)}" if name else "the cluster's default storage class"
    said = by_event(events)
    why = said.message if said else "Check that the class exists."
    return Finding("pending", "VolumePending", f"The volume is not there yet: {of_class} has not provided it. {why}")


def condition_of(view: View | None) -> Condition | None:
    """Whether the volume is there in the size that is asked for; None without a volume of the host's own."""
    if view is None or view.claim is None:
        return None
    status = view.claim.get("status") or {}
    if status.get("phase") == "Lost":
        return Condition("VolumeReady", "False", "VolumeLost", _LOST)
    if status.get("phase") != "Bound":
        return Condition("VolumeReady", "False", str(status.get("phase") or "Pending"))
    wanted = _size(((view.claim.get("spec") or {}).get("resources") or {}).get("requests"))
    given = _size(status.get("capacity"))
    if given is None or wanted is None or given >= wanted:
        return Condition("VolumeReady", "True", "Bound")
    size = (view.claim["spec"]["resources"]["requests"])["storage"]
    failed = next((one for one in status.get("conditions") or () if one.get("type") in _GROWTH_FAILED), None)
    stopped = str((status.get("allocatedResourceStatuses") or {}).get("storage") or "").endswith("Infeasible")
    if failed or stopped:
        detail = words.sentence((failed or {}).get("message"))
        text = (
            f"The volume cannot be grown to {size}: {detail} The host goes on with the size that it has. Free room at "
            "the storage, or ask for less growth."
        )
        return Condition("VolumeReady", "False", "GrowthFailed", " ".join(text.split()))
    if any(one.get("type") == "FileSystemResizePending" for one in status.get("conditions") or ()):
        text = f"The volume is being grown to {size}; its file system follows when a replica starts next."
        return Condition("VolumeReady", "False", "FileSystemResizePending", text)
    text = f"The volume is being grown to {size}. The host goes on meanwhile."
    return Condition("VolumeReady", "False", "Growing", text)


def _size(amounts: object) -> int | None:
    text = amounts.get("storage") if isinstance(amounts, dict) else None
    try:
        return parse_bytes(str(text)) if text else None
    except ValueError:
        return None
