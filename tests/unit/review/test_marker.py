"""Hidden markers, and what must not pass for one."""

import pytest

from bot.review.marker import mark_finding, mark_review, mark_summary, read_marker


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (mark_finding("text", "abc123", "17"), ("finding", "abc123", "17")),
        ("text\n\n<!-- redline:finding=abc123 -->", ("finding", "abc123", "")),  # before runs were told
        (mark_review("text", "17"), ("review", "17", "")),
        (mark_summary("text"), ("summary", "1", "")),
        ("", None),
        ("no marker", None),
        ("<!-- redline:finding=abc -->\n\nmore text", None),
        ("in a line <!-- redline:finding=abc -->", None),
        ("<!-- redline:finding=ab c -->", None),
    ],
)
def test_only_the_last_line_counts(body: str, expected: tuple[str, str, str] | None) -> None:
    assert read_marker(body) == expected


def test_white_space_that_a_forge_adds_is_harmless() -> None:
    body = mark_finding("text", "abc", "17").replace("\n", "\r\n") + "\r\n"
    assert read_marker(body) == ("finding", "abc", "17")
