"""The one Secret object of a workload. Pods refer to its keys; no value stands anywhere else."""

import base64
import hashlib
from collections.abc import Mapping

from pydantic import SecretStr

from smarter.core.objects import KubernetesObject
from smarter.render.identity import Identity

API_KEY = "api-key"
WEIGHTS_TOKEN = "weights-token"


def secret(identity: Identity, values: Mapping[str, SecretStr]) -> KubernetesObject:
    data = {key: base64.b64encode(value.get_secret_value().encode()).decode() for key, value in sorted(values.items())}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": identity.metadata(), "type": "Opaque", "data": data}


def joint_checksum(checksums: Mapping[str, str]) -> str:
    """Of the keyed checksums of all values, so that pods start anew when one of the values changed."""
    lines = "".join(f"{key}={checksum}\n" for key, checksum in sorted(checksums.items()))
    return hashlib.sha256(lines.encode()).hexdigest()[:32]
