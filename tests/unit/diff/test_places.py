"""Places: what the forges accept, judged by real comments, and fingerprints that survive a push."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bot.diff import FileStatus, fingerprint, is_commentable, parse_diff, parse_patch
from bot.diff.model import Diff
from bot.findings import Place, Side

REAL_COMMENTS = Path(__file__).resolve().parents[3] / "../shared/forge/data/github_review_anchors.json"
TEXT = """diff --git a/old.py b/new.py
similarity index 80%
rename from old.py
rename to new.py
--- a/old.py
+++ b/new.py
@@ -10,3 +10,4 @@
 a
-b
+c
+d
 e
@@ -30,2 +31,2 @@
-f
+g
 h
"""
DIFF = parse_diff(TEXT.encode())
ADDED = Place(old_path="old.py", new_path="new.py", side=Side.NEW, old_line=None, new_line=12)
CONTEXT = replace(ADDED, old_line=12, new_line=13)
REMOVED = replace(ADDED, side=Side.OLD, old_line=11, new_line=None)


@pytest.mark.parametrize(
    "place",
    [
        ADDED,
        CONTEXT,
        replace(CONTEXT, side=Side.OLD),
        REMOVED,
        replace(ADDED, start_line=10),
        replace(REMOVED, start_line=10),
        replace(ADDED, new_line=31),
    ],
)
def test_a1_lines_inside_hunks_are_commentable(place):
    assert is_commentable(DIFF, place)


@pytest.mark.parametrize(
    "place",
    [
        replace(ADDED, new_line=9),
        replace(ADDED, new_line=14),
        replace(ADDED, new_line=33),
        replace(ADDED, new_line=None),
        replace(REMOVED, old_line=13),
        replace(REMOVED, old_line=12),  # exists, but is not removed
        replace(ADDED, new_line=13),  # exists, but is not added
        replace(ADDED, old_line=11),  # a new line with an old number
        replace(CONTEXT, old_line=11),
        replace(ADDED, old_path="new.py"),  # A6: the old path of a rename is the old one
        replace(ADDED, new_path="old.py"),
        replace(ADDED, start_line=12),  # A10
        replace(ADDED, start_line=13),
        replace(ADDED, new_line=31, start_line=12),  # another hunk
        replace(ADDED, start_line=9),
    ],
)
def test_a1_a6_a10_other_places_are_not_commentable(place):
    assert not is_commentable(DIFF, place)


def real_comments() -> list[dict]:
    return json.loads(REAL_COMMENTS.read_text()) if REAL_COMMENTS.is_file() else []


def with_counts_of_its_lines(hunk: str) -> str:
    """GitHub cuts a comment's hunk after the line it stands under; the counts are those of the whole one."""
    header, *lines = hunk.split("\n")
    old, new = (sum(line[:1] in (" ", "", sign) for line in lines) for sign in "-+")
    start = header.split(" ")
    starts = [part[1:].partition(",")[0] for part in start[1:3]]
    ranges = [f"-{starts[0]},{old}", f"+{starts[1]},{new}"]
    return "\n".join([" ".join(["@@", *ranges, *start[3:]]), *lines])


@pytest.mark.skipif(
    not REAL_COMMENTS.is_file(), reason="the recorded comments of ../shared/forge are not there"
)
def test_real_comments_stand_where_we_count_them():
    comments = real_comments()
    assert len(comments) == 28
    counted = 0
    for comment in comments:
        patch = with_counts_of_its_lines(comment["diff_hunk"])
        file = parse_patch(comment["path"], comment["path"], FileStatus.MODIFIED, patch)
        lines = [line for hunk in file.hunks for line in hunk.lines]
        last = lines[-1]
        # `position` counts lines below the file's first `@@`: it is ours where that is this hunk.
        assert comment["original_position"] >= len(lines)
        # Events do not say the line; one comment was made up for the documentation, outside its own hunk.
        if comment["original_line"] is None or comment["original_line"] == 265:
            continue
        side = Side.OLD if comment["side"] == "LEFT" else Side.NEW
        assert last.exists_on(side)
        assert last.number_on(side) == comment["original_line"]
        if (file.hunks[0].old_start, file.hunks[0].new_start) <= (1, 1):
            assert comment["original_position"] == len(lines)
        place = Place(
            old_path=comment["path"],
            new_path=comment["path"],
            side=side,
            old_line=last.old_number if last.exists_on(Side.OLD) else None,
            new_line=last.new_number if last.exists_on(Side.NEW) else None,
            start_line=comment["original_start_line"],
        )
        assert is_commentable(Diff(files=(file,)), place)
        counted += 1
    assert counted == 18


def test_b3_a_fingerprint_ignores_white_space_and_where_the_line_stands():
    assert fingerprint("a.py", "  x =  1\n", "bug") == fingerprint("a.py", "x = 1", "bug")
    assert len(fingerprint("a.py", "x", "bug")) == 16
    assert int(fingerprint("\udcff", "\udcff", "bug"), 16) >= 0


def test_b3_a_fingerprint_differs_by_path_code_and_category():
    names = {
        fingerprint(*parts)
        for parts in [
            ("a", "b", "c"),
            ("x", "b", "c"),
            ("a", "x", "c"),
            ("a", "b", "x"),
            ("a b", "", "c"),
            ("a", "b c", ""),
        ]
    }
    assert len(names) == 6
