"""Certificates and keys of one control plane, made by the openssl program; called by `up`."""

import shutil
import subprocess
from pathlib import Path

from tests.cluster.control_plane.versions import ControlPlaneError

DAYS = "365"
NAMES = "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:10.96.0.1"
EXTENSIONS = f"""
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature, keyEncipherment
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = {NAMES}
"""
AUTHORITY = """
[req]
distinguished_name = name
x509_extensions = authority
prompt = no
[name]
CN = smarter-test-control-plane
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, digitalSignature, keyCertSign, cRLSign
subjectKeyIdentifier = hash
"""


def make(folder: Path) -> None:
    """Writes ca.crt, ca.key, server.crt, server.key and service-accounts.key, readable by the user alone."""
    if shutil.which("openssl") is None:
        raise ControlPlaneError(
            "the openssl program is needed to make certificates and was not found; install the package 'openssl'"
        )
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    (folder / "authority.cnf").write_text(AUTHORITY)
    (folder / "server.cnf").write_text(EXTENSIONS)
    elliptic = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    authority = ["-x509", "-days", DAYS, "-config", "authority.cnf", "-keyout", "ca.key", "-out", "ca.crt"]
    openssl(folder, "req", *elliptic, *authority)
    openssl(folder, "req", *elliptic, "-config", "authority.cnf", "-keyout", "server.key", "-out", "server.csr")
    signer = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", DAYS, "-extfile", "server.cnf"]
    openssl(folder, "x509", "-req", "-in", "server.csr", *signer, "-out", "server.crt")
    openssl(folder, "genrsa", "-out", "service-accounts.key", "2048")


def openssl(folder: Path, *arguments: str) -> None:
    result = subprocess.run(["openssl", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ControlPlaneError(f"openssl {arguments[0]} failed: {result.stderr.strip()}")
