"""What manifests may pass to an inference server beside the fields that Smarter translates: arguments and environment
variables.

A server takes the last of two equal flags, abbreviations of flags, and twins of flags in its environment. Each of these
would undo what Smarter sets (the port, the API key, the model), so every spelling of a flag is brought to one form
before it is looked up in the engine's tables. The kinds' rules call this for user input, render calls `literal`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from smarter.core.engine import Engine
from smarter.core.problems import Problem, warning

_EXPANDABLE = re.compile(r"\$\$+|\$(?=\()")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NEGATIVE_NUMBER = re.compile(r"-[0-9.]+(?:[eE][-+]?[0-9]+)?", re.ASCII)
_SECRET_LIKE = re.compile(r"\b(?:hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|AKIA[A-Z0-9]{16}|ghp_[A-Za-z0-9]{30,})")

# Variables that reach past the server: which GPUs a container sees, what code it loads, where it sends tokens.
DENIED_ENV_PREFIXES = (
    "NVIDIA_",
    "CUDA_",
    "LD_",
    "KUBERNETES_",
    "PYTHON",
    "SMARTER_",
    "AWS_",
    "GODEBUG",
    "GLIBC_",
    "GCONV_",
    "BASH_",
    "SSL_",
    "OPENSSL_",
)
DENIED_ENV = frozenset(
    {
        "PATH",
        "HOME",
        "HOSTNAME",
        "IFS",
        "ENV",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "HF_TOKEN",
        "HF_ENDPOINT",
        "HUGGING_FACE_HUB_TOKEN",
        "HF_TOKEN_PATH",
    }
)


# What servers built on PyTorch, and the libraries below them, read.
PYTORCH_ENV_PREFIXES = (
    "FLASHINFER_",
    "HF_HUB_",
    "HIP_",
    "HSA_",
    "MKL_",
    "NCCL_",
    "OMP_",
    "PYTORCH_",
    "ROCM_",
    "SAFETENSORS_",
    "TOKENIZERS_",
    "TORCH",
    "TRANSFORMERS_",
    "TRITON_",
    "TZ",
)


def literal(text: str) -> str:
    """Text that Kubernetes hands over as it is: `$(NAME)` in an argument or variable is otherwise replaced by the value
    of another variable of the container, which may be a secret. A doubled dollar sign stands for one."""
    return _EXPANDABLE.sub(lambda found: found.group() * 2, text)


def canonical_flag(argument: str, engine: Engine) -> str | None:
    """The long spelling of the flag that an argument names; None for a value. Underscores count as hyphens, a value
    after `=`, a blank or a dotted key is cut off, `--no-x` is `--x`."""
    if not argument.startswith("-") or argument in ("-", "--") or _NEGATIVE_NUMBER.fullmatch(argument):
        return None
    name = re.split(r"[=\s]", argument, maxsplit=1)[0]
    if not name.startswith("--"):
        return _short_flag(name, engine)
    name = name.partition(".")[0].replace("_", "-").lower()
    name = engine.arg_aliases.get(name, name)
    positive = "--" + name.removeprefix("--no-")
    positive = engine.arg_aliases.get(positive, positive)
    return positive if name.startswith("--no-") and _ruled(positive, engine) else name


def _short_flag(name: str, engine: Engine) -> str:
    """Some parsers take a value without a blank, `-p8080`, and the beginning of a flag with several letters."""
    if name in engine.arg_aliases:
        return engine.arg_aliases[name]
    if engine.attaches_values and name[:2] in engine.arg_aliases:
        return engine.arg_aliases[name[:2]]
    if engine.abbreviates:
        longer = sorted(alias for alias in engine.arg_aliases if alias.startswith(name) and alias[1] != "-")
        return engine.arg_aliases[longer[0]] if longer else name
    return name


def flags_of(spec: Any, engine: Engine) -> set[str | None]:
    """The long spellings of the flags in `engine.args`; None among them where values stand for themselves."""
    return {canonical_flag(argument, engine) for argument in spec.engine.args or ()}


def env_twin(flag: str) -> str:
    """The variable without a prefix that servers of the clap family take in place of a long flag."""
    return flag.removeprefix("--").upper().replace("-", "_")


def argument_problems(arguments: Sequence[str], engine: Engine, path: str) -> list[Problem]:
    problems: list[Problem] = []
    for index, argument in enumerate(arguments):
        problems += _argument_problems(argument, engine, f"{path}[{index}]")
    if arguments and not engine.own_command and canonical_flag(arguments[0], engine) is None:
        problems.append(
            Problem("stray_argument", f"{path}[0]", "The first argument must be a flag that starts with a hyphen.")
        )
    return problems


def _argument_problems(argument: str, engine: Engine, path: str) -> list[Problem]:
    problems: list[Problem] = []
    flag = canonical_flag(argument, engine)
    if flag is not None:
        refusal = _refusal(flag, engine)
        if refusal:
            problems.append(Problem("reserved_argument", path, refusal))
        elif re.search(r"\s", argument.partition("=")[0]):
            problems.append(
                warning(
                    "joined_argument",
                    path,
                    "One entry is one argument. A flag and its value in one entry, with a blank between them, are not "
                    "split; write two entries, or join them by '='.",
                )
            )
    if _SECRET_LIKE.search(argument):
        problems.append(_looks_secret(path))
    return problems


def _ruled(flag: str, engine: Engine) -> bool:
    return flag in engine.managed_args or flag in engine.reserved_args


def _refusal(flag: str, engine: Engine) -> str | None:
    """Why a flag may not be set, or None."""
    if flag in engine.managed_args:
        return f"{flag} is set from the manifest; use {engine.managed_args[flag]}."
    if flag in engine.reserved_args or flag.startswith(engine.reserved_arg_prefixes):
        return f"{flag} is reserved for Smarter on {engine.name}."
    if engine.abbreviates and flag.startswith("--") and flag not in engine.free_args:
        for spelling in sorted({*engine.managed_args, *engine.reserved_args, *engine.arg_aliases}):
            ruled = engine.arg_aliases.get(spelling, spelling)
            if spelling.startswith(flag) and _ruled(ruled, engine):
                return f"{flag} could be read as {ruled}, which Smarter sets. Write flags in full."
    return None


def env_problems(
    env: Mapping[str, str], engine: Engine, path: str, fetched_with: frozenset[str] = frozenset()
) -> list[Problem]:
    """`fetched_with` are names that the source of the weights reads; the server never sees those."""
    problems: list[Problem] = []
    for name, value in env.items():
        place = f"{path}.{name}" if _ENV_NAME.fullmatch(name) else path
        if name not in fetched_with:
            problems += _env_name_problems(name, engine, place)
        if _SECRET_LIKE.search(value):
            problems.append(_looks_secret(place))
    return problems


def _env_name_problems(name: str, engine: Engine, path: str) -> list[Problem]:
    if not _ENV_NAME.fullmatch(name):
        words = "Names of environment variables have letters, digits and underscores, and do not start with a digit."
        return [Problem("env_name", path, words)]
    upper = name.upper()
    if upper in DENIED_ENV or upper.startswith(DENIED_ENV_PREFIXES):
        return [Problem("reserved_env", path, f"The variable {name} is reserved for Smarter.")]
    if upper in engine.managed_env:
        words = f"The variable {name} is set from the manifest; use {engine.managed_env[upper]}."
        return [Problem("reserved_env", path, words)]
    if upper in engine.reserved_env or upper.startswith(engine.reserved_env_prefixes):
        return [Problem("reserved_env", path, f"The variable {name} is reserved for Smarter on {engine.name}.")]
    if not upper.startswith(engine.env_prefixes):
        words = f"{engine.name} is not known to read the variable {name}; it is passed on as it is."
        return [warning("unknown_env", path, words)]
    return []


def secret_problems(texts: Mapping[str, str]) -> list[Problem]:
    """Of paths to texts."""
    return [_looks_secret(path) for path, text in texts.items() if _SECRET_LIKE.search(text)]


def _looks_secret(path: str) -> Problem:
    return warning("secret_in_plain_text", path, "This looks like a credential. Store it in a Secret and refer to it.")
