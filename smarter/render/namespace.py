"""What an account's namespace holds before any workload: its limits, its walls, and an identity without rights.

The reconciler applies this before the objects of a manifest.
"""

from collections.abc import Iterable
from typing import Any

from smarter.core.engine import Engine
from smarter.core.facts import AccountFact, Environment
from smarter.core.naming import namespace
from smarter.core.objects import ACCOUNT_LABEL, MANAGED_BY, MANAGED_BY_LABEL, KubernetesObject
from smarter.engines import ENGINES
from smarter.render.network_policy import policies
from smarter.render.pod import SERVICE_ACCOUNT


def bootstrap(account: AccountFact, environment: Environment) -> list[KubernetesObject]:
    """In the order of creation."""
    space = namespace(account.number)
    labels = {MANAGED_BY_LABEL: MANAGED_BY, ACCOUNT_LABEL: account.number}

    def metadata(name: str) -> dict[str, Any]:
        return {"name": name, "namespace": space, "labels": dict(labels)}

    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": space, "labels": {**labels, **pod_security(ENGINES.values())}},
        },
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": metadata(SERVICE_ACCOUNT),
            "automountServiceAccountToken": False,
        },
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata("smarter"), "spec": _quota(environment)},
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata("smarter"), "spec": _limits()},
        *policies(metadata, environment),
    ]


def pod_security(engines: Iterable[Engine]) -> dict[str, str]:
    """The restricted profile, unless an engine is known not to run under it."""
    level = "baseline" if any(engine.waiver for engine in (item.user for item in engines)) else "restricted"
    return {
        "pod-security.kubernetes.io/enforce": level,
        "pod-security.kubernetes.io/enforce-version": "latest",
        "pod-security.kubernetes.io/warn": "restricted",
        "pod-security.kubernetes.io/warn-version": "latest",
    }


def _quota(environment: Environment) -> dict[str, Any]:
    return {
        "hard": {
            "requests.cpu": environment.cpu_quota,
            "requests.memory": environment.memory_quota,
            "limits.memory": environment.memory_quota,
            "requests.nvidia.com/gpu": str(environment.gpu_quota),
            "requests.storage": environment.storage_quota,
            "pods": "500",
            "services.loadbalancers": "0",
            "services.nodeports": "0",
        }
    }


def _limits() -> dict[str, Any]:
    """For pods that others put here; Smarter's own say what they need."""
    container = {
        "type": "Container",
        "default": {"memory": "512Mi"},
        "defaultRequest": {"cpu": "100m", "memory": "512Mi"},
    }
    return {"limits": [container]}
