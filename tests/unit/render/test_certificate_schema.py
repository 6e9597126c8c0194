"""cert-manager's Certificate against the fields that its v1 API has; no release of Kubernetes brings their schema."""

from typing import Any

from tests.llm_hosts import host, objects, one

FIELDS: dict[str, Any] = {
    "dnsNames": list,
    "issuerRef": {"group": str, "kind": str, "name": str},
    "privateKey": {"rotationPolicy": str},
    "secretName": str,
    "secretTemplate": {"labels": dict},
}


def test_fields() -> None:
    spec = one(objects(host({"network.ingress": True})), "Certificate")["spec"]
    assert set(spec) == set(FIELDS)
    for name, form in FIELDS.items():
        if isinstance(form, dict):
            assert {key: type(value) for key, value in spec[name].items()} == form
        else:
            assert isinstance(spec[name], form)
    assert spec["privateKey"]["rotationPolicy"] in ("Always", "Never")
