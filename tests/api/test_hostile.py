"""Documents that mean harm, through the real edge: no answer is 5xx, nothing is stored, nothing is queued."""

import json
from typing import Any

import pytest

from smarter.apps.resources.models import AuditEvent, Event, Resource
from smarter.apps.secrets.models import Secret
from tests.api.conftest import Caller, Problem
from tests.corpus.hostile import HOSTILE, HostileCase
from tests.db.resources.toys import gadget

pytestmark = pytest.mark.django_db

DEEP = 50_000
OWN = {
    "only braces": b"{" * DEEP,
    "only brackets": b"[" * DEEP,
    "only dashes": b"- " * DEEP,
    "block depth": b"".join(b" " * depth + b"a:\n" for depth in range(600)),
    "quotes that never end": b'a: "' + b"x" * 200_000,
    "many documents": b"---\na: 1\n" * 20_000,
    "many anchors": b"".join(b"- &a%d x\n" % number for number in range(10_000)),
    "bomb": b"a: &a [x,x,x,x,x,x,x,x,x]\n"
    + b"".join(b"%c: &%c [%s]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(12)),
    "python object": b"!!python/object/apply:os.system ['id']",
    "huge whole number": json.dumps(gadget(size=1)).replace("1}", "9" * 100_000 + "}").encode(),
    "huge exponent": json.dumps(gadget(size=1)).replace("1}", "1e999999999}").encode(),
    "two to the seventieth": json.dumps(gadget(size=2**70)).encode(),
    "negative": json.dumps(gadget(size=-(2**63) - 1)).encode(),
    "not a number": b"apiVersion: toys.example.io/v1\nkind: Gadget\nmetadata: {name: lamp}\nspec: {size: .nan}\n",
    "text for a number": json.dumps(gadget(size="1")).encode(),
    "true for a number": json.dumps(gadget(size=True)).encode(),
    "name of NUL": json.dumps({**gadget(), "metadata": {"name": "a\0b"}}).encode(),
    "name of half a pair": json.dumps(gadget("\ud800")).encode(),
    "text of NUL": json.dumps(gadget(color="a\0b")).encode(),
    "text of half a pair": json.dumps(gadget()).replace("{}", '{"color": "\\udfff"}').encode(),
    "bidi in text": json.dumps(gadget(color="a\u202eb"), ensure_ascii=False).encode(),
    "name of a million": json.dumps({**gadget(), "metadata": {"name": "a" * 200_000}}).encode(),
    "name of Cyrillic": json.dumps({**gadget(), "metadata": {"name": "l\u0430mp"}}, ensure_ascii=False).encode(),
    "metadata is a list": json.dumps({**gadget(), "metadata": ["name"]}).encode(),
    "spec is text": json.dumps({**gadget(), "spec": "size"}).encode(),
    "spec is null": json.dumps({**gadget(), "spec": None}).encode(),
    "kind is a list": json.dumps({**gadget(), "kind": ["Gadget"]}).encode(),
    "kind is a map": json.dumps({**gadget(), "kind": {"a": 1}}).encode(),
    "apiVersion is a number": json.dumps({**gadget(), "apiVersion": 1}).encode(),
    "unknown apiVersion": json.dumps({**gadget(), "apiVersion": "\u0000"}).encode(),
    "mass assignment": json.dumps(
        {**gadget(), "accountNumber": "0000-0000-0001", "uid": "x", "deployed": True}
    ).encode(),
    "doubled key": json.dumps(gadget()).replace('"kind"', '"kind": "Shelf", "kind"').encode(),
    "same manifest twice": (json.dumps(gadget()) + "\n" + json.dumps(gadget(size=2))).encode(),
    "reference to itself by a foreign name": json.dumps(gadget(uses="../ben/lamp")).encode(),
    "utf-16": json.dumps(gadget()).encode("utf-16"),
    "zip bytes": b"PK\x03\x04" + bytes(range(256)) * 100,
    "only nul": b"\x00" * 1000,
    "merge keys": b"a: &x {b: 1}\n<<: *x\n",
    "tabs": b"\tapiVersion:\tx\n",
    "directive": b"%YAML 9.9\n---\na: 1\n",
    "old Mac line ends": json.dumps(gadget()).replace(" ", "\r").encode() + b"\r\x85\xe2",
    "form": b"a=1&b=2",
    "html": b"<html><script>alert(1)</script></html>",
}


def cases() -> list[Any]:
    corpus = [pytest.param(case.body, case.content_type, case, "", id=case.id) for case in HOSTILE]
    for name, body in OWN.items():
        for query in ("", "?dryRun=true&deploy=true"):
            corpus.append(pytest.param(body, "application/yaml", None, query, id=f"{name}{query}"))
    return corpus


def stored() -> list[int]:
    return [model.all_accounts.count() for model in (Resource, Secret, Event, AuditEvent)]


def test_there_are_enough() -> None:
    assert len(HOSTILE) + len(OWN) >= 100


@pytest.mark.parametrize(("body", "content_type", "case", "query"), cases())
def test_no_harm(
    ann: Caller,
    problem: Problem,
    django_capture_on_commit_callbacks: Any,
    body: bytes,
    content_type: str,
    case: HostileCase | None,
    query: str,
) -> None:
    with django_capture_on_commit_callbacks() as queued:
        response = ann.post(f"/apply{query}", body, Content_Type=content_type)
    if case is not None and case.expected_code is None and response.status_code == 200:
        return  # The text is fine; what it asks for was taken without harm.
    document = problem(response)
    assert 400 <= document["status"] < 500
    assert document["errors"] or document["status"] == 413
    if case is not None and case.expected_code is not None:
        assert case.expected_code in {error["code"] for error in document["errors"]} | {document["code"]}
    assert stored() == [0, 0, 0, 0]
    assert queued == []
    assert len(response.content) < 100_000
