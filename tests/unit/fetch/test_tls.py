"""Certificates: a trusted one for the right name works, anything else ends the fetch with a reason of its own."""

import datetime
import ipaddress
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.unit.fetch.conftest import Outcome
from tests.unit.fetch.server import Site, serving

Fetch = Callable[..., Outcome]


def self_signed(folder: Path, name: str) -> Path:
    """One PEM file with key and certificate for a name or address."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    other = x509.IPAddress(ipaddress.ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(begin + datetime.timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([other]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.mark.parametrize(
    ("name", "trusted", "code"),
    [("127.0.0.1", True, 0), ("127.0.0.1", False, 9), ("models.example.com", True, 9)],
    ids=["good", "untrusted", "other_name"],
)
def test_certificates(fetch: Fetch, target: Path, tmp_path: Path, name: str, trusted: bool, code: int) -> None:
    pem = self_signed(tmp_path, name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    environment = {"SSL_CERT_FILE": str(pem)} if trusted else {}
    with serving(Site(files={"a.gguf": b"weights"}), context) as site:
        arguments = ["--source", "url", "--repository", f"{site.url}/a.gguf", "--allow-private"]
        outcome = fetch(*arguments, hub=False, local=False, **environment)
    assert outcome.code == code
    assert (target / "a.gguf").exists() == (code == 0)
    if code:
        assert outcome.last["reason"] == "bad_certificate"
