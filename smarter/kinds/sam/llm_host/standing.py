"""What stands while an LLMHost runs: images that defaults gave at its launch, and what a way back must not undo."""

from collections.abc import Mapping

from smarter.core.errors import PermanentError
from smarter.core.facts import ComputeFact, Facts
from smarter.core.gpus import compute_capability
from smarter.core.problems import errors_of
from smarter.kinds.sam.llm_host.admit import admit
from smarter.kinds.sam.llm_host.host import Host, block, host_of
from smarter.kinds.sam.llm_host.placing import chosen_compute
from smarter.models.sam.llm_host import SAMLLMHost

_FETCH_IMAGE = "fetchImage"


def pins(manifest: SAMLLMHost, facts: Facts) -> Mapping[str, str]:
    """A change of the engine or of the kind of GPU, or from GPUs to none, asks for another default; any other edit
    leaves the image alone."""
    host = host_of(manifest)
    found = {_FETCH_IMAGE: fetch_image_of(facts)}
    compute = chosen_compute(host, facts).compute
    if not host.spec.engine.image and compute is not None:
        found[_image_key(host, compute)] = image_of(host, facts, compute)
    return found


def image_of(host: Host, facts: Facts, compute: ComputeFact) -> str:
    default = host.engine.images.image(_hardware(host, compute))
    image = host.spec.engine.image or facts.pins.get(_image_key(host, compute)) or default
    if image is None:
        raise PermanentError(f"{host.engine.name} has no image for this hardware.", reason="NoImage")
    return image


def fetch_image_of(facts: Facts) -> str:
    return facts.pins.get(_FETCH_IMAGE) or facts.environment.fetch_image


def _hardware(host: Host, compute: ComputeFact) -> str:
    capability = compute_capability(compute.gpu_type)
    return host.engine.images.hardware(gpus=host.need.gpu_count > 0, capability=capability)


def _image_key(host: Host, compute: ComputeFact) -> str:
    return f"image/{host.engine.name}/{_hardware(host, compute)}"


def restored(good: SAMLLMHost, failed: SAMLLMHost) -> SAMLLMHost | None:
    """Volumes do not shrink and keep what they are. The network stays as declared last: the host names of before are
    given up, and an address that was closed must not open again. Where the old engine cannot be published so, it
    serves inside the cluster only."""
    declared = {"storage": failed.spec.storage, "network": failed.spec.network}
    manifest = good.model_copy(update={"spec": good.spec.model_copy(update=declared)})
    if not errors_of(admit(manifest, None)):
        return manifest
    closed = block(host_of(failed).spec.network).model_copy(update={"ingress": False})
    manifest = good.model_copy(update={"spec": manifest.spec.model_copy(update={"network": closed})})
    return None if errors_of(admit(manifest, None)) else manifest
