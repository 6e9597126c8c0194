"""A real Kubernetes API behind the port, whose contract is in `port.py`. `apps/clusters` makes one per process."""

import builtins
import re
from typing import Any
from urllib.parse import quote

import orjson

from smarter.cluster import answers
from smarter.cluster.kubeconfig import Connection, read_kubeconfig
from smarter.cluster.nodes import node_info
from smarter.cluster.port import ClusterInfo, NodeInfo
from smarter.cluster.transport import Answer, Transport
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.objects import FIELD_MANAGER, NODE, OBJECT_KINDS, SECRET, KubernetesObject, ObjectKind, ObjectRef

__all__ = ["Connection", "KubernetesCluster", "connection_from_kubeconfig", "read_kubeconfig"]

PAGE_LIMIT = 500
LOG_LIMIT_BYTES = 1024 * 1024
FEATURE_GROUPS = {
    "cert-manager.io": "cert-manager",
    "gateway.networking.k8s.io": "gateway-api",
    "inference.networking.k8s.io": "inference-extension",
    "inference.networking.x-k8s.io": "inference-extension",
    "keda.sh": "keda",
    "serving.kserve.io": "kserve",
    "kaito.sh": "kaito",
}
_RELISTS = 3
_SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,252}")


def connection_from_kubeconfig(text: str, *, allow_plain_loopback: bool = False) -> Connection:
    """PermanentError that names every fault; `read_kubeconfig` gives them as problems."""
    connection, problems = read_kubeconfig(text, allow_plain_loopback=allow_plain_loopback)
    if connection is None:
        listed = "; ".join(str(problem) for problem in problems)
        raise PermanentError(f"The kubeconfig cannot be used: {listed}", reason="Invalid")
    return connection


class KubernetesCluster:
    """Implements `port.Cluster`. Safe to share between threads; `pool_size` connections are kept open."""

    def __init__(self, connection: Connection, *, field_manager: str = FIELD_MANAGER, pool_size: int = 16) -> None:
        self._transport = Transport(connection, pool_size)
        self._manager = field_manager

    def apply(self, body: KubernetesObject, *, force: bool = True, dry_run: bool = False) -> KubernetesObject:
        path, what, quiet = _path_of(body)
        query = [("fieldManager", self._manager), ("fieldValidation", "Strict")]
        query += [("force", "true")] if force else []
        query += [("dryRun", "All")] if dry_run else []
        answer = self._transport.send("PATCH", path, query, _encoded(body, what), "application/apply-patch+yaml")
        return _stripped(_parsed(answer, f"apply {what}", quiet=quiet))

    def get(self, ref: ObjectRef) -> KubernetesObject | None:
        answer = self._transport.send("GET", _object_path(ref.kind, ref.namespace, ref.name))
        if _is_absent(answer):
            return None
        return _stripped(_parsed(answer, f"get {ref}"))

    def list(
        self, kind: ObjectKind, *, label_selector: str = "", namespace: str | None = None, field_selector: str = ""
    ) -> list[KubernetesObject]:
        selectors = [("labelSelector", label_selector), ("fieldSelector", field_selector)]
        for _ in range(_RELISTS):
            items = self._pages(kind, [(name, text) for name, text in selectors if text], namespace)
            if items is not None:
                return items
        raise TemporaryError(f"list {kind.plural}: the list changes faster than it can be read", reason="Conflict")

    def delete(self, ref: ObjectRef, *, uid: str | None = None) -> bool:
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        path = _object_path(ref.kind, ref.namespace, ref.name)
        answer = self._transport.send("DELETE", path, (), options)
        if _is_absent(answer) or (answer.status == 409 and uid is not None and _is_other_uid(answer)):
            return False
        _parsed(answer, f"delete {ref}")
        return True

    def logs(self, namespace: str, pod: str, *, container: str, tail_lines: int = 200, previous: bool = False) -> str:
        path = f"/api/v1/namespaces/{_segment(namespace)}/pods/{_segment(pod)}/log"
        query = [("container", container), ("tailLines", str(tail_lines)), ("limitBytes", str(LOG_LIMIT_BYTES))]
        query += [("previous", "true")] if previous else []
        answer = self._transport.send("GET", path, query)
        if answer.status == 204:
            return ""  # A pod that no node has taken in has no log.
        if answer.status != 200:
            raise _failure(answer, f"logs of {namespace}/{pod}")
        return answer.body[-LOG_LIMIT_BYTES:].decode("utf-8", errors="replace")

    def info(self) -> ClusterInfo:
        version = _parsed(self._transport.send("GET", "/version"), "version")
        groups = _parsed(self._transport.send("GET", "/apis"), "API groups")
        names = {group.get("name") for group in groups.get("groups") or ()}
        features = frozenset(feature for group, feature in FEATURE_GROUPS.items() if group in names)
        return ClusterInfo(str(version.get("gitVersion", "")), features, self._nodes())

    def close(self) -> None:
        self._transport.close()

    def _nodes(self) -> tuple[NodeInfo, ...]:
        """Credentials may be good for namespaces only; then nothing is known of nodes."""
        try:
            return tuple(node_info(node) for node in self.list(NODE))
        except PermanentError as error:
            if error.reason == "Forbidden":
                return ()
            raise

    def _pages(
        self, kind: ObjectKind, selectors: builtins.list[tuple[str, str]], namespace: str | None
    ) -> builtins.list[KubernetesObject] | None:
        """None if the server no longer knows the place where the next page begins."""
        items: list[KubernetesObject] = []
        token = ""
        while True:
            query = [("limit", str(PAGE_LIMIT)), *selectors]
            query += [("continue", token)] if token else []
            answer = self._transport.send("GET", _collection_path(kind, namespace), query)
            if answer.status == 410 and token:
                return None
            page = _parsed(answer, f"list {kind.plural}")
            items += [_item(kind, item) for item in page.get("items") or ()]
            token = (page.get("metadata") or {}).get("continue") or ""
            if not token:
                return items


def _encoded(body: KubernetesObject, what: str) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        raise PermanentError(f"apply {what}: this cannot be written as JSON", reason="Invalid") from None


def _item(kind: ObjectKind, item: KubernetesObject) -> KubernetesObject:
    """Items of a list come without the kind that they are of."""
    return _stripped({"apiVersion": kind.api_version, "kind": kind.kind, **item})


def _stripped(body: KubernetesObject) -> KubernetesObject:
    metadata = body.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
    return body


def _path_of(body: KubernetesObject) -> tuple[str, str, bool]:
    """Path, words for messages, and whether the object holds secret values. Any kind may be sent, known or not."""
    metadata = body.get("metadata") or {}
    api_version, kind = str(body.get("apiVersion", "")), str(body.get("kind", ""))
    namespace, name = str(metadata.get("namespace", "")), str(metadata.get("name", ""))
    known = OBJECT_KINDS.get((api_version, kind))
    object_kind = known or ObjectKind(api_version, kind, f"{kind.lower()}s", namespaced=bool(namespace))
    what = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
    return _object_path(object_kind, namespace, name), what, object_kind == SECRET


def _collection_path(kind: ObjectKind, namespace: str | None) -> str:
    root = f"/apis/{kind.api_version}" if "/" in kind.api_version else f"/api/{kind.api_version}"
    inner = f"/namespaces/{_segment(namespace)}" if namespace and kind.namespaced else ""
    return f"{root}{inner}/{quote(kind.plural)}"


def _object_path(kind: ObjectKind, namespace: str, name: str) -> str:
    if kind.namespaced and not namespace:
        raise PermanentError(f"{kind.kind} {name}: a namespace is needed", reason="Invalid")
    return f"{_collection_path(kind, namespace)}/{_segment(name)}"


def _segment(text: str) -> str:
    """One segment of a path, which a name with dots and slashes could leave."""
    if not _SEGMENT.fullmatch(text):
        raise PermanentError(f"{text[:80]!r} is no name of an object (invalid)", reason="Invalid")
    return text


def _is_absent(answer: Answer) -> bool:
    """The object is not there, while its kind is."""
    return answer.status == 404 and bool((_status(answer).get("details") or {}).get("name"))


def _is_other_uid(answer: Answer) -> bool:
    return "uid" in str(_status(answer).get("message", "")).lower()


def _parsed(answer: Answer, what: str, *, quiet: bool = False) -> dict[str, Any]:
    if not 200 <= answer.status < 300:
        raise _failure(answer, what, quiet=quiet)
    body = _json(answer)
    if body is None:
        raise answers.unreachable(what, "the answer is not what a Kubernetes API sends")
    return body


def _failure(answer: Answer, what: str, *, quiet: bool = False) -> answers.Failure:
    return answers.failure_for(answer.status, _status(answer), what=what, retry_after=answer.retry_after, quiet=quiet)


def _status(answer: Answer) -> dict[str, Any]:
    body = _json(answer)
    if body is not None and body.get("kind") == "Status":
        return body
    return {"message": answers.shorten(answer.body[:512].decode("utf-8", errors="replace").strip(), 200)}


def _json(answer: Answer) -> dict[str, Any] | None:
    try:
        body = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return None
    return body if isinstance(body, dict) else None
