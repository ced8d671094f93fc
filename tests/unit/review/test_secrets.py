"""Credentials are taken out; line numbers stay."""

import pytest

from bot.review.secrets import PLACEHOLDER, redact, redact_text

# Put together here, so that no scanner takes them for real ones.
KEYS = [
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "ghp_" + "a1" * 18,
    "ghs_" + "123456_eyJ" + "abcdefgh." * 6,
    "github_pat_" + "a" * 30,
    "glpat-" + "x" * 20,
    "xoxb-" + "1234567890-abc",
    "sk-" + "a" * 40,
    "eyJ" + "a" * 20 + ".eyJ" + "b" * 20 + "." + "c" * 20,
]


@pytest.mark.parametrize("key", KEYS)
def test_tokens_are_replaced(key: str) -> None:
    """Case M8."""
    text = redact_text(f'+TOKEN = "{key}"  # here\n')
    assert key not in text
    assert PLACEHOLDER.decode() in text


def test_the_name_beside_an_aws_secret_stays() -> None:
    secret = "a1/" * 13 + "b"
    assert redact_text(f'aws_secret_access_key = "{secret}"') == 'aws_secret_access_key = "[secret removed]"'


@pytest.mark.parametrize("end", ["+-----END RSA PRIVATE KEY-----\n", ""])
def test_private_keys_are_replaced_line_by_line_even_when_cut_off(end: str) -> None:
    diff = f"+-----BEGIN RSA PRIVATE KEY-----\n+MIIEabc+/=\n+Proc-Type: 4,ENCRYPTED\n+xyz==\n{end} context(line)\n"
    redacted = redact(diff.encode()).decode()
    assert "MII" not in redacted
    assert "xyz" not in redacted
    assert redacted.count("\n") == diff.count("\n")
    assert [line[:1] for line in redacted.split("\n")] == [line[:1] for line in diff.split("\n")]
    assert "context(line)" in redacted


@pytest.mark.parametrize("text", ['password = "hunter2"', "sk-short", "AKIA is a prefix", "eyJ", "a.eyJ.b"])
def test_what_is_no_credential_stays(text: str) -> None:
    assert redact_text(text) == text


def test_bytes_that_are_not_utf8_survive() -> None:
    assert redact(b"+\xff\xfe\n") == b"+\xff\xfe\n"
