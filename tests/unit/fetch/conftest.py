"""A served model, and a way to run the program as a pod would: arguments and environment in, lines and a code out."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from smarter.fetch.__main__ import main
from tests.unit.fetch.server import REPOSITORY, Site, serving

WEIGHTS = bytes(range(256)) * 12_000


@dataclass(frozen=True)
class Outcome:
    code: int
    lines: list[dict[str, Any]]
    text: str

    @property
    def last(self) -> dict[str, Any]:
        return self.lines[-1]


@pytest.fixture
def site() -> Iterator[Site]:
    files = {
        "config.json": b'{"model_type": "tiny"}',
        "tokenizer/vocab.txt": b"a\nb\n",
        "model-00001-of-00002.safetensors": WEIGHTS,
        "model-00002-of-00002.safetensors": WEIGHTS[::-1],
        "pytorch_model.bin": b"same weights again",
        "original/consolidated.00.pth": b"and again",
        ".gitattributes": b"*.bin lfs",
        "empty.txt": b"",
    }
    with serving(Site(files=files, lfs={name for name in files if name.endswith("safetensors")})) as served:
        yield served


@pytest.fixture
def single(site: Site) -> str:
    """The name of one more large file, which is not part of a set."""
    site.files["single.gguf"] = WEIGHTS
    site.lfs.add("single.gguf")
    return "single.gguf"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "models" / "0123456789abcdef"


@pytest.fixture
def fetch(
    site: Site, target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Runs the program in this process. Keyword arguments are environment variables."""
    for name in ("HF_TOKEN", "HF_TOKEN_FILE", "FETCH_TOKEN", "FETCH_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)

    def run(*extra: str, hub: bool = True, local: bool = True, **env: str) -> Outcome:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        options = ["--backoff-seconds", "0.01", "--stall-seconds", "2", "--attempts", "4", "--progress-seconds", "0"]
        options += ["--termination-log", str(tmp_path / "absent"), "--target", str(target)]
        if hub:
            options += ["--source", "huggingface", "--repository", REPOSITORY, "--hub-url", site.url]
        if local:
            options += ["--allow-http", "--allow-private"]
        code = main([*options, *extra])
        text = capsys.readouterr().out
        return Outcome(code, [json.loads(line) for line in text.splitlines()], text)

    return run
