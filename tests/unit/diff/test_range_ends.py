"""How a place names both ends of a range on both sides, which GitLab asks for."""

import pytest

from bot.diff import parse_diff
from bot.diff.anchor import make_place
from bot.findings import Side


def range_of(hunk, first, last, side=Side.NEW):
    """Make the place from one line of a hunk to another, counted from 0."""
    (file,) = parse_diff(f"diff --git a/x b/x\n--- a/x\n+++ b/x\n{hunk}".encode()).files
    lines = list(file.hunks[0].lines)
    return make_place(lines[first], lines[last], side)


CHANGE = "@@ -3,4 +3,5 @@\n a\n-b\n+c\n+d\n e\n f\n"


@pytest.mark.parametrize(
    ("chosen", "counts", "is_changed"),
    [
        ((0, 2, Side.NEW), (3, 5), False),  # from the unchanged line 3 to the added line 4, beside the old 5
        ((2, 3, Side.NEW), (5, 5), True),
        ((3, 4, Side.NEW), (5, 5), True),
        ((0, 1, Side.OLD), (3, 4), False),
        ((1, 4, Side.OLD), (4, 6), True),
    ],
)
def test_a_range_knows_how_far_the_other_side_has_counted(chosen, counts, is_changed):
    place = range_of(CHANGE, *chosen)
    assert (place.other_start_line, place.other_line) == counts
    assert place.start_is_changed is is_changed


def test_a_side_without_lines_is_counted_as_git_writes_it():
    place = range_of("@@ -0,0 +1,2 @@\n+c\n+d\n", 0, 1)
    assert (place.other_start_line, place.other_line) == (0, 0)
    place = range_of("@@ -1,2 +0,0 @@\n-c\n-d\n", 0, 1, Side.OLD)
    assert (place.other_start_line, place.other_line) == (0, 0)


def test_a_single_line_has_no_start():
    place = range_of(CHANGE, 2, 2)
    assert (place.start_line, place.other_start_line, place.start_is_changed) == (None, None, False)
    assert place.other_line == 5
