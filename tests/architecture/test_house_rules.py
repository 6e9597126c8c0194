"""Rules of the house that no linter knows."""

import re
from pathlib import Path

from smarter.engines import ENGINES
from smarter.kinds import KINDS
from smarter.sources import SOURCES

CHECKOUT = Path(__file__).resolve().parents[2]
SMARTER = CHECKOUT / "smarter"
MAX_LINES = 400
FORBIDDEN_FILE_NAMES = {"utils.py", "helpers.py", "common.py", "const.py", "manager.py", "misc.py"}
GENERATED = {path.with_suffix(".py").name for path in SMARTER.glob("models/*/schema/*.json")}


def sources() -> list[Path]:
    return [path for path in SMARTER.rglob("*.py") if "migrations" not in path.parts]


def by_hand() -> list[Path]:
    generated = [path for path in sources() if path.read_text().startswith('"""\nGenerated') or "models" in path.parts]
    return [path for path in sources() if path not in generated]


def test_no_file_is_two_things() -> None:
    long = {
        str(path.relative_to(CHECKOUT)): count
        for path in by_hand()
        if (count := len(path.read_text().splitlines())) > MAX_LINES
    }
    assert long == {}


def test_no_file_is_a_drawer() -> None:
    assert [path for path in sources() if path.name in FORBIDDEN_FILE_NAMES] == []


def test_every_module_says_why_it_exists() -> None:
    silent = [
        str(path.relative_to(CHECKOUT))
        for path in by_hand()
        if path.read_text().strip() and not path.read_text().lstrip().startswith('"""') and path.name != "apps.py"
    ]
    assert silent == []


def test_engines_are_named_in_their_own_file_only() -> None:
    """A comparison with an engine's name anywhere else means that the design is being bent."""
    names = "|".join(map(re.escape, ENGINES))
    comparison = re.compile(rf"""(==|!=|\bin\b)\s*[\(\[{{]?\s*["']({names})["']""")
    found = [
        f"{path.relative_to(CHECKOUT)}: {match.group(0)}"
        for path in by_hand()
        # The fetch program compares sources, one of which has the name of an engine.
        if path.parent.name not in ("engines", "fetch")
        for match in comparison.finditer(path.read_text())
    ]
    assert found == []


def test_kinds_are_compared_in_their_own_file_only() -> None:
    names = "|".join(re.escape(name) for _, name in KINDS)
    comparison = re.compile(rf"""\bkind(?:\.name)?\s*(==|!=)\s*["']({names})["']""")
    found = [
        f"{path.relative_to(CHECKOUT)}: {match.group(0)}"
        for path in by_hand()
        # The simulated cluster has a kind Secret too, Kubernetes' own.
        if not {"kinds", "simulation", "processes"} & set(path.parts)
        for match in comparison.finditer(path.read_text())
    ]
    assert found == []


def test_registries_hold_what_this_release_has() -> None:
    """A file that went missing would vanish silently from a registry that scans a folder."""
    assert set(ENGINES) == {"vllm", "sglang", "tgi", "llama_cpp", "ollama", "tei", "custom"}
    assert set(SOURCES) == {"huggingface", "ollama", "pvc", "s3", "url"}
    assert {name for _, name in KINDS} == {
        "Account",
        "Cluster",
        "LLMHost",
        "LLMHostCompute",
        "Secret",
        "SmarterAuthToken",
        "User",
    }


def test_suppressions_have_a_reason_and_are_few() -> None:
    pattern = re.compile(r"#\s*(noqa|type: ignore|nosec|pragma: no cover)[^\n]*")
    found = [match.group(0) for path in by_hand() for match in pattern.finditer(path.read_text())]
    assert all(re.search(r" - \S+", text) for text in found), found
    lines = sum(len(path.read_text().splitlines()) for path in by_hand())
    assert len(found) <= max(8, lines // 500), f"{len(found)} suppressions in {lines} lines"
