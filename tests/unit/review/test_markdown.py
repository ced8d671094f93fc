"""What the model wrote is shown as text, whatever it is: checked with a real Markdown renderer."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.review.markdown import ZERO_WIDTH_SPACE, defuse, defuse_line, fence, has_quick_action, inline_code

RENDERER = MarkdownIt("commonmark", {"html": True}).enable("table")
ALLOWED = re.compile(r"</?(?:p|code|br|br /)>")
PIECES = st.sampled_from(
    [
        "@ada",
        "<b>",
        "<!--",
        "-->",
        "[x](y)",
        "![i](u)",
        "`",
        "``",
        "```",
        "\n",
        "\n\n",
        "/merge",
        "#12",
        "* a",
        "- ",
        "> q",
        "1. x",
        "    code",
        "| a | b |",
        "---",
        "===",
        "https://evil.example",
        "&lt;",
        "\\",
        "*b*",
        "_i_",
        " ",
        "word",
        "~~~",
        "<script>",
        "[r]: u",
        "GH-7",
        "!5",
        "\t",
        "#",
        "redline:finding=abc",
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=80))
def test_nothing_but_paragraphs_and_code_comes_out(text: str) -> None:
    html = RENDERER.render(defuse(text))
    assert "<" not in ALLOWED.sub("", html), html


@given(st.lists(PIECES, max_size=12).map("".join))
def test_no_mention_reference_link_or_command_is_left(text: str) -> None:
    defused = defuse(text)
    prose = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", defused, flags=re.DOTALL)
    assert not re.search(r"@\w", prose)
    assert not re.search(r"(?<![&\w])#\d|GH-\d", prose)
    assert "https:/" not in prose
    assert not has_quick_action(defused)
    assert "<!--" not in defused


def test_code_spans_and_words_stay_readable() -> None:
    assert defuse("`List<int>` is unsafe.") == "`List<int>` is unsafe."
    assert defuse("It returns None.") == "It returns None."


def test_a_line_stays_on_its_line_and_in_its_table_cell() -> None:
    assert "\n" not in defuse_line("a\n\n| b")
    assert defuse_line("a | b") == "a \\| b"


@given(st.text(alphabet="`~ab\n /", max_size=60))
def test_a_fence_cannot_be_closed_from_inside(code: str) -> None:
    """Case F9."""
    html = RENDERER.render(fence(code, "suggestion"))
    assert html.count("<pre>") == 1
    assert html.strip().endswith("</code></pre>")


@pytest.mark.parametrize("text", ["a`b", "`a`", "``", "x" * 10, "a|b", "<b>", " a "])
def test_inline_code_shows_exactly_the_text(text: str) -> None:
    html = RENDERER.render(inline_code(text))
    assert html.count("<code>") == 1


def test_markers_in_code_are_broken() -> None:
    assert defuse("`<!-- redline:finding=1 -->`") == f"`<!{ZERO_WIDTH_SPACE}-- redline:finding=1 -->`"


def test_a_code_span_over_a_blank_line_stays_code() -> None:
    html = RENDERER.render(defuse("`x\n\n@octocat <img src=y> [click](https://evil.example) `"))
    assert "<img" not in html
    assert "<a " not in html
    assert html.count("<code>") == 1


@pytest.mark.parametrize("text", ["torvalds/linux#1", "octocat#2", "see #3"])
def test_references_are_broken_wherever_they_stand(text: str) -> None:
    assert not re.search(r"#\d", defuse(text))
