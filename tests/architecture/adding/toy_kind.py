"""Greeting: words in a ConfigMap. What one file must hold for a new kind to work."""

from datetime import datetime

from smarter.core.facts import Facts
from smarter.core.kind import Column, Kind, Observation
from smarter.core.objects import CONFIG_MAP, KubernetesObject
from smarter.core.problems import Problem
from smarter.models.sam.greeting import SAMGreeting
from smarter.render.identity import identity

EXAMPLE = """\
apiVersion: smarter.sh/v1
kind: Greeting
metadata:
  name: hello
spec:
  words: Hello to everybody
"""


def admit(manifest: SAMGreeting, _stored: SAMGreeting | None) -> list[Problem]:
    if "goodbye" in manifest.spec.words.lower():
        return [Problem("words", "spec.words", "a greeting does not say goodbye")]
    return []


def render(manifest: SAMGreeting, facts: Facts) -> list[KubernetesObject]:
    if not facts.deployed:
        return []
    own = identity("gr", manifest.metadata.name, facts.account.number, facts.account.uid, facts.uid)
    data = {"words": manifest.spec.words}
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": own.metadata(), "data": data}]


def observe(_manifest: SAMGreeting, facts: Facts, live: list[KubernetesObject], _now: datetime) -> Observation:
    there = bool(live) and facts.deployed
    return Observation("active" if there else "inactive", there, in_transition=False, message="it is said")


KIND = Kind(
    api_version="smarter.sh/v1",
    name="Greeting",
    plural="greetings",
    model=SAMGreeting,
    summary="Words in a ConfigMap.",
    example=EXAMPLE,
    columns=(Column("WORDS", "spec.words"),),
    deployable=True,
    object_kinds=(CONFIG_MAP,),
    admit=admit,
    render=render,
    observe=observe,
)
