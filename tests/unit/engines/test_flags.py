"""Every spelling of every flag and variable of each engine, against lists of them that were read in the engines' own
sources: what Smarter sets exists, what it sets cannot be set twice, and the rest is free."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from smarter.core.arguments import argument_problems, canonical_flag, env_problems
from smarter.core.engine import Engine
from smarter.engines import ENGINES
from tests.llm_hosts import BASES, engine_of, host, objects, problems

LISTS = Path(__file__).with_name("flags")
LISTED = sorted(path.stem for path in LISTS.glob("*.txt"))
CLAP = ("tei", "tgi")
WITH_FLAGS = [name for name in LISTED if name not in ("ollama",)]
# Of releases before and after the one that was read.
OTHER_RELEASES = {"--hf-repo-v", "--hf-file-v", "--max-input-length", "--tp"}

EVERYTHING: dict[str, dict[str, Any]] = {
    "vllm": {
        "engine.contextLength": 4096, "engine.gpuMemoryUtilization": 0.9, "engine.maxConcurrentRequests": 8,
        "engine.dtype": "half", "engine.trustRemoteCode": True, "engine.tensorParallelSize": 2,
        "resources.gpuCount": 2, "model.task": "embedding", "model.revision": "0" * 40,
    },
    "sglang": {
        "engine.contextLength": 4096, "engine.gpuMemoryUtilization": 0.9, "engine.maxConcurrentRequests": 8,
        "engine.dtype": "half", "engine.trustRemoteCode": True, "engine.tensorParallelSize": 2,
        "resources.gpuCount": 2, "model.task": "embedding", "model.revision": "0" * 40,
    },
    "tgi": {
        "engine.contextLength": 8192, "engine.gpuMemoryUtilization": 0.9, "engine.maxConcurrentRequests": 8,
        "engine.dtype": "float16", "engine.trustRemoteCode": True, "engine.tensorParallelSize": 2,
        "resources.gpuCount": 2, "model.revision": "0" * 40,
    },
    "tei": {
        "engine.contextLength": 32768, "engine.maxConcurrentRequests": 8, "engine.dtype": "float32",
        "model.servedName": "embedder",
    },
    "llama_cpp": {
        "engine.contextLength": 4096, "engine.maxConcurrentRequests": 8, "resources.gpuCount": 2,
        "model.task": "embedding", "model.servedName": "small",
    },
    "ollama": {"engine.contextLength": 4096, "engine.maxConcurrentRequests": 8, "resources.gpuCount": 2},
}  # fmt: skip


def groups(engine: str) -> list[list[str]]:
    """Spellings of one flag, one list each."""
    lines = (LISTS / f"{engine}.txt").read_text().splitlines()
    return [line.split() for line in lines if not line.startswith("#")]


def listed(engine: str) -> set[str]:
    return {flag for group in groups(engine) for flag in group}


def refused(arguments: list[str], engine: Engine) -> bool:
    return any(problem.level == "error" for problem in argument_problems(arguments, engine, "args"))


def flags_of(arguments: list[str]) -> list[str]:
    return [argument for argument in arguments if argument.startswith("-")]


def ruled(engine: Engine) -> list[str]:
    return sorted({*engine.managed_args, *engine.reserved_args})


@pytest.mark.parametrize("name", sorted(EVERYTHING))
def test_everything_set_is_right_and_each_flag_comes_once(name: str) -> None:
    manifest = host(EVERYTHING[name], BASES[name])
    assert [problem for problem in problems(manifest) if problem.level == "error"] == []
    container = engine_of(objects(manifest))
    given = flags_of(container["args"])
    assert len(given) == len(set(given))
    variables = [entry["name"] for entry in container["env"]]
    assert len(variables) == len(set(variables))


@pytest.mark.parametrize("name", WITH_FLAGS)
@pytest.mark.parametrize("changes", [{}, None], ids=["least", "everything"])
def test_the_server_knows_each_flag_that_it_is_given(name: str, changes: dict[str, Any] | None) -> None:
    given = engine_of(objects(host(EVERYTHING[name] if changes is None else changes, BASES[name])))["args"]
    assert set(flags_of(given)) <= listed(name)


def test_the_server_knows_each_variable_that_it_is_given() -> None:
    env = engine_of(objects(host(EVERYTHING["ollama"], BASES["ollama"])))["env"]
    assert {entry["name"] for entry in env if entry["name"] not in ("HOME", "NVIDIA_VISIBLE_DEVICES")} <= listed(
        "ollama"
    )


@pytest.mark.parametrize("name", WITH_FLAGS)
def test_rules_are_about_flags_that_exist(name: str) -> None:
    engine = ENGINES[name]
    known = listed(name) | OTHER_RELEASES
    assert {flag for flag in ruled(engine) if flag not in known} == set()
    assert {alias for alias in engine.arg_aliases if alias.startswith("--") and alias not in known} == set()


@pytest.mark.parametrize("name", WITH_FLAGS)
def test_all_spellings_of_a_flag_are_treated_alike(name: str) -> None:
    engine = ENGINES[name]
    for group in groups(name):
        verdicts = {spelling: refused([spelling, "1"], engine) for spelling in group}
        assert len(set(verdicts.values())) == 1, verdicts


@pytest.mark.parametrize("name", WITH_FLAGS)
def test_flags_that_nobody_rules_are_free(name: str) -> None:
    """Among them those that are the beginning of a ruled one."""
    engine = ENGINES[name]
    rules = (*ruled(engine), *engine.reserved_arg_prefixes)
    for group in groups(name):
        canonical = {canonical_flag(spelling, engine) or "" for spelling in group}
        expected = any(flag in rules or flag.startswith(engine.reserved_arg_prefixes or "\0") for flag in canonical)
        assert refused([group[0]], engine) == expected, group


def spellings(flag: str, engine: Engine) -> Iterator[list[str]]:
    yield from ([flag], [flag, "x"], [f"{flag}=x"], [f"{flag}=--x"], [flag.upper()], [f"{flag} x"])
    yield [flag[:2] + flag[2:].replace("-", "_") + "=x"]
    yield ["--seed", "1", flag, "x"]
    yield [flag.replace("--", "--no-", 1)]
    for alias, meant in engine.arg_aliases.items():
        if meant == flag:
            yield from ([alias, "x"], [f"{alias}=x"])
            if engine.attaches_values and len(alias) == 2:
                yield [f"{alias}8080"]


@pytest.mark.parametrize(("name", "flag"), [(name, flag) for name in sorted(ENGINES) for flag in ruled(ENGINES[name])])
def test_every_spelling_of_a_ruled_flag_is_refused(name: str, flag: str) -> None:
    for arguments in spellings(flag, ENGINES[name]):
        assert refused(arguments, ENGINES[name]), arguments


@pytest.mark.parametrize("name", [name for name in WITH_FLAGS if ENGINES[name].abbreviates])
def test_an_argparse_server_ends_up_with_our_values(name: str) -> None:
    """What passes the rules and then goes to a parser that abbreviates leaves every flag of ours as it was."""
    engine = ENGINES[name]
    parser = argparse.ArgumentParser(exit_on_error=False)
    ours = sorted({*engine.managed_args, *engine.reserved_args} & listed(name))
    for group in groups(name):
        parser.add_argument(*group, dest=canonical_flag(group[0], engine))
    told = [f"{flag}=ours" for flag in ours]
    beginnings = {
        spelling[:length]
        for spelling in listed(name)
        for length in range(2, len(spelling) + 1)
        if spelling[:length] != "--"
    }
    passed = [beginning for beginning in sorted(beginnings) if not refused([f"{beginning}=theirs"], engine)]
    assert len(passed) > 100
    for beginning in passed:
        try:
            chosen, _ = parser.parse_known_args([*told, f"{beginning}=theirs"])
        except (argparse.ArgumentError, SystemExit):
            continue  # The server refuses to start, which is no way past.
        assert {vars(chosen)[flag] for flag in ours} == {"ours"}, beginning


@pytest.mark.parametrize("name", CLAP)
def test_every_twin_of_a_ruled_flag_is_refused(name: str) -> None:
    engine = ENGINES[name]
    for flag in ruled(engine):
        twin = flag[2:].upper().replace("-", "_")
        for spelling in (twin, twin.lower(), twin.title()):
            assert [problem.level for problem in env_problems({spelling: "x"}, engine, "env")] == ["error"], spelling


@pytest.mark.parametrize("name", CLAP)
def test_the_twin_of_every_other_flag_is_known(name: str) -> None:
    engine = ENGINES[name]
    for group in groups(name):
        if not refused([group[0]], engine) and group[0] != "--cuda-graphs":  # No variable may begin like that.
            assert env_problems({group[0][2:].upper().replace("-", "_"): "x"}, engine, "env") == [], group


def test_every_twin_of_llama_cpp_is_refused() -> None:
    assert refused_env("llama_cpp", "LLAMA_ARG_ANYTHING_AT_ALL")


def refused_env(engine: str, name: str) -> bool:
    return env_problems({name: "x"}, ENGINES[engine], "env")[0].level == "error"


@pytest.mark.parametrize(
    "name", ["HOST", "MODELS", "REMOTES", "ORIGINS", "KEEP_ALIVE", "NOPRUNE", "NO_CLOUD", "CONTEXT_LENGTH",
             "NUM_PARALLEL", "LOAD_TIMEOUT", "SCHED_SPREAD", "MAX_LOADED_MODELS", "DEBUG_LOG_REQUESTS"],
)  # fmt: skip
def test_variables_of_ollama_that_are_set_already(name: str) -> None:
    assert refused_env("ollama", f"OLLAMA_{name}")
    assert refused_env("ollama", f"ollama_{name.lower()}")


@pytest.mark.parametrize(
    "name", ["OLLAMA_FLASH_ATTENTION", "OLLAMA_KV_CACHE_TYPE", "OLLAMA_GPU_OVERHEAD", "OLLAMA_DEBUG"]
)
def test_other_variables_of_ollama_pass(name: str) -> None:
    assert env_problems({name: "1"}, ENGINES["ollama"], "env") == []


@pytest.mark.parametrize("name", sorted(BASES))
def test_every_variable_that_an_engine_is_given_is_refused_to_manifests(name: str) -> None:
    """Otherwise a name would stand twice in a container, or a user's value would silently lose."""
    container = engine_of(objects(host(EVERYTHING.get(name, {}), BASES[name])))
    assert container["env"]
    for entry in container["env"]:
        assert refused_env(name, entry["name"]), entry["name"]


def test_a_refusal_names_the_field_to_use() -> None:
    for name, engine in ENGINES.items():
        for flag, field in engine.managed_args.items():
            assert field in argument_problems([flag], engine, "args")[0].message, (name, flag)
        for variable, field in engine.managed_env.items():
            if not variable.startswith(("HF_", "CUDA_")):  # Refused to all engines already.
                assert field in env_problems({variable: "x"}, engine, "env")[0].message, (name, variable)


JSON = '{"a": "b c", "d": ["e", {"f": null}], "g": "$5 \\"quoted\\" \\u00e9"}'


@pytest.mark.parametrize(
    ("name", "flag"),
    [("vllm", "--compilation-config"), ("sglang", "--json-model-override-args"),
     ("llama_cpp", "--chat-template-kwargs"), ("tei", "--default-prompt"), ("custom", "--anything")],
)  # fmt: skip
def test_json_survives_byte_for_byte(name: str, flag: str) -> None:
    given = [flag, JSON, f"{flag}={JSON}"]
    manifest = host({"engine.args": given}, BASES[name])
    assert [problem for problem in problems(manifest) if problem.level == "error"] == []
    args = engine_of(objects(manifest))["args"]
    assert args[-3:] == given
    assert json.loads(args[-2]) == json.loads(JSON)


@pytest.mark.parametrize("name", sorted(set(BASES) - {"ollama"}))
def test_variables_in_texts_are_inert(name: str) -> None:
    """Kubernetes would otherwise put the value of another variable of the container in their place."""
    given = {"engine.args": ["--seed", "$(API_KEY)"], "engine.env": {"TZ": "$(LLAMA_API_KEY)"}}
    container = engine_of(objects(host(given, BASES[name])))
    assert container["args"][-1] == "$$(API_KEY)"
    assert {entry["name"]: entry.get("value") for entry in container["env"]}["TZ"] == "$$(LLAMA_API_KEY)"
    assert not [text for text in (*container["args"], *container.get("command", ())) if text.startswith("$(")]
