"""M1: `/review` is exactly that; nothing in a comment is an argument."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.forges.command import Command, parse_command

NEW = Command(full=False)
FULL = Command(full=True)


@pytest.mark.parametrize(
    ("body", "command"),
    [
        ("/review", NEW),
        ("/review full", FULL),
        ("/Review  FULL \t", FULL),
        ("/review\r\n", NEW),
        ("Thanks!\r\n/review full\r\nmore", FULL),
        ("/review\n/review full", FULL),
        ("@redline review", NEW),
        ("@Redline[bot] review full", FULL),
        ("> quoted\n\n/review", NEW),
        ("```\ncode\n```\n/review", NEW),
        ("````\n```\n/review full\n````\n/review", NEW),
        ("```\n<!--\n```\n/review", NEW),
        ("see `<!--` here\n/review", NEW),
        ("<!-- note -->\n/review", NEW),
        ("<!-- a\nb -->\n/review", NEW),
        ("```inline ``` code\n/review", NEW),
    ],
)
def test_finds_the_command(body, command):
    assert parse_command(body, ["redline"]) == command


@pytest.mark.parametrize(
    "body",
    [
        "",
        "review",
        "/reviewer",
        "/review-this",
        "/reviewfull",
        "/review https://evil.example/x",
        "/review --url=x",
        "/review full now",
        "/review full --model=x",
        "/review\N{NO-BREAK SPACE}full",
        "/rev\N{LATIN SMALL LETTER DOTLESS I}ew",
        "please /review",
        " /review",
        "    /review",
        "> /review",
        "`/review`",
        "```\n/review\n```",
        "~~~ text\n/review\n~~~",
        "```\n/review",
        "```\n/review\n~~~\n/review full",
        "```\n``` still inside\n/review\n```",
        "<!--\n/review\n-->",
        "text <!-- hidden\n/review full\n-->",
        "<!-- never closed\n/review",
        "@redline reviewer",
        "@redline please review",
        "@somebody review",
        "@redline-bot review",
        "//review",
        "/review\x0b/review",
        "/review\N{LINE SEPARATOR}",
    ],
)
def test_leaves_any_other_text_alone(body):
    assert parse_command(body, ["redline"]) is None


def test_a_mention_counts_only_for_our_own_names():
    assert parse_command("@redline review") is None
    assert parse_command("@red-line review", ["red-line[bot]"]) == NEW


@given(st.text(st.sampled_from("/review full\n\r`~<!->@\t "), max_size=60))
def test_no_text_raises_and_a_command_needs_its_word(body):
    if parse_command(body, ["redline"]) is not None:
        assert "review" in body.lower()
