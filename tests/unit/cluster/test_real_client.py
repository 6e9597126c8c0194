"""The real client against a server that answers as it is told, well or badly."""

import json
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import SecretStr

from smarter.cluster import transport
from smarter.cluster.kubeconfig import Connection
from smarter.cluster.kubernetes import KubernetesCluster
from smarter.core.errors import PermanentError, TemporaryError
from smarter.core.objects import CONFIG_MAP, POD, ObjectRef
from tests.unit.cluster import certificates

TOKEN = "canary-token-4711"
REF = ObjectRef(CONFIG_MAP, "space", "settings")
BODY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "space"}, "data": {}}
Reply = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Every method goes to the server's `reply`; requests are kept in `seen`."""

    protocol_version = "HTTP/1.1"
    server: "Server"

    def handle_any(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        self.server.seen.append((self.command, self.path, dict(self.headers), body))
        self.server.reply(self)

    do_GET = do_PATCH = do_DELETE = do_POST = handle_any

    def log_message(self, *arguments: Any) -> None:
        pass

    def send(self, code: int, body: Any, **headers: str) -> None:
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        for name, value in {"Content-Length": str(len(text)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(text)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.reply: Reply = lambda handler: handler.send(200, {})

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def cluster(server: Server) -> Iterator[KubernetesCluster]:
    made = KubernetesCluster(Connection(server.address, token=SecretStr(TOKEN)))
    yield made
    made.close()


def _status(code: int, message: str = "no", reason: str = "", **details: Any) -> dict[str, Any]:
    return {"kind": "Status", "code": code, "message": message, "reason": reason, "details": details}


QUOTA = 'pods "a" is forbidden: exceeded quota: account, requested: pods=1'
TERMINATING = [{"reason": "NamespaceTerminating"}]
FAILURES = [
    (401, _status(401), TemporaryError, "CredentialsInvalid"),
    (403, _status(403, "you may not"), PermanentError, "Forbidden"),
    (403, _status(403, QUOTA), PermanentError, "QuotaExceeded"),
    (403, _status(403, causes=TERMINATING), TemporaryError, "Conflict"),
    (404, _status(404, kind="namespaces", name="space"), PermanentError, "NamespaceMissing"),
    (404, b"404 page not found\n", PermanentError, "KindMissing"),
    (404, _status(404), PermanentError, "KindMissing"),
    (408, _status(408), TemporaryError, "ClusterUnavailable"),
    (409, _status(409, causes=[{"reason": "FieldManagerConflict", "field": ".data.a"}]), PermanentError, "NameTaken"),
    (409, _status(409), TemporaryError, "Conflict"),
    (410, _status(410), TemporaryError, "ClusterUnavailable"),
    (413, _status(413), PermanentError, "Invalid"),
    (422, _status(422, causes=[{"field": "spec.a", "message": "Required value"}]), PermanentError, "Invalid"),
    (400, _status(400), PermanentError, "Invalid"),
    (429, _status(429), TemporaryError, "TooManyRequests"),
    (500, _status(500, "etcd is away"), TemporaryError, "ClusterUnavailable"),
    (500, _status(500, "failed to create typed patch object (a): .b: no"), PermanentError, "Invalid"),
    (502, b"<html>bad gateway</html>", TemporaryError, "ClusterUnavailable"),
    (503, _status(503), TemporaryError, "ClusterUnavailable"),
    (504, b"", TemporaryError, "ClusterUnavailable"),
    (302, b"", TemporaryError, "ClusterUnavailable"),
]


@pytest.mark.parametrize(("code", "body", "error", "reason"), FAILURES, ids=[f"{one[0]} {one[3]}" for one in FAILURES])
def test_statuses(
    server: Server,
    cluster: KubernetesCluster,
    code: int,
    body: Any,
    error: type[TemporaryError | PermanentError],
    reason: str,
) -> None:
    server.reply = lambda handler: handler.send(code, body, Location="http://127.0.0.1:1/elsewhere")
    with pytest.raises(error) as raised:
        cluster.apply(BODY)
    assert isinstance(raised.value, TemporaryError | PermanentError)
    assert raised.value.reason == reason
    assert "settings" in str(raised.value)
    assert len(server.seen) == 1, "nothing is tried twice behind the caller's back, and no redirect is followed"


def test_causes_are_told(server: Server, cluster: KubernetesCluster) -> None:
    causes = [{"field": f"spec.f{number}", "message": "x" * 300} for number in range(50)]
    server.reply = lambda handler: handler.send(422, _status(422, causes=causes))
    with pytest.raises(PermanentError) as raised:
        cluster.apply(BODY)
    assert "spec.f0" in raised.value.message
    assert len(raised.value.message) <= 1024


@pytest.mark.parametrize(("header", "delay"), [("7", 7.0), ("0", 0.0), ("99999", 300.0), ("soon", 1.0)])
def test_retry_after(server: Server, cluster: KubernetesCluster, header: str, delay: float) -> None:
    server.reply = lambda handler: handler.send(429, _status(429), Retry_After=header)
    with pytest.raises(TemporaryError) as raised:
        cluster.get(REF)
    assert raised.value.delay_seconds == delay


def test_apply_asks_as_agreed(server: Server, cluster: KubernetesCluster) -> None:
    server.reply = lambda handler: handler.send(200, {**BODY, "metadata": {"name": "settings", "managedFields": [1]}})
    answer = cluster.apply({**BODY, "data": {"a": "b"}}, dry_run=True)
    method, path, headers, body = server.seen[0]
    assert method == "PATCH"
    assert urlsplit(path).path == "/api/v1/namespaces/space/configmaps/settings"
    assert parse_qs(urlsplit(path).query) == {
        "fieldManager": ["smarter"],
        "fieldValidation": ["Strict"],
        "force": ["true"],
        "dryRun": ["All"],
    }
    assert headers["Content-Type"] == "application/apply-patch+yaml"
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert json.loads(body)["data"] == {"a": "b"}
    assert "managedFields" not in answer["metadata"]


def test_apply_without_force(server: Server, cluster: KubernetesCluster) -> None:
    server.reply = lambda handler: handler.send(200, BODY)
    cluster.apply(BODY, force=False)
    assert "force" not in server.seen[0][1]
    assert "dryRun" not in server.seen[0][1]


def test_delete_asks_as_agreed(server: Server, cluster: KubernetesCluster) -> None:
    assert cluster.delete(REF, uid="u-1") is True
    options = json.loads(server.seen[0][3])
    assert options["preconditions"] == {"uid": "u-1"}
    assert options["propagationPolicy"] == "Background"


def test_pages_and_a_place_that_expired(server: Server, cluster: KubernetesCluster) -> None:
    """The second page is gone at the first try, so the list begins again."""
    expired = [True]

    def reply(handler: Handler) -> None:
        query = parse_qs(urlsplit(handler.path).query)
        if "continue" not in query:
            items = [{"metadata": {"name": "a", "managedFields": []}}]
            handler.send(200, {"metadata": {"continue": "next"}, "items": items})
        elif expired.pop() if expired else False:
            handler.send(410, _status(410, reason="Expired"))
        else:
            handler.send(200, {"metadata": {}, "items": [{"metadata": {"name": "b"}}]})

    server.reply = reply
    found = cluster.list(POD, label_selector="a=b", namespace="space")
    assert found == [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}},
    ]
    assert len(server.seen) == 4
    assert all(parse_qs(urlsplit(path).query)["limit"] == ["500"] for _, path, _, _ in server.seen)


def test_list_that_expires_for_ever(server: Server, cluster: KubernetesCluster) -> None:
    def reply(handler: Handler) -> None:
        if "continue" in handler.path:
            handler.send(410, _status(410))
        else:
            handler.send(200, {"metadata": {"continue": "next"}, "items": []})

    server.reply = reply
    with pytest.raises(TemporaryError):
        cluster.list(POD)
    assert len(server.seen) == 6


def test_answer_that_is_too_large(server: Server, cluster: KubernetesCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    server.reply = lambda handler: handler.send(200, b"{" + b" " * (33 * 1024 * 1024) + b"}")
    with pytest.raises(PermanentError) as raised:
        cluster.list(POD)
    assert "larger" in raised.value.message


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"items": [', b""])
def test_answer_that_is_no_object(server: Server, cluster: KubernetesCluster, body: bytes) -> None:
    server.reply = lambda handler: handler.send(200, body)
    with pytest.raises(TemporaryError) as raised:
        cluster.list(POD)
    assert raised.value.reason == "ClusterUnavailable"


def test_half_an_answer(server: Server, cluster: KubernetesCluster) -> None:
    def reply(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"items": [')
        handler.close_connection = True

    server.reply = reply
    with pytest.raises(TemporaryError) as raised:
        cluster.list(POD)
    assert raised.value.reason == "ClusterUnavailable"


def test_connection_that_breaks(server: Server, cluster: KubernetesCluster) -> None:
    def reply(handler: Handler) -> None:
        handler.connection.shutdown(socket.SHUT_RDWR)
        handler.close_connection = True

    server.reply = reply
    with pytest.raises(TemporaryError) as raised:
        cluster.apply(BODY)
    assert raised.value.reason == "ClusterUnavailable"
    assert len(server.seen) == 1, "a write whose answer is lost is not sent again unasked"


def test_server_that_says_nothing(server: Server, cluster: KubernetesCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "READ_TIMEOUT_SECONDS", 0.2)
    release = threading.Event()
    server.reply = lambda handler: (release.wait(5), None)[1]
    with pytest.raises(TemporaryError) as raised:
        cluster.get(REF)
    release.set()
    assert "timed out" in raised.value.message


def test_server_that_drips(server: Server, cluster: KubernetesCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "TOTAL_TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(transport, "_CHUNK", 1)
    stop = threading.Event()

    def reply(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            if stop.wait(0.05):
                return

    server.reply = reply
    with pytest.raises(TemporaryError) as raised:
        cluster.get(REF)
    stop.set()
    assert "longer" in raised.value.message


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(TemporaryError) as raised:
            KubernetesCluster(Connection(address, token=SecretStr(TOKEN))).get(REF)
    assert raised.value.reason == "ClusterUnavailable"
    assert TOKEN not in raised.value.message


def test_proxy_of_the_environment_is_not_used(
    server: Server, cluster: KubernetesCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert cluster.delete(REF) is True


def test_logs_are_asked_for_in_bounds(server: Server, cluster: KubernetesCluster) -> None:
    server.reply = lambda handler: handler.send(200, b"one\n\xff\n")
    assert cluster.logs("space", "pod", container="main", tail_lines=7, previous=True) == "one\n\ufffd\n"
    assert parse_qs(urlsplit(server.seen[0][1]).query) == {
        "container": ["main"],
        "tailLines": ["7"],
        "limitBytes": ["1048576"],
        "previous": ["true"],
    }


def test_features_and_nodes(server: Server, cluster: KubernetesCluster) -> None:
    groups = ["apps", "cert-manager.io", "gateway.networking.k8s.io", "inference.networking.k8s.io", "keda.sh"]
    groups += ["serving.kserve.io", "kaito.sh"]
    answers: dict[str, dict[str, Any]] = {
        "/version": {"gitVersion": "v1.36.1"},
        "/apis": {"groups": [{"name": name} for name in groups]},
        "/api/v1/nodes": _status(403, "nodes is forbidden"),
    }

    def reply(handler: Handler) -> None:
        body = answers[urlsplit(handler.path).path]
        handler.send(int(body.get("code", 200)), body)

    server.reply = reply
    info = cluster.info()
    assert info.version == "v1.36.1"
    assert info.features == {"cert-manager", "gateway-api", "inference-extension", "keda", "kserve", "kaito"}
    assert info.nodes == (), "nodes that one may not list are no failure"


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a%2fb", "", "a?b"])
def test_names_stay_in_their_segment(server: Server, cluster: KubernetesCluster, name: str) -> None:
    with pytest.raises(PermanentError):
        cluster.get(ObjectRef(CONFIG_MAP, "space", name))
    with pytest.raises(PermanentError):
        cluster.list(CONFIG_MAP, namespace=name) if name else cluster.get(ObjectRef(CONFIG_MAP, "", "a"))
    assert server.seen == []


def _over_tls(server: Server, folder: Path, certificate: str, key: str, client_authority: str = "") -> None:
    path = folder / "server.pem"
    path.write_text(certificate + key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    if client_authority:
        context.load_verify_locations(cadata=client_authority)
        context.verify_mode = ssl.CERT_REQUIRED
    server.socket = context.wrap_socket(server.socket, server_side=True)


def test_client_certificate_leaves_no_file(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = certificates.self_signed("server")
    mine, my_key = certificates.self_signed("client")
    _over_tls(server, tmp_path, certificate, key, mine)
    files = tmp_path / "files"
    files.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(files))
    connection = Connection(
        server.address.replace("http:", "https:"),
        certificate_authority=certificate,
        client_certificate=mine,
        client_key=SecretStr(my_key),
    )
    cluster = KubernetesCluster(connection)
    assert cluster.delete(REF) is True
    assert list(files.iterdir()) == []
    cluster.close()


def test_certificate_of_another_authority(server: Server, tmp_path: Path) -> None:
    certificate, key = certificates.self_signed("server")
    _over_tls(server, tmp_path, certificate, key)
    stranger, _ = certificates.self_signed("stranger")
    connection = Connection(server.address.replace("http:", "https:"), certificate_authority=stranger)
    with pytest.raises(TemporaryError) as raised:
        KubernetesCluster(connection).get(REF)
    assert raised.value.reason == "ClusterUnavailable"
    assert server.seen == []
