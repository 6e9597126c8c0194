"""Where llama.cpp's server is on this machine. The quick start, the tests and scripts/llama_server ask.

Standard library only, so that it runs before a virtual environment exists.
"""

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from smarter.core.errors import PermanentError

PROGRAM = "llama-server"
VARIABLE = "LLAMA_SERVER"
VERSION = "0.3.36"
"""Of the source distribution llama-cpp-python, which carries llama.cpp at commit 0c1e57098."""
RECIPE = 1
"""Counts changes of how it is built."""
HOW_TO_GET = "scripts/llama_server build"


@dataclass(frozen=True)
class Found:
    path: Path
    origin: str


def find() -> Found | None:
    """LLAMA_SERVER, else one on the search path, else the one that was built here. PermanentError if LLAMA_SERVER names
    something that cannot be run."""
    named = os.environ.get(VARIABLE, "").strip()
    if named:
        path = shutil.which(named)
        if path is None:
            raise PermanentError(f"{VARIABLE} is {named}, which is no program.", reason="NoProgram")
        return Found(Path(path).resolve(), VARIABLE)
    on_path = shutil.which(PROGRAM)
    if on_path:
        return Found(Path(on_path).resolve(), "the search path")
    built = built_path()
    return Found(built, "built here") if os.access(built, os.X_OK) else None


def cache_folder() -> Path:
    """By version, recipe and machine: whatever lies there is right."""
    base = os.environ.get("XDG_CACHE_HOME", "").strip()
    cache = Path(base) if base else Path.home() / ".cache"
    return cache / "smarter" / PROGRAM / f"{VERSION}-{RECIPE}-{platform.machine()}"


def built_path() -> Path:
    return cache_folder() / PROGRAM
