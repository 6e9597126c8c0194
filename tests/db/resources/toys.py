"""Two small kinds, so that what is generic is tested without any real kind. `install` puts them among the kinds."""

from decimal import Decimal
from typing import Any

import pytest

from smarter.core.facts import ComputeFact, Facts
from smarter.core.kind import Column, Kind, MemoryVerdict, Placement, Reference
from smarter.core.objects import DEPLOYMENT, OWNER_UID_LABEL, SERVICE, KubernetesObject
from smarter.core.problems import Problem, warning
from smarter.kinds import KINDS
from smarter.models.sam.base import SAMModel

API_VERSION = "toys.example.io/v1"


class Metadata(SAMModel):
    name: str
    description: str | None = None


class GadgetSpec(SAMModel):
    size: int = 1
    color: str | None = None
    uses: str | None = None
    shelf: str | None = None
    password: str | None = None
    host: str | None = None
    generates: str | None = None


class Gadget(SAMModel):
    apiVersion: str
    kind: str
    metadata: Metadata
    spec: GadgetSpec


class ShelfSpec(SAMModel):
    price: str


class Shelf(SAMModel):
    apiVersion: str
    kind: str
    metadata: Metadata
    spec: ShelfSpec


def _references(gadget: Gadget) -> tuple[Reference, ...]:
    spec = gadget.spec
    found = [
        Reference("spec.uses", "Gadget", spec.uses, API_VERSION) if spec.uses else None,
        Reference("spec.shelf", "Shelf", spec.shelf, API_VERSION) if spec.shelf else None,
        Reference("spec.password", "Secret", spec.password) if spec.password else None,
    ]
    return tuple(reference for reference in found if reference)


def _admit(gadget: Gadget, stored: Gadget | None) -> list[Problem]:
    if gadget.spec.size > 100:
        return [Problem("too_big", "spec.size", "a gadget is at most 100")]
    if stored is not None and stored.spec.color and gadget.spec.color != stored.spec.color:
        return [Problem("immutable", "spec.color", "a color stays")]
    return []


def _check(gadget: Gadget, facts: Facts) -> list[Problem]:
    if gadget.spec.size == 13:
        return [Problem("unlucky", "spec.size", "no shelf takes it")]
    if gadget.spec.size == 99:
        return [warning("large", "spec.size", "this is large")]
    return []


def _compute(gadget: Gadget, facts: Facts) -> ComputeFact | None:
    return next((fact for fact in facts.computes if fact.name == gadget.spec.shelf), None)


def _placement(gadget: Gadget, facts: Facts) -> Placement | None:
    compute = _compute(gadget, facts)
    return Placement(compute, Decimal(1), gadget.spec.size) if compute else None


def _render(gadget: Gadget, facts: Facts) -> list[KubernetesObject]:
    if not facts.deployed:
        return []
    labels = {OWNER_UID_LABEL: facts.uid}
    metadata = {"name": f"gadget-{facts.uid}", "namespace": f"smarter-{facts.account.number}", "labels": labels}
    checksum = "".join(fact.checksum for _, fact in sorted(facts.secrets.items()))
    template = {"metadata": {"annotations": {"checksum": checksum}}, "spec": {"color": gadget.spec.color}}
    objects: list[dict[str, Any]] = [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {"replicas": gadget.spec.size, "template": template},
        }
    ]
    if gadget.spec.host:
        objects.append({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": []}})
    return objects


GADGET = Kind(
    api_version=API_VERSION,
    name="Gadget",
    plural="gadgets",
    model=Gadget,
    summary="Something that runs.",
    example="apiVersion: toys.example.io/v1\nkind: Gadget\nmetadata: {name: an_example}\nspec: {size: 1}\n",
    columns=(Column("NAME", "metadata.name"), Column("SIZE", "spec.size")),
    references=_references,
    admit=_admit,
    check=_check,
    placement=_placement,
    hostnames=lambda gadget, facts: (gadget.spec.host.lower(),) if gadget.spec.host else (),
    memory_verdict=lambda gadget, facts: MemoryVerdict("fits", "there is room", 1, 2),
    deployable=True,
    object_kinds=(DEPLOYMENT, SERVICE),
    generated_secrets=lambda gadget: (gadget.spec.generates,) if gadget.spec.generates else (),
    render=_render,
)
SHELF = Kind(
    api_version=API_VERSION,
    name="Shelf",
    plural="shelves",
    model=Shelf,
    summary="Somewhere to put gadgets.",
    example="apiVersion: toys.example.io/v1\nkind: Shelf\nmetadata: {name: a_shelf}\nspec: {price: '1'}\n",
    writer="admin",
    shared=True,
    compute_fact=lambda shelf: ComputeFact(
        shelf.metadata.name, "wood", 1000, 2**30, price_per_hour=Decimal(shelf.spec.price)
    ),
    built_ins=(
        {"apiVersion": API_VERSION, "kind": "Shelf", "metadata": {"name": "oak"}, "spec": {"price": "0.25"}},
        {"apiVersion": API_VERSION, "kind": "Shelf", "metadata": {"name": "pine"}, "spec": {"price": "0.1"}},
    ),
)


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, GADGET.key, GADGET)
    monkeypatch.setitem(KINDS, SHELF.key, SHELF)


def gadget(name: str = "lamp", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": "Gadget", "metadata": {"name": name}, "spec": spec}


def shelf(name: str = "own", price: str = "2") -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": "Shelf", "metadata": {"name": name}, "spec": {"price": price}}


def secret(name: str = "pass_word", value: str = "canary-secret-value") -> dict[str, Any]:
    return {
        "apiVersion": "smarter.sh/v1",
        "kind": "Secret",
        "metadata": {"name": name, "description": "d", "version": "1.0.0"},
        "spec": {"config": {"value": value}},
    }
