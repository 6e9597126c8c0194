"""The public address of a workload: an Ingress that exposes listed paths only, and its certificate.

Annotations are constants. Controllers paste their values into configuration files, so no text of a manifest may ever
stand in one.
"""

from collections.abc import Sequence

from smarter.core.facts import Environment
from smarter.core.objects import ACCOUNT_LABEL, CERTIFICATE_OF_LABEL, KubernetesObject
from smarter.render.identity import Identity
from smarter.render.pod import PORT_NAME

# Answers may stream for an hour with pauses; plain HTTP is sent on to HTTPS. Each controller reads its own.
_ANNOTATIONS = {
    "nginx.ingress.kubernetes.io/force-ssl-redirect": "true",
    "nginx.ingress.kubernetes.io/proxy-body-size": "64m",
    "nginx.ingress.kubernetes.io/proxy-buffering": "off",
    "nginx.ingress.kubernetes.io/proxy-read-timeout": "3600",
    "nginx.ingress.kubernetes.io/proxy-send-timeout": "3600",
    "traefik.ingress.kubernetes.io/router.entrypoints": "websecure",
    "traefik.ingress.kubernetes.io/router.tls": "true",
}


def tls_secret_name(identity: Identity) -> str:
    return f"{identity.name}-tls"


def ingress(identity: Identity, host: str, paths: Sequence[str], environment: Environment) -> KubernetesObject:
    backend = {"service": {"name": identity.name, "port": {"name": PORT_NAME}}}
    rules = [{"path": path, "pathType": "Prefix", "backend": backend} for path in paths]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {**identity.metadata(), "annotations": dict(_ANNOTATIONS)},
        "spec": {
            "ingressClassName": environment.ingress_class,
            "rules": [{"host": host, "http": {"paths": rules}}],
            "tls": [{"hosts": [host], "secretName": tls_secret_name(identity)}],
        },
    }


def certificate(identity: Identity, host: str, environment: Environment) -> KubernetesObject:
    """Without a common name: that is limited to 64 characters, host names are not."""
    labels = {ACCOUNT_LABEL: identity.account_number, CERTIFICATE_OF_LABEL: identity.owner_uid}
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": identity.metadata(),
        "spec": {
            "dnsNames": [host],
            "issuerRef": {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": environment.cluster_issuer},
            "privateKey": {"rotationPolicy": "Always"},
            "secretName": tls_secret_name(identity),
            "secretTemplate": {"labels": labels},
        },
    }
