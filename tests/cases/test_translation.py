"""Cases of translation: image, command, arguments, environment and probes of the container that a manifest becomes."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from smarter.core.arguments import canonical_flag
from smarter.engines import ENGINES
from smarter.kinds.sam.llm_host.host import host_of
from tests.cases.conftest import Desk
from tests.cases.manifests import BASE, CPU, SPECS
from tests.llm_hosts import engine_of, host, objects, one, problems, spec_with

FLAGS = Path(__file__).parent / "flags"
AVAILABLE = list(SPECS)
KNOWN = [name for name in SPECS if name != "custom"]


def container(changes: dict[str, Any] | None = None, base: dict[str, Any] = BASE) -> dict[str, Any]:
    return engine_of(objects(host(changes, base)))


def command_line(found: dict[str, Any]) -> list[str]:
    return [*found.get("command", ()), *found.get("args", ())]


def plain_env(found: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in found["env"] if "value" in entry}


def flags_of(arguments: list[str]) -> set[str]:
    return {one.partition("=")[0] for one in arguments if re.match(r"--?[A-Za-z]", one)}


def value_of(arguments: list[str], flag: str) -> str:
    return arguments[arguments.index(flag) + 1]


@pytest.mark.django_db
@pytest.mark.parametrize("entry", ["--max-num-batched-tokens 64", "--chat-template ", "--seed\t1"])
def test_c13_flag_and_value_in_one_entry(desk: Desk, entry: str) -> None:
    answer = desk.apply({"engine.args": [entry]})
    words = answer.errors or answer.warnings
    assert "spec.engine.args[0]" in words
    if answer.status == 200:
        assert "split" in words["spec.engine.args[0]"]
        assert container({"engine.args": [entry]})["args"][-1] == entry, "never split, never trimmed"


@pytest.mark.django_db
@pytest.mark.parametrize("entry", ["--max-num-seqs 64", "--port 9000", "--api-key\tabc"])
def test_c13_a_flag_of_smarters_hides_in_no_joined_entry(desk: Desk, entry: str) -> None:
    assert "spec.engine.args[0]" in desk.refuse({"engine.args": [entry]})


def test_c14_arguments_come_after_the_generated_ones() -> None:
    given = ["--enable-prefix-caching", "--seed", "7"]
    args = container({"engine.args": given})["args"]
    assert args[-3:] == given
    for flag, value in (("--port", "8000"), ("--served-model-name", "case_host")):
        assert value_of(args, flag) == value
    assert args[0].startswith("/models/")
    assert args[:-3] == container()["args"]


@pytest.mark.parametrize("image", ["vllm/vllm-openai:v0.8.5", "vllm/vllm-openai:v0.33.0"])
def test_c15_model_stands_where_the_template_says_for_old_and_new_images(image: str) -> None:
    found = container({"engine.image": image, "engine.args": ["--enforce-eager"]})
    assert found["command"] == ["vllm", "serve"]
    assert found["args"][0].startswith("/models/")
    assert found["args"][1] == "--served-model-name"
    assert found["args"][-1] == "--enforce-eager"


COMMON: list[dict[str, Any]] = [
    {},
    {"engine.contextLength": 8192},
    {"engine.dtype": "float16"},
    {"engine.gpuMemoryUtilization": 0.8},
    {"engine.maxConcurrentRequests": 16},
    {"engine.tensorParallelSize": 2, "resources.gpuCount": 2},
    {"resources.gpuCount": 0, "engine.image": "registry.example.com/a/cpu:1"},
    {"engine.trustRemoteCode": True, "model.revision": "0123456789abcdef0123456789abcdef01234567"},
    {"model.servedName": "chat"},
    {"model.task": "embedding"},
    *[{"model.quantization": name} for name in ("fp16", "bf16", "fp32", "fp8", "int8", "int4", "awq", "gptq", "gguf")],
    {"network.ingress": True},
    {"healthCheck.startupTimeoutSeconds": 7200},
]


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "ollama"])
def test_c16_every_generated_flag_is_one_that_the_engine_has(name: str) -> None:
    known = set((FLAGS / f"{name}.txt").read_text().splitlines()[1:])
    seen: set[str] = set()
    for changes in COMMON:
        manifest = host(changes, SPECS[name])
        if all(problem.level == "warning" for problem in problems(manifest)):
            seen |= flags_of(engine_of(objects(manifest))["args"])
    assert seen
    assert seen - known == set()


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("gpus", [0, 1])
def test_c17_default_image_is_pinned(name: str, gpus: int) -> None:
    manifest = host({"resources.gpuCount": gpus}, SPECS[name])
    if any(problem.path == "spec.resources.gpuCount" for problem in problems(manifest)):
        assert gpus == 0, "refused, since there is no default image for processors"
        return
    tag = engine_of(objects(manifest))["image"].rpartition(":")[2]
    assert re.search(r"\d+\.\d+|b\d{4,}|^[0-9a-f]{64}$", tag), f"{tag} may become another program tomorrow"


def bump_default_images(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As a new release of Smarter would."""
    engine = ENGINES[name]
    monkeypatch.setitem(ENGINES, name, replace(engine, images=replace(engine.images, gpu="vllm/vllm-openai:v0.99.0")))  # type: ignore[index] # the registry is a plain dict


@pytest.mark.django_db
def test_c17_running_host_keeps_its_image_when_the_default_changes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.run()
    before = desk.live("Deployment")
    image = before["spec"]["template"]["spec"]["containers"][0]["image"]
    bump_default_images(monkeypatch, "vllm")
    desk.apply(tags=["other"], deploy=True)
    desk.apply({"engine.env": {"VLLM_LOGGING_LEVEL": "INFO"}}, deploy=True)
    desk.world.settle("case_host")
    assert desk.live("Deployment")["spec"]["template"]["spec"]["containers"][0]["image"] == image
    desk.world.undeploy("case_host")
    desk.world.settle("case_host", "inactive")
    desk.run({"engine.env": {"VLLM_LOGGING_LEVEL": "INFO"}})
    assert desk.live("Deployment")["spec"]["template"]["spec"]["containers"][0]["image"] == "vllm/vllm-openai:v0.99.0"


OWNED = [
    ["--tensor-parallel-size=2"],
    ["--tensor-parallel-size", "2"],
    ["-tp", "2"],
    ["--port=9000"],
    ["--port", "9000"],
    ["--served-model-name=x"],
    ["--api-key=abc"],
    ["--host=127.0.0.1"],
    ["--HOST", "::"],
    ["--served_model_name", "x"],
    ["--max-model-l", "1"],
]


@pytest.mark.django_db
@pytest.mark.parametrize("args", OWNED, ids=" ".join)
def test_c18_setting_given_twice(desk: Desk, args: list[str]) -> None:
    changes = {"engine.tensorParallelSize": 1, "resources.gpuCount": 2, "engine.args": args}
    assert "spec.engine.args[0]" in desk.refuse(changes)


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "ollama"])
def test_c18_no_generated_flag_can_be_given_again(name: str) -> None:
    """Whatever Smarter writes on a command line, a manifest that writes it too is refused, or replaces it."""
    engine = ENGINES[name]
    generated = engine_of(objects(host({"engine.contextLength": 4096}, SPECS[name])))["args"]
    for flag in sorted(flags_of(generated)):
        for args in ([f"{flag}=1"], [flag, "1"]):
            manifest = host({"engine.contextLength": 4096, "engine.args": args}, SPECS[name])
            if any(one.path == "spec.engine.args[0]" and one.level == "error" for one in problems(manifest)):
                continue
            # What may be given is then not generated.
            rendered = engine_of(objects(manifest))["args"]
            named = [canonical_flag(argument, engine) for argument in rendered]
            assert named.count(canonical_flag(flag, engine)) == 1, f"{name} gets {args} twice"
    flags = [canonical_flag(argument, engine) for argument in generated]
    assert len([one for one in flags if one]) == len({one for one in flags if one})


@pytest.mark.django_db
def test_c19_port_is_the_flags_and_not_the_variables(desk: Desk) -> None:
    rendered = objects(host({"engine.port": 9000}))
    found = engine_of(rendered)
    assert value_of(found["args"], "--port") == "9000"
    (port,) = found["ports"]
    assert port["containerPort"] == 9000
    (service_port,) = one(rendered, "Service")["spec"]["ports"]
    assert service_port["targetPort"] in (9000, port["name"])
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert found[probe]["httpGet"]["port"] in (9000, port["name"])
    assert "VLLM_PORT" not in {entry["name"] for entry in found["env"]}
    assert "spec.engine.env.VLLM_PORT" in desk.refuse({"engine.port": 9000, "engine.env": {"VLLM_PORT": "8000"}})


@pytest.mark.django_db
@pytest.mark.parametrize("context", [2, 4096, 131072])
def test_c22_tgi_takes_less_input_than_total(desk: Desk, context: int) -> None:
    args = container({"engine.contextLength": context}, SPECS["tgi"])["args"]
    total, most = int(value_of(args, "--max-total-tokens")), int(value_of(args, "--max-input-tokens"))
    assert (total, most) == (context, context - 1)
    if "--max-batch-prefill-tokens" in args:
        assert int(value_of(args, "--max-batch-prefill-tokens")) >= most
    assert "spec.engine.contextLength" in desk.refuse({"engine.contextLength": 1}, base=SPECS["tgi"])


def test_c23_ollama_listens_where_everybody_looks() -> None:
    rendered = objects(host({"engine.port": 8080}, SPECS["ollama"]))
    found = engine_of(rendered)
    assert plain_env(found)["OLLAMA_HOST"] == "0.0.0.0:8080"
    (port,) = found["ports"]
    assert port["containerPort"] == 8080
    (service_port,) = one(rendered, "Service")["spec"]["ports"]
    assert service_port["targetPort"] in (8080, port["name"])
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = found[probe].get("httpGet") or found[probe].get("tcpSocket")
        # A command in the container reads OLLAMA_HOST, as the server does.
        assert asked["port"] in (8080, port["name"]) if asked else found[probe]["exec"]["command"][0].endswith("ollama")
    assert "11434" not in str(rendered)


@pytest.mark.parametrize("name", KNOWN)
def test_c24_every_engine_binds_to_all_addresses(name: str) -> None:
    found = container(base=SPECS[name])
    values = [*command_line(found), *plain_env(found).values()]
    assert any(value == "0.0.0.0" or value.startswith("0.0.0.0:") for value in values)
    assert "HOSTNAME" not in plain_env(found)


@pytest.mark.django_db
@pytest.mark.parametrize("name", KNOWN)
def test_c24_no_manifest_moves_the_address(desk: Desk, name: str) -> None:
    assert "spec.engine.env.HOSTNAME" in desk.refuse({"engine.env": {"HOSTNAME": "127.0.0.1"}}, base=SPECS[name])


@pytest.mark.django_db
def test_c25_custom_engine_without_a_way_to_start(desk: Desk) -> None:
    custom = SPECS["custom"]
    both = desk.refuse({"engine.image": None, "engine.port": None, "engine.args": ["--x"]}, base=custom)
    assert {"spec.engine.image", "spec.engine.port"} <= set(both)
    assert set(desk.refuse({"engine.port": None}, base=custom)) == {"spec.engine.port"}
    answer = desk.apply({"engine.args": ["--x"], "engine.command": ["/serve"]}, base=custom)
    assert (answer.status, answer.errors) == (200, {})
    found = container({"engine.args": ["--x"], "engine.command": ["/serve"]}, custom)
    assert (found["command"], found["args"], found["image"]) == (["/serve"], ["--x"], custom["engine"]["image"])


@pytest.mark.django_db
@pytest.mark.parametrize("name", KNOWN)
def test_c25_command_of_a_known_engine_is_not_replaced(desk: Desk, name: str) -> None:
    assert "spec.engine.command" in desk.refuse({"engine.command": ["sh"]}, base=SPECS[name])


PROBES = ("startupProbe", "readinessProbe", "livenessProbe")


@pytest.mark.parametrize("name", AVAILABLE)
def test_c26_health_path_of_the_manifest_holds_for_all_probes(name: str) -> None:
    found = container({"healthCheck.path": "/healthy"}, SPECS[name])
    asked = [found[probe]["httpGet"] for probe in PROBES]
    assert {(one["path"], one["port"]) for one in asked} == {("/healthy", "http")}


# The routes of the pinned images, from the sources of their releases.
ROUTES = {
    "vllm": {"/health"},
    "sglang": {"/health", "/ready"},
    "tgi": {"/health"},
    "llama_cpp": {"/health"},
    "ollama": {"/", "/api/version"},
    "tei": {"/health"},
}


@pytest.mark.parametrize("name", KNOWN)
def test_c26_default_health_path_exists_in_the_pinned_image(name: str) -> None:
    found = container(base=SPECS[name])
    paths = {found[probe]["httpGet"]["path"] for probe in PROBES if "httpGet" in found[probe]}
    assert paths
    assert paths <= ROUTES[name]
    assert len({found[probe]["httpGet"]["port"] for probe in PROBES if "httpGet" in found[probe]}) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["health", "https://x/health", "", "/a b", "//x", "/health?x=1", "/\n"])
def test_c26_malformed_health_path(desk: Desk, path: str) -> None:
    assert set(desk.refuse({"healthCheck.path": path})) == {"spec.healthCheck.path"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("env", "path"),
    [
        ({"VLLM_A": True}, "spec.engine.env.VLLM_A"),
        ({"VLLM_A": 1}, "spec.engine.env.VLLM_A"),
        ({"my-var.x": "1"}, "spec.engine.env"),
        ({"1ABC": "1"}, "spec.engine.env"),
        ({"A B": "1"}, "spec.engine.env"),
    ],
)
def test_c103_variables_are_text(desk: Desk, env: dict[str, Any], path: str) -> None:
    assert any(found.startswith(path) for found in desk.refuse({"engine.env": env}))


def test_every_engine_of_the_vocabulary_has_a_manifest_here() -> None:
    assert set(ENGINES) == set(SPECS)
    assert spec_with(CPU, {}) == CPU
    assert host_of(host(base=BASE)).engine.name == "vllm"
