"""Whether an LLMHost is reachable from outside as its manifest says: its certificate and its Ingress."""

from smarter.core.conditions import Condition, Truth
from smarter.core.facts import Facts
from smarter.kinds.sam.llm_host import words
from smarter.kinds.sam.llm_host.host import Host, block
from smarter.kinds.sam.llm_host.pods import condition
from smarter.kinds.sam.llm_host.view import View

NOT_NEEDED = "NotNeeded"
UNAVAILABLE = "CertificateUnavailable"
_RATE_WORDS = ("ratelimited", "rate limit", "too many certificates", "429")
_ISSUER_WORDS = ("issuer", "not found")


def is_published(host: Host, view: View | None) -> bool:
    return not block(host.spec.network).ingress or (view is not None and view.ingress is not None)


def is_settled(certificate: Condition) -> bool:
    """Where nothing can issue one, nothing is waited for: the host serves, and the condition says what is missing."""
    return certificate.status == "True" or certificate.reason == UNAVAILABLE


def certificate_of(host: Host, facts: Facts, view: View | None) -> Condition:
    """Unknown while cert-manager has not judged it; False from its first look until the certificate is there."""
    if not block(host.spec.network).ingress:
        return Condition("CertificateReady", "True", NOT_NEEDED)
    if "cert-manager" not in facts.features:
        text = "The cluster has no cert-manager to issue a certificate. Install it, and one is ordered for this host."
        return Condition("CertificateReady", "False", UNAVAILABLE, text)
    status = (view.certificate.get("status") or {}) if view and view.certificate else {}
    ready = condition(status, "Ready")
    truth = str(ready.get("status") or "Unknown")
    if truth == "True":
        return Condition("CertificateReady", "True", "Issued")
    # What went wrong with the last order stands in the condition of the order, not in that of the certificate.
    issuing = condition(status, "Issuing")
    failed = issuing if issuing.get("status") == "False" and issuing.get("message") else None
    spoken = failed or ready
    said = words.sentence(spoken.get("message"), 600) or "It has just been asked for."
    reason, advice = _advice(str(spoken.get("message") or ""), facts, failed=failed is not None)
    text = f"The certificate of {host.public_host(facts)} is not issued: {said} {advice}"
    value: Truth = "False" if truth == "False" else "Unknown"
    return Condition("CertificateReady", value, reason or str(spoken.get("reason") or "Pending"), text)


def _advice(said: str, facts: Facts, *, failed: bool) -> tuple[str, str]:
    low = said.lower()
    if any(word in low for word in _RATE_WORDS):
        advice = (
            "The issuer has made too many for this name lately and makes more only after its waiting time, often a "
            "week. Choose another network.hostname meanwhile; undeploying and launching again does not help."
        )
        return "RateLimited", advice
    if all(word in low for word in _ISSUER_WORDS):
        issuer = facts.environment.cluster_issuer
        advice = f"The cluster has no issuer {issuer}: its operator must make one, or name another in the Cluster."
        return "IssuerMissing", advice
    return "OrderFailed" if failed else "", "The name must lead to the cluster's ingress controller."


def ingress_of(host: Host, facts: Facts, view: View | None) -> Condition | None:
    """Unknown where no controller has written an address: some never do. None where nothing is published."""
    if not block(host.spec.network).ingress:
        return None
    if view is None or view.ingress is None:
        return Condition("IngressReady", "False", "Missing", "The public address is not set up yet.")
    addresses = ((view.ingress.get("status") or {}).get("loadBalancer") or {}).get("ingress")
    if addresses:
        return Condition("IngressReady", "True", "Addressed")
    text = (
        f"No ingress controller has taken the public address so far. The cluster may have none for the ingress class "
        f"{facts.environment.ingress_class}; name the right one in the Cluster."
    )
    return Condition("IngressReady", "Unknown", "NoAddress", text)
