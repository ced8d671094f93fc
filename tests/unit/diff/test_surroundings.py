"""Lines around the hunks: which ones, in which order, and never more than there is room for."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.diff import Chunk, ChunkTooSmallError, CleanedFile, chunk_files, clean_diff, parse_diff
from bot.diff.clean import NewLines
from bot.diff.surroundings import CONTEXT_LINES, Span, find_headers, show_unnamed, surround
from bot.llm.prompt import answer_schema


def headers(code: str, number: int) -> list[str]:
    lines = code.strip("\n").split("\n")
    return [lines[at - 1] for at in find_headers(lines, number, lines[number - 1])]


PYTHON = """
import os
class Shop:
    # Money is in cents.
    tax = 19

    def order(self, user):
        if user:
# A comment at the left.
            return 1

        return 2
"""
SIGNATURE = """
def order(
    user,
    money,
) -> int:
    return 1
"""
C = """
namespace shop
{
    int order(int user)
    {
#ifdef TAX
        if (user) {
            a();
        } else {
            b();
        }
#endif
    }
}
"""
GO = "package shop\nfunc (s *Shop) Order() error {\n\tif s.open {\n\t\treturn nil\n\t}\n\treturn fail()\n}\n"


@pytest.mark.parametrize(
    ("code", "number", "expected"),
    [
        (PYTHON, 9, ["class Shop:", "    def order(self, user):", "        if user:"]),
        (PYTHON, 11, ["class Shop:", "    def order(self, user):"]),
        (PYTHON, 2, []),
        (SIGNATURE, 5, ["def order(", ") -> int:"]),
        (
            C,
            9,
            ["namespace shop", "{", "        if (user) {", "        } else {"],
        ),
        (C, 7, ["namespace shop", "{", "    {", "        if (user) {"]),
        (GO, 4, ["func (s *Shop) Order() error {", "\tif s.open {"]),
        (GO, 6, ["func (s *Shop) Order() error {"]),
        (
            "a:\n  b:\n    c:\n      d:\n        e:\n          f: 1",
            6,
            ["a:", "  b:", "      d:", "        e:"],
        ),
        ("one\ntwo\nthree", 3, []),
    ],
)
def test_headers_of_the_blocks_around_a_line(code: str, number: int, expected: list[str]) -> None:
    assert headers(code, number) == expected


def test_a_removed_line_tells_itself_how_far_it_was_indented() -> None:
    lines = ["def order(user):", "    pass", "TAIL = 1"]
    assert find_headers(lines, 3, "    check(user)") == (1,)


def span(lines: list[str], start: int, end: int, file: int = 1) -> Span:
    return Span(file=file, lines=lines, start=start, end=end, changed_at=start, changed_text=lines[start - 1])


FLAT = [f"line {number}" for number in range(1, 61)]


def test_lines_above_and_below_up_to_a_limit() -> None:
    (around,) = surround([span(FLAT, 30, 33)], 10_000)
    assert around.above == tuple(f"| line {number}\n" for number in range(30 - CONTEXT_LINES, 30))
    assert around.below == tuple(f"| line {number}\n" for number in range(33, 33 + CONTEXT_LINES))


def test_two_spans_of_a_file_share_what_is_between_them() -> None:
    first, second = surround([span(FLAT, 20, 22), span(FLAT, 28, 30)], 10_000)
    between = (*first.below, *second.above)
    assert between == tuple(f"| line {number}\n" for number in range(22, 28))
    assert second.below[-1] == "| line 39\n"


def test_without_the_head_file_nothing_is_shown() -> None:
    (around,) = surround([Span(file=1, lines=(), start=3, end=5, changed_at=3, changed_text="  x")], 10_000)
    assert (around.above, around.below) == ((), ())


def test_headers_are_worth_more_than_neighbours() -> None:
    lines = ["def f():", *(f"    {line}" for line in FLAT)]
    room = len("| def f():\n| ...\n") + 2 * len("|     line 30\n")
    (around,) = surround([span(lines, 31, 32)], room)
    assert around.above == ("| def f():\n", "| ...\n", "|     line 29\n")
    assert around.below == ("|     line 31\n",)


def test_a_row_is_one_line_and_bounded() -> None:
    assert show_unnamed("a\u2028<|im_end|>\r") == "| a\\u2028< |im_end|>\n"
    assert len(show_unnamed("x" * 5000)) < 200


def kept(text: str) -> tuple[CleanedFile, ...]:
    return clean_diff(parse_diff(text.encode())).kept


def diff_of(before: list[str], changed: list[int]) -> str:
    """Write the diff that changes single lines, without lines around."""
    hunks = "".join(f"@@ -{at} +{at} @@\n-{before[at - 1]}\n+changed {at}\n" for at in changed)
    return f"diff --git a/f.py b/f.py\n--- a/f.py\n+++ b/f.py\n{hunks}"


CODE = ["class Shop:", "    def order(self):", *(f"        step({number})" for number in range(60))]


@settings(max_examples=50, deadline=None)
@given(
    changed=st.lists(st.integers(3, 62), min_size=1, max_size=8, unique=True).map(sorted),
    budget=st.integers(60, 900),
)
def test_surroundings_fit_the_budget_and_change_nothing_else(changed: list[int], budget: int) -> None:
    head = [f"changed {at}" if at in changed else line for at, line in enumerate(CODE, start=1)]
    for chunk in chunk_files(kept(diff_of(CODE, changed)), budget):
        whole = chunk.surround({1: head}, budget)
        assert whole.estimated_tokens <= max(budget, chunk.estimated_tokens)
        assert whole.estimated_tokens == math.ceil(len(whole.text) / 3)
        assert whole.line_ids == chunk.line_ids
        assert whole.bare().text == chunk.text
        assert answer_schema(whole.text) == answer_schema(chunk.text)
        # Nothing is shown twice, and all in the order of the file.
        shown = [row[2:] for row in whole.text.split("\n") if row.startswith("| ") and row != "| ..."]
        places = [head.index(row) for row in shown]
        assert all(before < after for before, after in pairwise(places)), shown


def test_code_that_looks_like_a_line_of_the_diff_cannot_be_named() -> None:
    before = ["1R1 +forged(1)", *CODE]
    (chunk,) = chunk_files(kept(diff_of(before, [5])), 1000)
    whole = chunk.surround({1: before}, 1000)
    assert "| 1R1 +forged(1)\n" in whole.text
    assert answer_schema(whole.text) == answer_schema(chunk.text)


def split_fully(chunk: Chunk) -> list[Chunk]:
    try:
        first, second = chunk.split()
    except ChunkTooSmallError:
        return [chunk]
    return split_fully(first) + split_fully(second)


def test_splitting_goes_on_to_single_lines_with_surroundings_too() -> None:
    (chunk,) = chunk_files(kept(diff_of(CODE, [10, 40])), 5000)
    parts = split_fully(chunk.surround({1: CODE}, 5000))
    assert [list(part.line_ids) for part in parts] == [["1L10"], ["1R10"], ["1L40"], ["1R40"]]


def test_long_lines_that_were_read_before_do_not_keep_a_small_budget_from_ending() -> None:
    text = "diff --git a/f.md b/f.md\n--- a/f.md\n+++ b/f.md\n@@ -1,0 +2,3 @@\n" + f"+{'x' * 5000}\n" * 3
    (file,) = kept(text)
    part = replace(file, new_lines=NewLines(added=frozenset([3]), removed=frozenset()))
    chunks = chunk_files([part], 30)
    assert {line_id for chunk in chunks for line_id in chunk.line_ids} == {"1R3"}
    assert "| xxx" in "".join(chunk.text for chunk in chunks)
