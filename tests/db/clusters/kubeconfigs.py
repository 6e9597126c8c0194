"""A kubeconfig that is accepted, and a few that are not. Nothing listens where they point to."""

import base64
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

TOKEN = "canary-kubeconfig-token"


def _certificate() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=36500))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return base64.b64encode(certificate.public_bytes(serialization.Encoding.PEM)).decode()


CERTIFICATE = _certificate()


def kubeconfig(user: str = f"token: {TOKEN}", server: str = "https://cluster.example.com:6443") -> str:
    return f"""apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{server}", certificate-authority-data: {CERTIFICATE}}}}}]
users: [{{name: u, user: {{{user}}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""


REFUSED = {
    "runs a program": kubeconfig("exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/true}"),
    "reads a file": kubeconfig("tokenFile: /etc/passwd"),
    "an old plugin": kubeconfig("auth-provider: {name: gcp}"),
    "plain http": kubeconfig(server="http://cluster.example.com"),
    "not a kubeconfig": "hello",
    "empty mapping": "{}",
}
