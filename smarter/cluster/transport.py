"""Bytes to and from a Kubernetes API server, by the raw path of the official client: no typed models, a cap on the size
and the time of every answer, and no retries that the caller does not know of.

Only `kubernetes.py` uses it. The client is made on first use in each process, because a pool does not survive a fork.
"""

import os
import ssl
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3
from kubernetes.client import ApiClient, ApiException, Configuration
from pydantic import SecretStr

from smarter.cluster import answers
from smarter.cluster.kubeconfig import Connection
from smarter.core.errors import PermanentError

CONNECT_TIMEOUT_SECONDS = 3
READ_TIMEOUT_SECONDS = 20
TOTAL_TIMEOUT_SECONDS = 60
"""A server that sends a byte now and then never meets the read timeout."""
ANSWER_LIMIT = 32 * 1024 * 1024
_CHUNK = 256 * 1024

Query = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    retry_after: str


class Transport:
    def __init__(self, connection: Connection, pool_size: int) -> None:
        self._connection = connection
        self._pool_size = pool_size
        self._lock = threading.Lock()
        self._client: ApiClient | None = None
        self._pid = -1

    def send(
        self,
        method: str,
        path: str,
        query: Query = (),
        body: bytes | dict[str, Any] | None = None,
        content_type: str = "application/json",
        limit: int = ANSWER_LIMIT,
    ) -> Answer:
        """TemporaryError ClusterUnavailable if no whole answer came; any status that did come is returned. A body of
        type application/json is a dict, because the client would encode bytes once more; any other is bytes."""
        what = f"{method} {path}"
        client = self._client_of_process()
        headers = {"Accept": "application/json, */*", "Content-Type": content_type}
        request = client.param_serialize(
            method=method,
            resource_path=path,
            query_params=list(query),
            header_params=headers,
            body=body,
            auth_settings=["BearerToken"],
        )
        deadline = time.monotonic() + TOTAL_TIMEOUT_SECONDS
        try:
            timeout = (CONNECT_TIMEOUT_SECONDS, READ_TIMEOUT_SECONDS)
            response = client.call_api(*request, _request_timeout=timeout).response
            return Answer(
                response.status, _read(response, what, limit, deadline), response.headers.get("Retry-After", "")
            )
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as error:
            raise answers.unreachable(what, _why(error)) from None

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
            if client is not None and self._pid == os.getpid():
                client.rest_client.pool_manager.clear()

    def _client_of_process(self) -> ApiClient:
        with self._lock:
            if self._client is None or self._pid != os.getpid():
                self._client = _client(self._connection, self._pool_size)
                self._pid = os.getpid()
            return self._client


def _client(connection: Connection, pool_size: int) -> ApiClient:
    configuration = Configuration()
    configuration.host = connection.server
    # Proxies come from the environment otherwise, and would see every request.
    configuration.proxy = None
    if connection.token is not None:
        configuration.api_key = {"BearerToken": f"Bearer {connection.token.get_secret_value()}"}
    client = ApiClient(configuration)
    client.user_agent = "smarter"
    client.rest_client.pool_manager.clear()
    client.rest_client.pool_manager = urllib3.PoolManager(
        num_pools=2,
        maxsize=pool_size,
        retries=False,
        ssl_context=_tls(connection) if connection.server.startswith("https:") else None,
        **_server_name(connection),
    )
    return client


def _server_name(connection: Connection) -> dict[str, Any]:
    name = connection.server_name
    return {"server_hostname": name, "assert_hostname": name} if name else {}


def _tls(connection: Connection) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=connection.certificate_authority)
    # Newer Pythons ask for extensions that the certificates of many clusters do not have.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if connection.client_certificate and connection.client_key is not None:
        _load_client_certificate(context, connection.client_certificate, connection.client_key)
    return context


def _load_client_certificate(context: ssl.SSLContext, certificate: str, key: SecretStr) -> None:
    """OpenSSL reads them from a file only: one in a folder that nobody else may enter, gone when this returns."""
    with tempfile.TemporaryDirectory(prefix="smarter-") as folder:
        path = Path(folder) / "client.pem"
        path.touch(mode=0o600)
        path.write_text(f"{certificate}\n{key.get_secret_value()}\n")
        context.load_cert_chain(path)


def _read(response: urllib3.BaseHTTPResponse, what: str, limit: int, deadline: float) -> bytes:
    chunks, size = [], 0
    try:
        while chunk := response.read(_CHUNK):
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                raise PermanentError(f"{what}: the answer is larger than {limit} bytes", reason="Invalid")
            if time.monotonic() > deadline:
                raise answers.unreachable(what, f"the answer takes longer than {TOTAL_TIMEOUT_SECONDS} s")
    except BaseException:
        response.close()
        raise
    response.release_conn()
    return b"".join(chunks)


def _why(error: Exception) -> str:
    """In words that name no credentials: the client's messages hold addresses and system errors only."""
    if isinstance(error, ApiException):
        return answers.shorten(str(error.reason or "TLS failed").replace("\n", ": "), 300)
    if isinstance(error, urllib3.exceptions.TimeoutError):
        return f"timed out: {type(error).__name__}"
    return answers.shorten(f"{type(error).__name__}: {error}", 300)
