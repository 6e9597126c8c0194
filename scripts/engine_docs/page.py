"""The page itself, from effects and from what engines and sources say of themselves."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from scripts.engine_docs.effects import Effect, effect
from scripts.engine_docs.samples import FORMATS, INFORMATION, OF_PLACES, PLACES, SAMPLES, Sample, base_of, with_changes
from smarter.core.defaults import filled
from smarter.core.engine import Engine, Probe
from smarter.core.source import Source, Weights
from smarter.engines import ENGINES
from smarter.models.sam.base import load
from smarter.models.sam.llm_host import SAMLLMHost
from smarter.sources import SOURCES

_BLOCKS = ("model", "engine", "healthCheck", "resources", "scaling", "network", "storage")
_HEAD = """\
# Engines and sources, field by field

Written by `scripts/engine_table.py`, which sets each field of an LLMHost on a manifest of each engine and compares what
is judged and rendered with what was there before. Do not edit it; run the script. A test compares this page with the
code.

How to read a cell: a flag or variable is what the server gets for the value in the first column; a word such as
`Deployment spec.replicas` is a place in a Kubernetes object, `pod` being the template of the Deployment's pods.
**Refused** and **warning** are followed by the number of the words that a user reads, below the table.
"the estimate" stands where nothing but the estimate of memory or the choice of a node type changes, and "same" where
the value is what the engine does by itself.
"""


def page() -> str:
    parts = [_HEAD, _facts(), _sources()]
    parts.append(_every_engine())
    parts.append("## Fields whose meaning depends on the engine\n")
    for block in _BLOCKS:
        parts += _section(block, _differing(block))
    parts += ["## Number formats\n", *_matrix(FORMATS)]
    parts += ["## Information only\n", _information()]
    parts += ["## Flags and variables that manifests may not set\n", _reserved()]
    return "\n".join(parts).rstrip() + "\n"


def all_effects() -> dict[tuple[str, str], list[Effect]]:
    """(field, engine) to what each sample of the field does, for the test that no field is without effect."""
    found: dict[tuple[str, str], list[Effect]] = {}
    for sample in (*SAMPLES, *FORMATS):
        for name in ENGINES:
            found.setdefault((sample.path, name), []).append(_effect(name, sample))
    return found


_known: dict[tuple[str, int], Effect] = {}


def _effect(engine: str, sample: Sample) -> Effect:
    key = (engine, id(sample))
    if key not in _known:
        _known[key] = effect(base_of(engine), sample)
    return _known[key]


# What is one answer for all engines.


def _every_engine() -> str:
    rows = [[_title(sample), _plain(_effect("vllm", sample))] for sample in SAMPLES if _is_same(sample)]
    return "\n".join(["## Fields that mean the same on every engine\n", _table(["field", "what it does"], rows), ""])


def _is_same(sample: Sample) -> bool:
    if sample.path in INFORMATION:
        return False
    return len({_effect(name, sample) for name in ENGINES}) == 1


def _differing(block: str) -> list[Sample]:
    return [
        sample
        for sample in SAMPLES
        if sample.path.startswith(f"{block}.") and not _is_same(sample) and sample.path not in INFORMATION
    ]


def _section(block: str, samples: Sequence[Sample]) -> list[str]:
    return [f"### {block}\n", *_matrix(samples)] if samples else []


def _matrix(samples: Sequence[Sample]) -> list[str]:
    notes = Notes()
    rows = [[_title(sample), *(_cell(_effect(name, sample), notes) for name in ENGINES)] for sample in samples]
    return [_table(["field", *ENGINES], rows), *notes.lines(), ""]


class Notes:
    """Sentences of the rules, numbered in the order in which they come up."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, words: str) -> int:
        return self._numbers.setdefault(words, len(self._numbers) + 1)

    def lines(self) -> list[str]:
        return (
            ["", *(f"{number}. {_escaped(words)}" for words, number in self._numbers.items())] if self._numbers else []
        )


def _cell(found: Effect, notes: Notes) -> str:
    if found.refusal:
        return f"**refused** ({notes.number(found.refusal)})"
    parts = [*found.changes, *(f"**warning** ({notes.number(words)})" for words in found.remarks)]
    return _escaped("; ".join(parts)) or ("the estimate" if found.judged else "same")


def _plain(found: Effect) -> str:
    if found.refusal:
        return f"**refused**: {_escaped(found.refusal)}"
    parts = [*found.changes, *(f"**warning**: {words}" for words in found.remarks)]
    return _escaped("; ".join(parts)) or ("the estimate" if found.judged else "same")


def _title(sample: Sample) -> str:
    beside = [f"{path}: {_word(value)}" for path, value in sample.beside.items() if value is not None]
    title = sample.title or f"{sample.path}: {_word(sample.value)}"
    return _escaped(f"`{title}`" + (f", with {' and '.join(beside)}" if beside else ""))


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_word(item)}" for key, item in value.items())
    if isinstance(value, list):
        return f"[{', '.join(map(_word, value))}]"
    text = str(value)
    return f"{text[:7]}…" if len(text) == 40 else text


def _information() -> str:
    rows = []
    for sample in SAMPLES:
        if sample.path in INFORMATION:
            remarks = {name: _effect(name, sample).remarks for name in ENGINES}
            words = [f"{name}: {_escaped(text)}" for name, texts in remarks.items() for text in texts]
            rows.append([_title(sample), "<br>".join(words) or "-"])
    head = "Clients read these to choose a model. They change nothing in how it is served; some are remarked on.\n"
    return "\n".join([head, _table(["field", "warnings"], rows), ""])


# What engines and sources say of themselves.


def _facts() -> str:
    rows: list[tuple[str, Callable[[Engine], str]]] = [
        ("image on NVIDIA GPUs", lambda engine: _code(engine.images.gpu)),
        ("image on processors", lambda engine: _code(engine.images.cpu)),
        ("port", lambda engine: str(engine.port or "named by the manifest")),
        ("tasks", lambda engine: ", ".join(engine.tasks)),
        ("sources", lambda engine: ", ".join(engine.sources)),
        ("protocols, and the paths that an address exposes", _paths),
        ("asks for the API key", lambda engine: "yes" if engine.authenticates else "no"),
        ("where the key goes", _key_place),
        ("startup probe", lambda engine: _probe(engine.startup, engine)),
        ("readiness probe", lambda engine: _probe(engine.readiness, engine)),
        ("liveness probe", lambda engine: _way(engine.health)),
        ("drain", _drain),
        ("metrics", lambda engine: _code(engine.metrics_path)),
        ("user and group", lambda engine: f"{engine.user.uid}:{engine.user.gid}"),
        ("waiver of the restricted profile", lambda engine: engine.user.waiver or "none"),
        ("root of the container", lambda engine: "read-only" if engine.user.read_only_root else "writable"),
        ("writable folders", lambda engine: ", ".join(f"`{path}`" for path in engine.writable.values()) or "none"),
    ]
    table = [[title, *(_escaped(told(engine)) for engine in ENGINES.values())] for title, told in rows]
    return "\n".join(["## The engines\n", _table(["", *ENGINES], table), ""])


def _code(text: str | None) -> str:
    return f"`{text}`" if text else "none"


def _paths(engine: Engine) -> str:
    return "; ".join(
        f"{name}: {' '.join(f'`{p}`' for p in engine.public_paths[name]) or 'none'}" for name in engine.api_formats
    )


def _spec(engine: Engine) -> Any:
    document = {
        "apiVersion": "smarter.sh/v1",
        "kind": "LLMHost",
        "metadata": {"name": "sample"},
        "spec": base_of(engine.name),
    }
    spec = filled(load(SAMLLMHost, document)).spec
    port = spec.engine.port or engine.port
    return spec.model_copy(update={"engine": spec.engine.model_copy(update={"port": port})})


def _weights(engine: Engine) -> Weights:
    return Weights("/models/<key>", name="<name>:<tag>")


def _key_place(engine: Engine) -> str:
    launch = engine.launch(_spec(engine), _weights(engine), "<name>")
    places = [f"variable `{name}`" for name in launch.secret_env]
    places += [f"file `{file.path}`" for file in launch.secret_files]
    return ", ".join(places) or "nowhere"


def _probe(of: Callable[[Any, Weights], Probe] | None, engine: Engine) -> str:
    return _way(of(_spec(engine), _weights(engine)) if of else engine.health)


def _way(probe: Probe) -> str:
    if probe.path:
        return f"GET `{probe.path}`, {probe.timeout_seconds} s"
    if probe.command:
        return f"`{' '.join(part or repr(part) for part in probe.command)}`, {probe.timeout_seconds} s"
    return f"the port takes a connection, {probe.timeout_seconds} s"


def _drain(engine: Engine) -> str:
    end = engine.termination(_spec(engine))
    first = f"`{' '.join(end.pre_stop_command)}`" if end.pre_stop_command else f"{end.pre_stop_sleep_seconds} s pause"
    return f"{first}, then SIGTERM; {end.grace_seconds} s in all"


def _sources() -> str:
    rows = [[name, *(_yes(name in engine.sources) for engine in ENGINES.values())] for name in SOURCES]
    facts = [
        [name, _yes(source.revisions), _yes(source.tokens), _yes(source.brings), _names(source.env_names)]
        for name, source in SOURCES.items()
    ]
    titles = ["source", "revisions", "tokenSecret", "brings to the volume", "variables of engine.env for the fetch"]
    notes = Notes()
    fields = [
        [_title(sample), *(_cell(_place_effect(source, sample), notes) for source in SOURCES.values())]
        for sample in OF_PLACES
    ]
    return "\n".join(
        [
            "## The sources\n",
            _table(["source", *ENGINES], rows),
            "",
            _table(titles, facts),
            "",
            "Fields of the place that weights come from, on the engine custom, which takes all of them:\n",
            _table(["field", *SOURCES], fields),
            *notes.lines(),
            "",
        ]
    )


def _place_effect(source: Source, sample: Sample) -> Effect:
    return effect(with_changes(base_of("custom"), PLACES[source.name]), sample)


def _yes(value: bool) -> str:
    return "yes" if value else "-"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names)) or "-"


def _reserved() -> str:
    rows = []
    for name, engine in ENGINES.items():
        managed = "<br>".join(f"`{flag}`: {path}" for flag, path in engine.managed_args.items())
        managed_env = "<br>".join(f"`{variable}`: {path}" for variable, path in engine.managed_env.items())
        rows.append(
            [name, managed or "-", _names(engine.reserved_args), managed_env or "-", _names(engine.reserved_env)]
        )
    titles = ["engine", "flags that a field sets", "other flags", "variables that a field sets", "other variables"]
    words = (
        "In every spelling that the server takes: aliases, abbreviations, `_` for `-`, and twins in the environment.\n"
    )
    return "\n".join([words, _table(titles, rows), ""])


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
