"""Cases of the public address: its host name, its certificate, and whose it is."""

import json
from typing import Any

import pytest
from django.conf import settings

from smarter.apps.clusters.models import Cluster as ClusterRow
from smarter.core.objects import SECRET, ObjectRef
from tests.cases.conftest import Desk
from tests.llm_hosts import facts, host, objects, one
from tests.unit.kinds import observed as seen
from tests.unit.kinds.test_llm_host_observe import look

PUBLIC = {"network.ingress": True}
LONG = "a_name_of_twenty_five_chr"


def at(hostname: str) -> dict[str, Any]:
    return {"network.ingress": True, "network.hostname": hostname}


@pytest.mark.django_db
@pytest.mark.parametrize("name", [LONG, "a" * 50])
def test_c64_certificate_names_no_common_name(desk: Desk, name: str) -> None:
    rendered = objects(host(PUBLIC, name=name))
    certificate, ingress = one(rendered, "Certificate"), one(rendered, "Ingress")
    (hostname,) = certificate["spec"]["dnsNames"]
    assert len(certificate["spec"].get("commonName", "")) <= 64
    assert hostname == ingress["spec"]["rules"][0]["host"]
    assert "cert-manager.io/common-name" not in json.dumps(rendered)
    assert "subject" not in certificate["spec"]
    desk.run(PUBLIC, name=name)
    assert len(desk.status(name)["publicUrl"]) > 64
    assert {one["type"]: one["status"] for one in desk.status(name)["conditions"]}["CertificateReady"] == "True"


def test_c64_certificate_that_is_refused_shows_its_condition() -> None:
    manifest = host(PUBLIC, name=LONG)
    rendered = objects(manifest)
    refused = seen.condition("Ready", "False", reason="Failed", message="The CSR PEM contains an invalid common name")
    live = (seen.deployment(rendered), seen.ready_pod(), one(rendered, "Ingress"), seen.certificate(rendered, refused))
    found = look(*live, manifest=manifest)
    assert not found.ready
    assert "invalid common name" in found.message


@pytest.mark.django_db
@pytest.mark.parametrize("spelling", ["chat.example.org", "CHAT.example.org", "Chat.Example.ORG"])
def test_c65_two_tenants_claim_one_hostname(desk: Desk, other: Desk, spelling: str) -> None:
    desk.run(at("chat.example.org"))
    answer = other.apply(at(spelling), deploy=True)
    assert answer.status == 409
    assert set(answer.errors) == {"spec.network.hostname"}
    told = answer.response.content.decode()
    for secret in (desk.world.actor.account.number, desk.world.actor.account.name, "case_host", "tina"):
        assert secret not in told
    other.run(at("other.example.org"))
    hosts = [body["spec"]["rules"][0]["host"] for desk in (desk, other) for body in [desk.live("Ingress")]]
    assert sorted(hosts) == ["chat.example.org", "other.example.org"]


@pytest.mark.django_db
def test_c65_hostname_with_a_dot_at_its_end(desk: Desk, other: Desk) -> None:
    desk.run(at("chat.example.org"))
    assert other.apply(at("chat.example.org."), deploy=True).status in (409, 422)


@pytest.mark.django_db
def test_c65_zones_of_the_platform_and_of_other_accounts(desk: Desk, other: Desk) -> None:
    domain, number = settings.SMARTER.api_domain, desk.world.actor.account.number
    for taken in (
        f"x.llmhost.{number}.{domain}",
        domain,
        f"www.{domain}",
        f"llmhost.{number}.{domain}",
        f"X.LLMHOST.{number}.{domain}".upper(),
    ):
        answer = other.apply(at(taken), deploy=True)
        assert answer.status in (409, 422), taken
        assert set(answer.errors) == {"spec.network.hostname"}
    own = other.world.actor.account.number
    assert other.apply(at(f"x.llmhost.{own}.{domain}"), deploy=True).status == 200


@pytest.mark.django_db
def test_c65_two_names_of_one_account_that_make_one_hostname(desk: Desk) -> None:
    desk.run(PUBLIC)
    domain, number = settings.SMARTER.api_domain, desk.world.actor.account.number
    answer = desk.apply(at(f"case-host.llmhost.{number}.{domain}"), name="second", deploy=True)
    assert answer.status == 409


@pytest.mark.django_db
@pytest.mark.parametrize(
    "hostname",
    [
        "https://llm.example.org",
        "llm.example.org/v1",
        "*.example.org",
        "my_llm.example.org",
        "10.0.0.1",
        "a." * 126 + "example",
        "llm..example.org",
        "llm.example.org:443",
        "-llm.example.org",
        "localhost",
        "",
        f"{'a' * 64}.example.org",
    ],
)
def test_c66_hostname_that_is_none(desk: Desk, hostname: str) -> None:
    assert "spec.network.hostname" in desk.refuse(at(hostname))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "rendered"),
    [("LLM.Example.org", "llm.example.org"), ("xn--bcher-kva.example", "xn--bcher-kva.example")],
)
def test_c66_hostname_in_capitals_and_in_punycode(desk: Desk, given: str, rendered: str) -> None:
    desk.run(at(given))
    assert desk.live("Ingress")["spec"]["rules"][0]["host"] == rendered
    assert desk.live("Certificate")["spec"]["dnsNames"] == [rendered]
    assert desk.status()["publicUrl"] == f"https://{rendered}/v1"


@pytest.mark.django_db
@pytest.mark.parametrize("retain", [True, False])
def test_c67_certificate_is_ordered_once_over_six_launches(desk: Desk, retain: bool) -> None:
    changes = {**PUBLIC, "storage.retain": retain}
    names, secrets = set(), set()
    for _ in range(6):
        desk.run(changes)
        certificate = desk.live("Certificate")
        names.add(certificate["spec"]["secretName"])
        secrets.add(_tls_secret(desk, certificate)["metadata"]["uid"])
        desk.http.post("/llmhosts/case_host/undeploy")
        desk.world.settle("case_host", "inactive")
    assert len(names) == 1
    # A Secret that is there and fits is used again by cert-manager: nothing is ordered.
    assert len(secrets) == 1


def _tls_secret(desk: Desk, certificate: dict[str, Any]) -> dict[str, Any]:
    ref = ObjectRef(SECRET, certificate["metadata"]["namespace"], certificate["spec"]["secretName"])
    found = desk.world.sim.get(ref)
    assert found is not None
    return found


def test_c67_rate_limit_of_the_issuer_is_told() -> None:
    manifest = host(PUBLIC)
    rendered = objects(manifest)
    words = "Failed to create Order: 429 urn:ietf:params:acme:error:rateLimited: too many certificates already issued"
    limited = seen.condition("Ready", "False", reason="Failed", message=words)
    live = (seen.deployment(rendered), seen.ready_pod(), one(rendered, "Ingress"), seen.certificate(rendered, limited))
    found = look(*live, manifest=manifest)
    assert "too many certificates already issued" in found.message


@pytest.mark.django_db
def test_c68_ingress_is_never_served_in_clear(desk: Desk) -> None:
    for features in (frozenset({"cert-manager"}), frozenset[str]()):
        manifest = host(PUBLIC)
        ingress = one(objects(manifest, features=features), "Ingress")
        (rule,) = ingress["spec"]["rules"]
        assert ingress["spec"]["ingressClassName"]
        assert [entry["hosts"] for entry in ingress["spec"]["tls"]] == [[rule["host"]]]
        notes = ingress["metadata"]["annotations"]
        assert notes["nginx.ingress.kubernetes.io/force-ssl-redirect"] == "true"
        assert notes["traefik.ingress.kubernetes.io/router.entrypoints"] == "websecure"
    assert facts(host(PUBLIC)).environment.cluster_issuer


@pytest.mark.django_db
def test_c68_cluster_without_an_issuer_is_told_before_and_after(desk: Desk) -> None:
    desk.world.sim.prepare((), frozenset())
    ClusterRow.all_accounts.filter(pk=desk.world.cluster.pk).update(features=[])
    desk.world.cluster.refresh_from_db()
    answer = desk.apply(PUBLIC, deploy=True)
    assert "spec.network.ingress" in answer.warnings
    status = desk.wait("active")
    conditions = {one["type"]: one for one in status["conditions"]}
    assert conditions["CertificateReady"]["status"] == "False"
    assert "cert-manager" in conditions["CertificateReady"]["message"]
    assert desk.live("Ingress")["spec"]["tls"]
