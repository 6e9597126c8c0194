"""What is known of GPU models: the compute capability decides which number formats they can compute in, and the memory
that programs see is less than the one on the label."""

from decimal import Decimal

_CAPABILITIES = {
    "T4": "7.5",
    "A100": "8.0",
    "A30": "8.0",
    "A10": "8.6",
    "A10G": "8.6",
    "A40": "8.6",
    "L4": "8.9",
    "L40": "8.9",
    "L40S": "8.9",
    "H100": "9.0",
    "H200": "9.0",
    "B200": "10.0",
}
_VISIBLE_SHARE = Decimal("0.915")
"""An L4 sold with 24 GiB reports 21.96 GiB; the others are alike."""


def compute_capability(gpu_type: str) -> Decimal | None:
    """Of names such as `L4`, `A100-80` or `H100 NVL`; None for what is not known."""
    model = gpu_type.upper().replace("NVIDIA", "").replace("-", " ").replace("_", " ").split()
    return next((Decimal(_CAPABILITIES[word]) for word in model if word in _CAPABILITIES), None)


def visible_bytes(memory_bytes: int) -> int:
    """What a program can use at most of a GPU sold with this much memory."""
    return int(memory_bytes * _VISIBLE_SHARE)
