"""What setting a field changes: the manifest is judged and rendered without and with it, and the answers compared."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import SecretStr

from scripts.engine_docs.samples import Sample, Spec, with_changes
from smarter.cli.rendering import built_in_computes
from smarter.core.errors import PermanentError
from smarter.core.facts import AccountFact, Environment, Facts, SecretFact
from smarter.core.objects import KubernetesObject
from smarter.core.problems import Problem, errors_of, warnings_of
from smarter.kinds import KINDS
from smarter.models.sam.base import load
from smarter.models.sam.llm_host import SAMLLMHost

_KIND = KINDS[("smarter.sh/v1", "LLMHost")]
_KEY = re.compile(r"/models/[0-9a-f]{16}\b")
_CHECKSUM = re.compile(r"checksum|desired-hash")
_LISTED_BY_NAME = ("containers", "initContainers", "volumes", "volumeMounts", "env", "ports")
_POD = re.compile(r"^spec\.template\.(?:spec|metadata)\.")
_MOST_PLACES = 4
_COMMIT = re.compile(r"\b([0-9a-f]{7})[0-9a-f]{33}\b")
_VOLUME = re.compile(r".*?(?:volumes|volumeMounts)\[[^\]]+\]")
ACCEPTED = "accepted, and **refused** without it"


@dataclass(frozen=True, slots=True)
class Effect:
    """`refusal` and `remarks` are in the words of the rules; `changes` are flags, variables and places in objects."""

    refusal: str = ""
    remarks: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    judged: bool = False
    """Whether an estimate, a price or the choice of a node type changed."""

    @property
    def none(self) -> bool:
        return not (self.refusal or self.remarks or self.changes or self.judged)


@dataclass(frozen=True, slots=True)
class _Answer:
    problems: list[Problem]
    objects: list[KubernetesObject]
    judgement: Any


def effect(base: Spec, sample: Sample) -> Effect:
    before = _answer(with_changes(base, sample.beside))
    after = _answer(with_changes(with_changes(base, sample.beside), {sample.path: sample.value}))
    known = {(problem.code, problem.path, problem.message) for problem in before.problems}
    new = [one for one in after.problems if (one.code, one.path, one.message) not in known]
    refusals = errors_of(new)
    if refusals:
        return Effect(refusal=next((one for one in refusals if sample.path in one.path), refusals[0]).message)
    if errors_of(after.problems):
        # What stands beside the field is refused on this engine, so the field is looked at alone.
        return effect(base, replace(sample, beside={})) if sample.beside else Effect()
    if errors_of(before.problems):
        return Effect(changes=(ACCEPTED,))
    return Effect(
        remarks=tuple(dict.fromkeys(problem.message for problem in warnings_of(new))),
        changes=tuple(_changes(before.objects, after.objects)),
        judged=before.judgement != after.judgement,
    )


def refused_without(base: Spec) -> list[Problem]:
    """Errors of a manifest that should have none."""
    return errors_of(_answer(base).problems)


def objects_of(base: Spec) -> list[KubernetesObject]:
    return _answer(base).objects


def _answer(spec: Spec) -> _Answer:
    document = {"apiVersion": "smarter.sh/v1", "kind": "LLMHost", "metadata": {"name": "sample"}, "spec": spec}
    manifest = load(SAMLLMHost, document)
    facts = _facts(manifest)
    problems = list(_KIND.admit(manifest, None))
    problems += _KIND.check(manifest, facts)
    if errors_of(problems):
        return _Answer(problems, [], None)
    undeployed = _KIND.render(manifest, replace(facts, deployed=False))
    marks = [_undeployed_mark(body) for body in undeployed]
    try:
        objects = _KIND.render(manifest, facts)
    except PermanentError:
        objects = []
    placement = _KIND.placement(manifest, facts)
    judgement = (placement and (placement.compute.name, placement.share), _KIND.memory_verdict(manifest, facts))
    return _Answer(problems, [*objects, *marks], judgement)


def _undeployed_mark(body: KubernetesObject) -> KubernetesObject:
    """What is kept while a host is undeployed, as an object of its own, so that it is told when it changes."""
    return {"kind": f"{body['kind']} while undeployed", "metadata": {"name": body["metadata"]["name"]}}


def _facts(manifest: SAMLLMHost) -> Facts:
    names = {reference.name for reference in _KIND.references(manifest) if reference.kind == "Secret"}
    names |= set(_KIND.generated_secrets(manifest))
    computes = built_in_computes()
    other = next(compute for compute in computes if compute.gpu_count == 1)
    return Facts(
        account=AccountFact("1234-5678-9012", "account-uid"),
        uid="host-uid",
        environment=Environment(service_accounts=("bucket-reader",)),
        features=frozenset({"cert-manager"}),
        secrets={name: SecretFact(name, SecretStr(f"value-of-{name}"), f"checksum-of-{name}") for name in names},
        computes=(*computes, replace(other, name="amd", gpu_resource="amd.com/gpu", gpu_type="")),
    )


def _changes(before: Iterable[KubernetesObject], after: Iterable[KubernetesObject]) -> list[str]:
    old, new = ({body["kind"]: body for body in bodies} for bodies in (before, after))
    told = [f"adds {_article(kind)} {kind}" for kind in new if kind not in old]
    told += [f"no {kind}" for kind in old if kind not in new]
    places: list[str] = []
    for kind in new:
        if kind not in old:
            continue
        told += _container_changes(kind, old[kind], new[kind])
        places += [f"{kind} `{place}`" for place in _places(old[kind], new[kind])]
    shown = list(dict.fromkeys(places))
    if len(shown) > _MOST_PLACES:
        shown = [*shown[: _MOST_PLACES - 1], f"and {len(shown) - _MOST_PLACES + 1} more"]
    return list(dict.fromkeys(told)) + shown


def _article(word: str) -> str:
    return "an" if word[0] in "AEIO" else "a"


def _container_changes(kind: str, old: KubernetesObject, new: KubernetesObject) -> list[str]:
    """Arguments and variables, in the words of a command line."""
    told: list[str] = []
    before, after = _containers(old), _containers(new)
    for name in after:
        was, now = before.get(name, {}), after[name]
        prefix = "" if name == "engine" else f"{name}: "
        flags = _flags(was.get("args", []))
        told += [f"{prefix}`{flag}`" for flag in _flags(now.get("args", [])) if flag not in flags]
        told += [f"{prefix}without `{flag}`" for flag in flags if _lost(flag, _flags(now.get("args", [])))]
        variables = {entry["name"]: _value(entry) for entry in was.get("env", ())}
        for entry in now.get("env", ()):
            if variables.get(entry["name"]) != _value(entry):
                told.append(f"{prefix}`{entry['name']}`" + ("" if "valueFrom" in entry else f"=`{_value(entry)}`"))
        gone = set(variables) - {entry["name"] for entry in now.get("env", ())}
        told += [f"{prefix}without `{variable}`" for variable in sorted(gone)]
    return told


def _lost(flag: str, flags: list[str]) -> bool:
    name = flag.split(" ")[0]
    return flag not in flags and not any(other.split(" ")[0] == name for other in flags)


def _value(entry: Mapping[str, Any]) -> str:
    return _KEY.sub("/models/<key>", str(entry.get("value", entry.get("valueFrom"))))


def _containers(body: KubernetesObject) -> dict[str, dict[str, Any]]:
    spec = body.get("spec", {}).get("template", {}).get("spec", {})
    return {entry["name"]: entry for entry in (*spec.get("containers", ()), *spec.get("initContainers", ()))}


def _flags(arguments: list[str]) -> list[str]:
    """`["-c", "1", "--metrics"]` to `["-c 1", "--metrics"]`."""
    groups: list[list[str]] = []
    for argument in (_COMMIT.sub(r"\1…", _KEY.sub("/models/<key>", text)) for text in arguments):
        if argument.startswith("-") or not groups:
            groups.append([argument])
        else:
            groups[-1].append(argument)
    return [" ".join(group) for group in groups]


def _places(old: Any, new: Any) -> list[str]:
    before, after = _flat(old), _flat(new)
    differ = [_whole(path, before, after) for path in {**before, **after} if before.get(path) != after.get(path)]
    return list(dict.fromkeys(_POD.sub("pod ", _short(path)) for path in differ if not _CHECKSUM.search(path)))


def _whole(path: str, *sides: dict[str, str]) -> str:
    """The volume, where it is not there without the field, or not with it."""
    volume = _VOLUME.match(path)
    if volume and any(not any(other.startswith(volume[0]) for other in side) for side in sides):
        return volume[0]
    return path


def _short(path: str) -> str:
    """To the field that people know: a list of arguments and of variables is told elsewhere."""
    return re.sub(r"^spec\.template\.spec\.(?:containers|initContainers)\[(\w+)\]\.", r"container \1 ", path)


def _flat(value: Any, path: str = "") -> dict[str, str]:
    """Places to values; arguments and variables of containers are left out, maps of labels are one value."""
    if isinstance(value, dict) and value and path.rpartition(".")[2] not in ("nodeSelector", "requests", "limits"):
        found: dict[str, str] = {}
        for key, item in value.items():
            if "containers[" in path.lower() and key in ("args", "env"):
                continue
            found |= _flat(item, f"{path}.{key}" if path else key)
        return found
    if isinstance(value, list) and value and all(isinstance(item, dict) and "name" in item for item in value):
        return {place: text for item in value for place, text in _flat(item, f"{path}[{item['name']}]").items()}
    return {path: _KEY.sub("/models/<key>", json.dumps(value, sort_keys=True))}
