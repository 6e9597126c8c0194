import re
import string

import pytest

from smarter.apps.accounts.tokens import TOKEN_PATTERN, new_token, parse_token, same_digest


def test_a_new_key_has_the_published_form_and_is_read_back():
    token = new_token()

    assert re.fullmatch(TOKEN_PATTERN, token.text)
    assert parse_token(token.text) == token


def test_keys_differ_in_every_random_part():
    tokens = [new_token() for _ in range(200)]

    assert len({token.key_id for token in tokens}) == 200
    assert len({token.digest for token in tokens}) == 200


def test_every_wrong_character_is_caught_by_the_checksum():
    text = new_token().text
    for position in range(len(text)):
        for wrong in string.ascii_letters + string.digits + "-_":
            if wrong != text[position]:
                assert parse_token(text[:position] + wrong + text[position + 1 :]) is None


def test_every_exchange_of_two_neighbours_is_caught():
    text = new_token().text
    for position in range(len(text) - 1):
        swapped = text[:position] + text[position + 1] + text[position] + text[position + 2 :]
        assert swapped == text or parse_token(swapped) is None


def test_a_key_reads_unambiguously_when_its_secret_holds_the_separator():
    for _ in range(2000):
        token = new_token()
        secret = token.text.removeprefix(f"sk_smarter_{token.key_id}_")[:43]
        if "_" in secret:
            assert parse_token(token.text) == token
            return
    pytest.fail("no secret with an underscore in 2,000")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "sk_smarter_",
        "sk_smarter_" + "a" * 12 + "_" + "b" * 43 + "_00000000",
        "\u0000",
        "\u017fk_smarter_",
        "x" * 10**6,
    ],
)
def test_foreign_text_is_no_key(text):
    assert parse_token(text) is None


def test_the_digest_depends_on_the_id_so_rows_cannot_be_exchanged():
    one, other = new_token(), new_token()
    secret = one.text.removeprefix(f"sk_smarter_{one.key_id}_")[:43]

    assert secret not in one.digest
    assert not same_digest(one.digest, other.digest)


def test_the_key_is_not_in_its_representation():
    token = new_token()

    assert token.text not in repr(token)
