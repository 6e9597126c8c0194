"""Number formats of weights and of computing, as the rules of several engines need them.

`model.quantization` declares how the weights are stored. Servers read that from the files of a quantized model by
themselves, and stop when they are told something else; so only the plain formats, which are also formats to compute in,
become an argument.
"""

from collections.abc import Collection, Mapping
from typing import Any

from smarter.core.problems import Problem
from smarter.core.source import ARCHIVES

COMPUTED_IN = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
"""Of a stored format to the one that a server is told to compute in."""
DTYPES = {
    "auto": "auto",
    "half": "float16",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "float32": "float32",
}
"""Words that servers of the PyTorch family take for a format, to what they mean."""
_SINGLE = (".gguf",)
"""Ends of the names of files that hold a whole model."""


def folder_problems(spec: Any, engine: str, *, files: tuple[str, ...] = ()) -> list[Problem]:
    """For a server that loads the folder of a model: a single file is not one, and what a web address names is a single
    file unless it is an archive. `files` are ends of the names of files that it can load alone."""
    place = spec.model.repository.partition("?")[0].lower()
    is_file = place.endswith(_SINGLE) or (spec.model.source == "url" and not place.endswith(ARCHIVES))
    if not is_file or place.endswith(files or "\0"):
        return []
    words = f"{engine} loads the folder of a model, and this is one file."
    if spec.model.source == "url":
        words += f" Name a tar archive of the folder, in {', '.join(ARCHIVES)}."
    return [Problem("single_file", "spec.model.repository", words)]


def dtype_argument(spec: Any) -> str | None:
    """The format that a server is told, or None where it decides."""
    return spec.engine.dtype or COMPUTED_IN.get(str(spec.model.quantization))


def quantization_problems(spec: Any, engine: str, loadable: Collection[str], advice: str = "") -> list[Problem]:
    stored = str(spec.model.quantization)
    if stored in loadable:
        return []
    words = f"{engine} cannot load {stored} weights; it loads {', '.join(loadable)}."
    return [Problem("quantization", "spec.model.quantization", f"{words} {advice}".strip())]


def dtype_problems(spec: Any, engine: str, known: Mapping[str, str] = DTYPES) -> list[Problem]:
    dtype = spec.engine.dtype
    if dtype is None:
        return []
    if dtype not in known:
        return [Problem("dtype", "spec.engine.dtype", f"{engine} knows the formats {', '.join(known)}.")]
    stored = COMPUTED_IN.get(str(spec.model.quantization))
    if stored and known[dtype] not in ("auto", stored):
        words = f"This contradicts the quantization {spec.model.quantization} of the model. Leave one of them out."
        return [Problem("dtype", "spec.engine.dtype", words)]
    return []


def no_dtype_problems(spec: Any, engine: str) -> list[Problem]:
    """For a server whose model files decide."""
    if spec.engine.dtype in (None, "auto"):
        return []
    words = f"With {engine} the number format is that of the file. Leave this out."
    return [Problem("dtype", "spec.engine.dtype", words)]
