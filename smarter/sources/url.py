"""Weights from one public https address: a single file, or a tar archive of a model's folder.

Smarter itself never opens the address. The fetch program does, in a pod whose network reaches public addresses only;
the rules here refuse what is plainly not public, so that the user hears of it at once. An operator who keeps mirrors
inside a network may allow those too.
"""

import re
from typing import Any
from urllib.parse import SplitResult, urlsplit

from smarter.core.facts import Environment
from smarter.core.plain_words import relative_path_problem
from smarter.core.problems import Problem
from smarter.core.source import ARCHIVES, MODELS_MOUNT, Fetch, Layout, Source, Weights, trust_args, weights_key
from smarter.core.web_address import public_host_fault

_OTHER_ARCHIVES = (".tar.bz2", ".tar.xz", ".tar.zst", ".zip", ".7z")
_ADDRESS = re.compile(r"[!-~]+", re.ASCII)
_UNSAFE = frozenset("\"'`$;|<>(){}\\*!^")
_PATH = "spec.model.repository"


def weights(spec: Any, environment: Environment, layout: Layout) -> Weights:
    model = spec.model
    key = weights_key("url", model.repository, "", model.file or "")
    folder = f"{MODELS_MOUNT}/{key}"
    path = urlsplit(model.repository).path
    packed = path.lower().endswith(ARCHIVES)
    file = model.file if packed else model.file or path.rpartition("/")[2]
    args = ["--source", "url", "--repository", model.repository]
    args += ["--file", file] if file else []
    args += ["--unpack"] if packed else []
    return Weights(folder, file, Fetch((*args, "--target", folder, *trust_args(environment))), key=key)


def check(spec: Any) -> list[Problem]:
    model = spec.model
    problems = [_address_problem(model.repository)]
    if model.file is not None:
        problems.append(relative_path_problem(model.file, "spec.model.file"))
    if model.repository.partition("?")[0].lower().endswith(_OTHER_ARCHIVES):
        words = f"Archives of this kind are not unpacked. Use one of {', '.join(ARCHIVES)}, or a single file."
        problems.append(Problem("archive", _PATH, words))
    return [problem for problem in problems if problem]


def _address_problem(address: str) -> Problem | None:
    words = _address_fault(address)
    return Problem("address", _PATH, words) if words else None


def _address_fault(address: str) -> str | None:
    if not _ADDRESS.fullmatch(address) or _UNSAFE & set(address):
        return "An address has no blanks, quotes, backslashes or other characters that must be written as %xx."
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return "This is not an address such as https://example.com/model.gguf."
    if parts.scheme not in ("https", "http"):
        return "Weights come from an https address only."
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        return "An address may not hold a user name or password."
    if not parts.hostname or port == 0:
        return "This is not an address such as https://example.com/model.gguf."
    if parts.fragment:
        return "An address of weights has no part after '#'."
    return _path_fault(parts)


def reach(spec: Any, environment: Environment) -> list[Problem]:
    """Public addresses, unless the operator trusts others as well."""
    address = spec.model.repository
    if environment.trusted_sources or _address_fault(address):
        return []
    parts = urlsplit(address)
    words = None if parts.scheme == "https" else "Weights come from an https address only."
    words = words or public_host_fault(parts.hostname or "")
    if words is None and parts.port not in (None, 443):
        words = "Weights come from port 443 only, the usual one of https."
    return [Problem("address", _PATH, words)] if words else []


def _path_fault(parts: SplitResult) -> str | None:
    if parts.path.endswith("/") or not parts.path:
        return "The address must name a file, not a folder."
    segments = parts.path.lower().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/").split("/")
    if ".." in segments or segments[-1].startswith("-") or "%" in parts.path.rpartition("/")[2]:
        return "The path of the address may not hold '..', nor a file name with '%' or with a hyphen at its start."
    return None


SOURCE = Source(name="url", weights=weights, check=check, reach=reach)
