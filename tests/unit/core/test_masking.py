"""A secret that a server prints is not shown: not as a whole, not cut, not written as in an address."""

import pytest
from pydantic import SecretStr

from smarter.core.conditions import Condition
from smarter.core.kind import Observation
from smarter.core.masking import mask_observation, mask_text

KEY = SecretStr("sk-0123456789/abcdef+xyz")


@pytest.mark.parametrize(
    "text",
    [
        "server_args=ServerArgs(api_key='sk-0123456789/abcdef+xyz', port=30000)",
        "url=http://x/?key=sk-0123456789%2Fabcdef%2Bxyz&a=b",
        "cut at the end: sk-0123456789/abc",
        "cut by us: sk-0123456789/abc… and more",
        "9/abcdef+xyz is the end of a key whose beginning was cut",
        "twice sk-0123456789/abcdef+xyz sk-0123456789/abcdef+xyz",
    ],
)
def test_masked(text: str) -> None:
    # The beginning of a line that was cut stands at the very beginning.
    text = text if not text.startswith("9/") else KEY.get_secret_value()[12:] + text[len("9/abcdef+xyz") :]
    masked = mask_text(text, [KEY])
    assert "***" in masked
    for part in ("0123456789", "abcdef"):
        assert part not in masked


def test_what_is_not_secret_stays() -> None:
    assert mask_text("loading sk-learn", [KEY]) == "loading sk-learn"
    assert mask_text("a short one", [SecretStr("one")]) == "a short one"
    assert mask_text("text", []) == "text"


def test_an_observation() -> None:
    said = f"It said: api_key={KEY.get_secret_value()}"
    conditions = (Condition("Available", "False", "Crash", said),)
    found = Observation("error", False, False, said, {"message": said, "healthy": False}, conditions)
    masked = mask_observation(found, [KEY])
    assert KEY.get_secret_value() not in repr(masked)
    assert masked.status["healthy"] is False
