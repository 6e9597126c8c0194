"""The smallest request that shows whether a generative server still makes tokens: one token, asked for in the format
that the server speaks. A server may pass its health check while nothing comes out of it any more.

Kinds answer a Question, `apps/reconcile/answers.py` asks it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

PROMPT = "1"


@dataclass(frozen=True, slots=True)
class Question:
    """`service` is the name of the Service object in the namespace of the account; `expects` is the key that a right
    answer has. `key_secret` names the Smarter Secret whose value goes along as the API key."""

    service: str
    port: int
    path: str
    body: Mapping[str, Any]
    expects: str
    key_secret: str | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """How one API format asks for one token. `body` is made of the model's name."""

    path: str
    body: Callable[[str], dict[str, Any]]
    expects: str


def _completion(model: str) -> dict[str, Any]:
    return {"model": model, "prompt": PROMPT, "max_tokens": 1, "temperature": 0}


def _generate(_model: str) -> dict[str, Any]:
    return {"inputs": PROMPT, "parameters": {"max_new_tokens": 1}}


def _ollama(model: str) -> dict[str, Any]:
    return {"model": model, "prompt": PROMPT, "stream": False, "options": {"num_predict": 1}}


FORMS: Mapping[str, Form] = {
    "openai_compatible": Form("/v1/completions", _completion, "choices"),
    "huggingface": Form("/generate", _generate, "generated_text"),
    "ollama_native": Form("/api/generate", _ollama, "response"),
}
