#!/usr/bin/env python3
"""Write the manifest models from their JSON Schemas, or check that they still agree.

Run it after every change of a file in smarter/models/*/schema/, and never edit a generated module by hand.
With --check nothing is written, and the program ends with 1 and a diff when a module is not what its schema gives.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

# The generator takes two seconds to start, so it is used as a library: one start serves all schemas.
from datamodel_code_generator.__main__ import Exit, main

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT / "smarter" / "models"

# The name after --base-class differs by vocabulary; everything else gives the style of the published models.
OPTIONS = [
    "--ignore-pyproject",
    "--input-file-type",
    "jsonschema",
    "--schema-version-mode",
    "strict",
    "--strict-refs",
    "--output-model-type",
    "pydantic_v2.BaseModel",
    "--target-python-version",
    "3.11",
    "--target-pydantic-version",
    "2.12",
    "--use-schema-description",
    "--use-field-description",
    "--use-single-line-docstring",
    "--use-standard-collections",
    "--use-union-operator",
    "--no-use-annotated",
    "--no-use-specialized-enum",
    "--collapse-root-models",
    "--output-datetime-class",
    "datetime",
    "--use-double-quotes",
    "--disable-timestamp",
    "--formatters",
    "black",
    "isort",
]

HEADER = '''"""
Manifest model of the kind {kind}, written by scripts/generate_models.py.
Do not edit it. Change {schema} and run the program again.
"""

# A bound such as conint(ge=1) is a call, which a type checker does not accept as a type, and the default of an enum
# is the plain text that the attribute holds.
# mypy: disable-error-code="valid-type,assignment"
'''


def module_name(kind: str) -> str:
    """LLMHostCompute becomes llm_host_compute."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", kind).lower()


def base_class(schema: Path) -> str:
    vocabulary = schema.parents[1].name
    names = {"sam": "SAMModel"}
    return f"smarter.models.{vocabulary}.base.{names.get(vocabulary, vocabulary.capitalize() + 'Model')}"


def generate(schema: Path, workspace: Path) -> str:
    """The text of the module for one schema."""
    header, output = workspace / "header.txt", workspace / f"{schema.stem}.py"
    header.write_text(HEADER.format(kind=schema.stem, schema=schema.relative_to(ROOT)), "utf-8")
    arguments = ["--input", str(schema), "--output", str(output), "--base-class", base_class(schema)]
    said = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stderr(said):
        # It says that black and isort will become extras of it; both are dependencies of ours.
        warnings.simplefilter("ignore", FutureWarning)
        result = main([*arguments, "--custom-file-header-path", str(header), *OPTIONS])
    if result != Exit.OK:
        raise SystemExit(f"{schema.relative_to(ROOT)}: {said.getvalue().strip()}")
    return output.read_text("utf-8")


def modules() -> Iterator[tuple[Path, str]]:
    """Each module's path with the text that it should have."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        # black and isort look for their settings beside the file that they format.
        shutil.copy(ROOT / "pyproject.toml", workspace)
        for schema in sorted(MODELS.glob("*/schema/*.json")):
            yield schema.parents[1] / f"{module_name(schema.stem)}.py", generate(schema, workspace)


def report(path: Path, wanted: str) -> bool:
    """Print how a module differs from what it should be. True if it does."""
    present = path.read_text("utf-8") if path.exists() else ""
    name = str(path.relative_to(ROOT))
    diff = difflib.unified_diff(present.splitlines(True), wanted.splitlines(True), name, f"{name} as generated")
    sys.stdout.writelines(diff)
    return present != wanted


def run() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 and a diff on a difference")
    check = parser.parse_args().check
    differing = 0
    for path, text in modules():
        if check:
            differing += report(path, text)
        elif not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    if differing:
        print(f"{differing} modules differ from their schema: run scripts/generate_models.py", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(run())
