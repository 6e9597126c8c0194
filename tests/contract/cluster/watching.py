"""What the contract suite looks at again and again: Deployments, and the pods that belong to them."""

from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.objects import DEPLOYMENT, POD, KubernetesObject, ObjectRef
from tests.contract.cluster import bodies
from tests.contract.cluster.conftest import Backend


def pods_of(backend: Backend, namespace: str, app: str = "host", leaving: bool = False) -> list[KubernetesObject]:
    pods = backend.cluster.list(POD, label_selector=f"app={app}", namespace=namespace)
    return [pod for pod in pods if leaving or "deletionTimestamp" not in pod["metadata"]]


def ready_pods(backend: Backend, namespace: str, app: str = "host") -> list[KubernetesObject]:
    return [pod for pod in pods_of(backend, namespace, app) if bodies.condition(pod, "Ready") == "True"]


def await_pods(backend: Backend, namespace: str, count: int, app: str = "host") -> list[KubernetesObject]:
    """Exactly so many pods, all of them ready."""

    def settled() -> list[KubernetesObject]:
        pods, ready = pods_of(backend, namespace, app), ready_pods(backend, namespace, app)
        return ready if len(ready) == len(pods) == count else []

    found: list[KubernetesObject] = backend.eventually(settled, f"{count} pods are ready")
    return found


def await_pod(backend: Backend, namespace: str, what: str, check: object, app: str = "host") -> KubernetesObject:
    """The first pod that satisfies the check."""
    assert callable(check)

    def found() -> KubernetesObject | None:
        return next((pod for pod in pods_of(backend, namespace, app) if check(pod)), None)

    pod: KubernetesObject = backend.eventually(found, what)
    return pod


def await_condition(backend: Backend, namespace: str, kind: str, status: str, app: str = "host") -> KubernetesObject:
    def found() -> KubernetesObject | None:
        deployment = backend.cluster.get(ObjectRef(DEPLOYMENT, namespace, app))
        return deployment if deployment is not None and bodies.condition(deployment, kind) == status else None

    deployment: KubernetesObject = backend.eventually(found, f"the Deployment's {kind} is {status}")
    return deployment


def refusal(act: object, reason: str) -> str:
    """The message of the PermanentError that `act` raises for that reason."""
    assert callable(act)
    try:
        act()
    except PermanentError as error:
        assert error.reason == reason, f"{error.reason}: {error.message}"
        return error.message
    except TemporaryError as error:
        raise AssertionError(f"temporary {error.reason}: {error.message}") from error
    raise AssertionError("not refused")
