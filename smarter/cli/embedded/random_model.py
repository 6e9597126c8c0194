"""A GGUF file with a language model whose weights are random: real enough for a real server, and made in a moment.

The quick start serves it and tests do, so that neither needs weights from a network. Its words mean nothing. The format
is GGUF version 3: a header, typed key-value pairs, the table of tensors, and the tensors themselves.
"""

import random
import struct
from collections.abc import Sequence
from pathlib import Path

NAME = "random-words"
_ALIGNMENT = 32
_UINT32, _FLOAT32, _STRING, _ARRAY, _INT32 = 4, 6, 8, 9, 5
_F32 = 0
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_WIDTH, _FEED, _LAYERS, _HEADS = 64, 128, 2, 4
_CONTEXT = 2048
_SYLLABLES = ("ba", "do", "ka", "li", "mo", "na", "pe", "ru", "si", "to", "vu", "ze")
_TEMPLATE = "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"

Tensor = tuple[str, tuple[int, ...], bytes]
"""Name, shape with the fastest dimension first, data."""


def write_model(path: Path, seed: int = 1) -> None:
    """The same bytes for the same seed. Whole or not at all."""
    draft = path.with_name(f".{path.name}.partial")
    draft.write_bytes(model(seed))
    draft.replace(path)


def model(seed: int = 1) -> bytes:
    tokens = _tokens()
    pairs = _pairs(tokens)
    tensors = _tensors(random.Random(seed), tokens)  # noqa: S311 - these weights are no secret
    table, offset = b"", 0
    for name, shape, data in tensors:
        dimensions = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        table += _text(name) + dimensions + struct.pack("<IQ", _F32, offset)
        offset += _padded(len(data))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs) + table
    body = b"".join(data.ljust(_padded(len(data)), b"\0") for _, _, data in tensors)
    return head.ljust(_padded(len(head)), b"\0") + body


def _tokens() -> list[tuple[str, int]]:
    """Text and type. Every byte is one, so that any prompt can be read; the words are what it says."""
    words = [f"\u2581{first}{second}" for first in _SYLLABLES for second in _SYLLABLES]
    special = [("<unk>", _UNKNOWN), ("<s>", _CONTROL), ("</s>", _CONTROL)]
    return [*special, *((f"<0x{byte:02X}>", _BYTE) for byte in range(256)), *((word, _NORMAL) for word in words)]


def _pairs(tokens: Sequence[tuple[str, int]]) -> list[bytes]:
    numbers = {
        "llama.vocab_size": len(tokens),
        "llama.context_length": _CONTEXT,
        "llama.embedding_length": _WIDTH,
        "llama.block_count": _LAYERS,
        "llama.feed_forward_length": _FEED,
        "llama.rope.dimension_count": _WIDTH // _HEADS,
        "llama.attention.head_count": _HEADS,
        "llama.attention.head_count_kv": _HEADS,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }
    texts = {
        "general.architecture": "llama",
        "general.name": NAME,
        "tokenizer.ggml.model": "llama",
        "tokenizer.chat_template": _TEMPLATE,
    }
    names = _strings([text for text, _ in tokens])
    # Pieces with a higher score are put together first; no word is one that pieces lead to.
    scores = struct.pack(f"<{len(tokens)}f", *(-float(index) for index in range(len(tokens))))
    types = struct.pack(f"<{len(tokens)}i", *(kind for _, kind in tokens))
    return [
        *(_text(key) + struct.pack("<I", _STRING) + _text(value) for key, value in texts.items()),
        *(_text(key) + struct.pack("<II", _UINT32, value) for key, value in numbers.items()),
        _text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", _FLOAT32, 1e-5),
        _array("tokenizer.ggml.tokens", _STRING, len(tokens), names),
        _array("tokenizer.ggml.scores", _FLOAT32, len(tokens), scores),
        _array("tokenizer.ggml.token_type", _INT32, len(tokens), types),
    ]


def _tensors(source: random.Random, tokens: Sequence[tuple[str, int]]) -> list[Tensor]:
    size = len(tokens)
    # Only words have weights in the last layer: bytes and the end of the text are never the likeliest.
    last = [_row(source, _WIDTH) if kind == _NORMAL else bytes(4 * _WIDTH) for _, kind in tokens]
    found: list[Tensor] = [
        ("token_embd.weight", (_WIDTH, size), _row(source, _WIDTH * size)),
        ("output_norm.weight", (_WIDTH,), _ones(_WIDTH)),
        ("output.weight", (_WIDTH, size), b"".join(last)),
    ]
    for layer in range(_LAYERS):
        shapes = {
            "attn_q": (_WIDTH, _WIDTH),
            "attn_k": (_WIDTH, _WIDTH),
            "attn_v": (_WIDTH, _WIDTH),
            "attn_output": (_WIDTH, _WIDTH),
            "ffn_gate": (_WIDTH, _FEED),
            "ffn_up": (_WIDTH, _FEED),
            "ffn_down": (_FEED, _WIDTH),
        }
        for name in ("attn_norm", "ffn_norm"):
            found.append((f"blk.{layer}.{name}.weight", (_WIDTH,), _ones(_WIDTH)))
        for name, shape in shapes.items():
            found.append((f"blk.{layer}.{name}.weight", shape, _row(source, shape[0] * shape[1])))
    return found


def _row(source: random.Random, count: int) -> bytes:
    return struct.pack(f"<{count}f", *(source.gauss(0.0, 0.2) for _ in range(count)))


def _ones(count: int) -> bytes:
    return struct.pack(f"<{count}f", *(1.0 for _ in range(count)))


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _strings(texts: Sequence[str]) -> bytes:
    return b"".join(_text(text) for text in texts)


def _array(key: str, kind: int, count: int, data: bytes) -> bytes:
    return _text(key) + struct.pack("<IIQ", _ARRAY, kind, count) + data
