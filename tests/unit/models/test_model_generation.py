"""The committed modules are what their schemas give, and a difference does not go unseen."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.models.schema_cases import MODULES

ROOT = Path(__file__).resolve().parents[3]


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, str(root / "scripts" / "generate_models.py"), *arguments]
    return subprocess.run(program, cwd=root, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def copy_of_root(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "generate_models.py", tmp_path / "scripts")
    shutil.copytree(ROOT / "smarter" / "models", tmp_path / "smarter" / "models")
    return tmp_path


def test_modules_agree_with_their_schemas() -> None:
    result = run(ROOT, "--check")
    assert (result.returncode, result.stdout) == (0, ""), result.stdout + result.stderr


def test_check_shows_a_changed_schema_and_generation_repairs_it(copy_of_root: Path) -> None:
    schema = copy_of_root / "smarter/models/sam/schema/LLMHost.json"
    document = json.loads(schema.read_text("utf-8"))
    document["$defs"]["SAMLLMHostScaling"]["properties"]["replicas"]["maximum"] = 17
    schema.write_text(json.dumps(document), "utf-8")

    result = run(copy_of_root, "--check")
    assert result.returncode == 1
    assert "-    replicas: conint(ge=1, le=16) | None = Field(1" in result.stdout
    assert "+    replicas: conint(ge=1, le=17) | None = Field(1" in result.stdout

    assert run(copy_of_root).stdout == "wrote smarter/models/sam/llm_host.py\n"
    assert "conint(ge=1, le=17)" in (copy_of_root / "smarter/models/sam/llm_host.py").read_text("utf-8")


def test_check_shows_an_edited_and_a_missing_module(copy_of_root: Path) -> None:
    module = copy_of_root / "smarter/models/sam/secret.py"
    module.write_text(module.read_text("utf-8").replace("SecretStr", "str"), "utf-8")
    (copy_of_root / "smarter/models/sam/user.py").unlink()
    result = run(copy_of_root, "--check")
    assert result.returncode == 1
    assert "+    value: SecretStr = Field" in result.stdout
    assert "+class SAMUser(SAMModel):" in result.stdout
    assert not (copy_of_root / "smarter/models/sam/user.py").exists()


def test_every_schema_has_its_module() -> None:
    folder = ROOT / "smarter/models/sam"
    assert {path.stem for path in (folder / "schema").iterdir()} == set(MODULES)


def test_modules_import_without_a_warning() -> None:
    code = "\n".join(f"import smarter.models.sam.{module}" for module in MODULES.values())
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert result.returncode == 0, result.stderr
