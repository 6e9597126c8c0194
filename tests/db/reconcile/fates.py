"""Hosts whose pods meet a fate of the simulated cluster, for tests of the reconciler."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from smarter.core.objects import KubernetesObject
from smarter.kinds import KINDS
from tests.db.reconcile.world import LLM_HOST


def give_fate(monkeypatch: pytest.MonkeyPatch, fate: str, **told: str) -> None:
    """From now on, what is rendered carries the label, and annotations with what the pods are to tell."""

    def rendered(manifest: Any, facts: Any) -> list[KubernetesObject]:
        return [_doomed(body, fate, told) for body in LLM_HOST.render(manifest, facts)]

    monkeypatch.setitem(KINDS, LLM_HOST.key, replace(LLM_HOST, render=rendered))


def _doomed(body: KubernetesObject, fate: str, told: dict[str, str]) -> KubernetesObject:
    if body["kind"] != "Deployment":
        return body
    doomed = copy.deepcopy(body)
    metadata = doomed["spec"]["template"]["metadata"]
    metadata.setdefault("labels", {})["smarter.sh/test-fate"] = fate
    notes = {f"smarter.sh/test-{name.replace('_', '-')}": text for name, text in told.items()}
    metadata["annotations"] = {**metadata.get("annotations", {}), **notes}
    return doomed
