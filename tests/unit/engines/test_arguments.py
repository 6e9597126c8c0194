"""No spelling of a flag that Smarter sets gets past, and no text becomes another one on its way."""

import argparse
import re

import pytest

from smarter.core.arguments import DENIED_ENV, DENIED_ENV_PREFIXES, argument_problems, env_problems, literal
from smarter.engines import ENGINES

VLLM, LLAMA = ENGINES["vllm"], ENGINES["llama_cpp"]


def refused(arguments: list[str], engine: str = "vllm") -> bool:
    return any(problem.level == "error" for problem in argument_problems(arguments, ENGINES[engine], "args"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--api-key", "x"], ["--api-key=x"], ["--api_key=x"], ["--API-KEY=x"], ["--api-k", "x"], ["--api", "x"],
        ["--port", "1"], ["--port=1"], ["--po=1"], ["--host", "::"], ["--ho=::"], ["--uds", "/x"], ["--root-path", "/"],
        ["--config", "file.yaml"], ["--conf=file.yaml"], ["--middleware", "a.b"], ["--max_model_len=4096"],
        ["--max-model-len=4096"], ["-tp", "2"], ["-tp=2"], ["--tensor-parallel-size=2"],
        ["--tensor_parallel_size", "2"],
        ["--served-model-name=x"], ["--served", "x"], ["--model", "x"], ["--trust-remote-code"],
        ["--trust_remote_code"],
        ["--no-trust-remote-code"], ["--hf-token", "x"], ["--worker-cls=x"], ["--tool-server", "demo"],
        ["--allowed-local-media-path", "/"], ["--download-dir=/"], ["--shutdown-timeout", "0"], ["--dtype", "auto"],
        ["--tool-parser-plugin", "/x.py"], ["--reasoning-parser-plugin=x"], ["--gpu-memory-utilization=1"],
        ["--max-num-seqs", "1"], ["--revision", "x"], ["--runner", "generate"], ["--ssl-keyfile=x"], ["--headless"],
        ["--profiler-config.profiler=torch"], ["--port 9000"], ["--seed", "1", "--port=2"],
    ],
)  # fmt: skip
def test_vllm_flags_that_are_set_already(arguments: list[str]) -> None:
    assert refused(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", "1"], ["--ctx-size", "1"], ["--ctx_size=1"], ["-np", "2"], ["--parallel=2"], ["-m", "x"],
        ["--model", "x"],
        ["-hf", "a/b"], ["--hf-repo=a/b"], ["-mu", "https://x"], ["-a", "n"], ["--alias", "n"], ["-ngl", "0"],
        ["--gpu-layers", "0"], ["--n-gpu-layers", "0"], ["--api-key", "k"], ["--api-key-file", "/x"], ["--host", "::"],
        ["--port", "1"], ["--path", "/"], ["--tools", "all"], ["-ag"], ["--agent"], ["--ui-mcp-proxy"],
        ["--mcp-servers-config", "x"], ["--media-path", "/"], ["--slot-save-path", "/"], ["--models-dir", "/"],
        ["--log-file", "/x"], ["--log-prompts-dir", "/x"], ["--rpc", "x:1"], ["--embeddings"], ["--embedding"],
        ["--webui"], ["--no-webui"], ["--metrics"], ["--hf-repo-draft", "x"], ["-hfd", "x"], ["-dr", "x"],
    ],
)  # fmt: skip
def test_llama_cpp_flags_that_are_set_already(arguments: list[str]) -> None:
    assert refused(arguments, "llama_cpp")


@pytest.mark.parametrize(
    ("engine", "arguments"),
    [
        ("vllm", ["--enable-prefix-caching"]), ("vllm", ["--no-enable-prefix-caching"]), ("vllm", ["--seed", "-1"]),
        ("vllm", ["--tool-call-parser", "hermes"]), ("vllm", ["--reasoning-parser", "qwen3"]),
        ("vllm", ["--max-num-batched-tokens=16384"]), ("vllm", ["--tokenizer", "Qwen/Qwen3-8B"]),
        ("vllm", ["--quantization", "fp8"]), ("vllm", ["--kv-cache-dtype=fp8"]), ("vllm", ["-O3"]),
        ("vllm", ["--chat-template", "/models/t.jinja"]), ("vllm", ["--pipeline-parallel-size", "2"]),
        ("vllm", ["--compilation-config", '{"full_cuda_graph": true}']), ("vllm", ["--generation-config", "vllm"]),
        ("llama_cpp", ["--cache-type-k", "q8_0"]), ("llama_cpp", ["--jinja"]), ("llama_cpp", ["-fa", "on"]),
        ("llama_cpp", ["--split-mode", "layer"]), ("llama_cpp", ["-b", "512"]), ("llama_cpp", ["--pooling", "mean"]),
        ("llama_cpp", ["--temp", "-0.5"]),
    ],
)  # fmt: skip
def test_other_flags_pass(engine: str, arguments: list[str]) -> None:
    assert argument_problems(arguments, ENGINES[engine], "args") == []


def test_an_argparse_server_ends_up_with_our_values() -> None:
    """What passes the rules and then goes to a parser that abbreviates leaves every flag of ours as it was."""
    parser = argparse.ArgumentParser()
    for flag in sorted({*VLLM.managed_args, *VLLM.reserved_args, *VLLM.free_args, "--seed"}):
        parser.add_argument(flag)
    ours = [f"{flag}=ours" for flag in VLLM.managed_args]
    spellings = {flag[:length] for flag in VLLM.managed_args for length in range(3, len(flag) + 1)}
    passed = [spelling for spelling in sorted(spellings) if not refused([f"{spelling}=theirs"])]
    for spelling in passed:
        try:
            chosen = vars(parser.parse_args([*ours, f"{spelling}=theirs"]))
        except SystemExit:
            continue  # The server refuses to start, which is no way past.
        assert all(chosen[flag[2:].replace("-", "_")] == "ours" for flag in VLLM.managed_args), spelling


@pytest.mark.parametrize("engine", sorted(ENGINES))
@pytest.mark.parametrize("name", sorted({*DENIED_ENV, *(f"{prefix}X" for prefix in DENIED_ENV_PREFIXES)}))
@pytest.mark.parametrize("change", [str, str.lower, str.title])
def test_denied_variables(engine: str, name: str, change: type[str]) -> None:
    (problem,) = env_problems({change(name): "x"}, ENGINES[engine], "env")
    assert problem.level == "error"


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        ("vllm", "VLLM_SERVER_DEV_MODE"), ("vllm", "VLLM_ALLOW_RUNTIME_LORA_UPDATING"), ("vllm", "VLLM_API_KEY"),
        ("vllm", "VLLM_ALLOW_INSECURE_SERIALIZATION"), ("vllm", "VLLM_PLUGINS"), ("vllm", "VLLM_PORT"),
        ("vllm", "HF_HUB_OFFLINE"), ("vllm", "NVIDIA_VISIBLE_DEVICES"), ("vllm", "LD_PRELOAD"), ("vllm", "http_proxy"),
        ("llama_cpp", "LLAMA_ARG_CTX_SIZE"), ("llama_cpp", "LLAMA_API_KEY"), ("llama_cpp", "llama_arg_port"),
        ("vllm", "NVIDIA_VISIBLE_DEVICE\u0405"), ("vllm", "A B"), ("vllm", ""), ("vllm", "1A"), ("vllm", "my-var.x"),
    ],
)  # fmt: skip
def test_variables_of_one_engine(engine: str, name: str) -> None:
    (problem,) = env_problems({name: "x"}, ENGINES[engine], "env")
    assert problem.level == "error"


def test_every_variable_that_an_engine_sets_is_refused_to_manifests() -> None:
    """Otherwise a name would stand twice in a container, or a user's value would silently lose."""
    for engine, names in (
        (VLLM, ("HF_HUB_OFFLINE", "HOME", "VLLM_ENGINE_READY_TIMEOUT_S", "VLLM_MEDIA_URL_ALLOW_REDIRECTS",
                "VLLM_NO_USAGE_STATS", "VLLM_API_KEY")),
        (LLAMA, ("HOME", "LLAMA_ARG_OFFLINE", "LLAMA_API_KEY")),
    ):  # fmt: skip
        for name in names:
            assert env_problems({name: "x"}, engine, "env")[0].level == "error", name


def expanded(text: str, variables: dict[str, str]) -> str:
    """Kubernetes' own rule: `$$` is a dollar sign, `$(NAME)` the value where there is one, the rest as it is."""

    def one(found: re.Match[str]) -> str:
        if found.group() == "$$":
            return "$"
        return variables.get(found.group(1), found.group())

    return re.sub(r"\$\$|\$\(([^)]*)\)", one, text)


@pytest.mark.parametrize(
    "text",
    ["$(HF_TOKEN)", "$$(HF_TOKEN)", "$$$(HF_TOKEN)", "a$(b$(HF_TOKEN))", "$5", "$", "$$", "$$$", "100$$(", "$(", "$()",
     "$(HF_TOKEN", "plain", "", "$ (HF_TOKEN)", "$$$$(HF_TOKEN)$"],
)  # fmt: skip
def test_text_arrives_as_it_is(text: str) -> None:
    assert expanded(literal(text), {"HF_TOKEN": "secret", "b$(HF_TOKEN": "secret"}) == text


def test_ordinary_text_is_not_touched() -> None:
    assert literal('{"price": "$5", "a": 1}') == '{"price": "$5", "a": 1}'
