"""Credentials are taken out; line numbers stay."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.diff.parse import parse_diff
from bot.review.secrets import PLACEHOLDER, redact, redact_diff, redact_text

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


AWS_SECRET = "a1/" * 13 + "b"


@pytest.mark.parametrize(
    "before",
    [
        'aws_secret_access_key = "',
        'AWS_SECRET_ACCESS_KEY="',
        "awsSecretAccessKey: ",
        "AwsSecretAccess_Key:",
        '"aws_secretaccessKEY": "',
        ' aws_secret_access_key =\n     "',
        "+aws_secret_access_key:\n+",
    ],
)
@pytest.mark.parametrize("after", ["", '"\n', "=="])
def test_the_name_beside_an_aws_secret_stays(before: str, after: str) -> None:
    end = after.lstrip("=")
    assert redact_text(f"{before}{AWS_SECRET}{after}") == f"{before}[secret removed]{end}"


@pytest.mark.parametrize("key", KEYS)
def test_a_word_that_only_ends_like_a_token_stays(key: str) -> None:
    assert redact_text(f"x{key} {KEYS[0]}") == f"x{key} [secret removed]"


@pytest.mark.parametrize("end", ["+-----END RSA PRIVATE KEY-----\n", ""])
def test_private_keys_are_replaced_line_by_line_even_when_cut_off(end: str) -> None:
    diff = f"+-----BEGIN RSA PRIVATE KEY-----\n+MIIEabc+/=\n+Proc-Type: 4,ENCRYPTED\n+xyz==\n{end} context(line)\n"
    redacted = redact(diff.encode()).decode()
    assert "MII" not in redacted
    assert "xyz" not in redacted
    assert redacted.count("\n") == diff.count("\n")
    assert [line[:1] for line in redacted.split("\n")] == [line[:1] for line in diff.split("\n")]
    assert "context(line)" in redacted


def test_the_empty_line_in_an_encrypted_key_keeps_its_sign() -> None:
    key = "+-----BEGIN RSA PRIVATE KEY-----\n+Proc-Type: 4,ENCRYPTED\n+\n+MIIEabc\n"
    assert redact_text(key).split("\n")[1:4] == ["+[secret removed]", "+", "+[secret removed]"]


PARTS = (
    *KEYS,
    *(
        AWS_SECRET,
        "aws_secret_access_key",
        "AWS_SECRET_ACCESS_KEY",
        "=",
        ": ",
        '"',
        " ",
        "\t",
        "\r",
        ".",
        "-",
        "+",
    ),
    *(
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END RSA PRIVATE KEY-----",
        "MIIEabc+/=",
        "DEK-Info: x",
        "eyJ",
        "AKIA",
    ),
)


@settings(max_examples=400, deadline=None)
@given(
    lines=st.lists(
        st.tuples(st.sampled_from(" +-"), st.lists(st.sampled_from(PARTS), max_size=4).map("".join)),
        max_size=8,
    ),
    ending=st.sampled_from(["", "\n"]),
)
def test_lines_keep_their_number_and_signs_and_a_second_time_changes_nothing(
    lines: list[tuple[str, str]], ending: str
) -> None:
    diff = "\n".join(sign + code for sign, code in lines) + ending
    redacted = redact_text(diff)
    assert [line[:1] for line in redacted.split("\n")] == [line[:1] for line in diff.split("\n")]
    assert redact_text(redacted) == redacted


@pytest.mark.parametrize("text", ['password = "hunter2"', "sk-short", "AKIA is a prefix", "eyJ", "a.eyJ.b"])
def test_what_is_no_credential_stays(text: str) -> None:
    assert redact_text(text) == text


def test_names_of_files_stay_and_code_does_not() -> None:
    key = "ghp_" + "a1" * 18
    path = "locale/sk-translations-of-the-year-2026.py"
    diff = parse_diff(
        f'diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@ t = "{key}"\n-x\n+{key}\n'.encode()
    )
    (file,) = redact_diff(diff).files
    assert file.path == path
    assert key not in file.hunks[0].header + file.hunks[0].body


def test_bytes_that_are_not_utf8_survive() -> None:
    assert redact(b"+\xff\xfe\n") == b"+\xff\xfe\n"
