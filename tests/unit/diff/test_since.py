"""What of a diff is new since an earlier head: nothing that is new is lost, nothing that was read comes again."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.diff import CleanedFile, Diff, FileStatus, LineKind, clean_diff, parse_diff, parse_patch
from bot.diff.since import Since, keep_new

EXAMPLES = int(os.environ.get("EXAMPLES", "60"))
SHA = "a" * 40


def git_diff(folder: Path, before: list[str], after: list[str]) -> Diff:
    """Let git compare two versions of `f.py`."""
    for name, lines in (("before", before), ("after", after)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    command = ["git", "diff", "--no-index", "before", "after"]
    text = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    hunks = text[text.index("\n@@") + 1 :] if "\n@@" in text else ""
    if not hunks:
        return NOTHING
    return Diff(files=(parse_patch("f.py", "f.py", FileStatus.MODIFIED, hunks),))


NOTHING = Diff(files=())


def since(changes: Diff = NOTHING, read: Diff | None = None, **values: object) -> Since:
    return Since(**{"sha": SHA, "paths": frozenset(["f.py"]), "changes": changes, "read": read, **values})


def new_lines(kept: tuple[CleanedFile, ...]) -> list[str]:
    """The changed lines that are to be read, with their signs."""
    return [
        f"{line.kind}{line.text}"
        for file in kept
        for hunk in file.hunks
        for line in hunk.lines
        if line.kind is not LineKind.CONTEXT and (file.new_lines is None or line in file.new_lines)
    ]


def find_new(folder: Path, base: list[str], old: list[str], head: list[str]) -> list[str]:
    whole = clean_diff(git_diff(folder, base, head))
    cleaned, _ = keep_new(whole, since(git_diff(folder, old, head)))
    return new_lines(cleaned.kept)


@pytest.mark.parametrize(
    ("base", "old", "head", "expected"),
    [
        pytest.param("a b c", "a x b c", "a x b y c", ["+y"], id="an added line beside an old one"),
        pytest.param("a b c", "a x c", "a x c", [], id="nothing new"),
        pytest.param("a b c", "a b", "a b d", ["-c", "+d"], id="what replaces a line removed before"),
        pytest.param("a b c d e", "a c d e", "a c d", ["-e"], id="a removed line away from an old one"),
        pytest.param("a b c", "a x c", "a c", ["-b"], id="what stood in for a removed line is gone"),
        pytest.param("a b", "a x y b", "a y b", ["+y"], id="the neighbour of a line that was taken back"),
        pytest.param("a b", "a x b", "a b", [], id="all that was new is taken back"),
        pytest.param("a b", "a x b", "a z b", ["+z"], id="a new line in place of an old one"),
        pytest.param("a", "a } b }", "a } c } b }", ["+}", "+c"], id="a block that repeats its end"),
        pytest.param("a b c", "a x y c", "a x c", ["-b", "+x"], id="half of a replacement is taken back"),
    ],
)
def test_new_lines(tmp_path: Path, base: str, old: str, head: str, expected: list[str]) -> None:
    found = find_new(tmp_path, base.split(), old.split(), head.split())
    # Of lines that are the same, git may show either as the new one.
    assert set(found) == set(expected)


def test_c8_removed_lines_come_with_the_change_that_they_belong_to(tmp_path: Path) -> None:
    """All that one change removes stands before what it adds, so none can be told apart."""
    found = find_new(tmp_path, ["a", "check", "log", "z"], ["a", "new", "more", "z"], ["a", "new", "z"])
    assert found == ["-check", "-log", "+new"]


def test_a_slide_up_or_down_does_not_hide_a_removal(tmp_path: Path) -> None:
    """The same removal can be shown in two places, and two diffs need not choose the same."""
    base = ["f {", "}", "g {", "}", "h {", "}"]
    old = ["x", *base]
    changes = parse_patch(
        "f.py", "f.py", FileStatus.MODIFIED, "@@ -2,6 +2,4 @@\n f {\n }\n-g {\n-}\n h {\n }"
    )
    whole = parse_patch(
        "f.py", "f.py", FileStatus.MODIFIED, "@@ -1,6 +1,5 @@\n+x\n f {\n-}\n-g {\n }\n h {\n }"
    )
    assert old[1:] == base
    cleaned, _ = keep_new(clean_diff(Diff(files=(whole,))), since(Diff(files=(changes,))))
    assert new_lines(cleaned.kept) == ["-}", "-g {"]


def test_a_slide_down_does_not_hide_a_removal() -> None:
    changes = parse_patch(
        "f.py", "f.py", FileStatus.MODIFIED, "@@ -2,6 +2,4 @@\n f {\n-}\n-g {\n }\n h {\n }"
    )
    whole = parse_patch(
        "f.py", "f.py", FileStatus.MODIFIED, "@@ -1,6 +1,5 @@\n+x\n f {\n }\n-g {\n-}\n h {\n }"
    )
    cleaned, _ = keep_new(clean_diff(Diff(files=(whole,))), since(Diff(files=(changes,))))
    assert new_lines(cleaned.kept)[-2:] == ["-g {", "-}"]


def test_a_line_of_the_target_branch_that_a_merge_dropped_beside_one_removed_before(tmp_path: Path) -> None:
    old = head = ["x", "y"]
    whole = clean_diff(git_diff(tmp_path, ["x", "a", "b", "y"], head))
    read = git_diff(tmp_path, ["x", "a", "y"], old)
    cleaned, _ = keep_new(whole, since(NOTHING, read))
    assert new_lines(cleaned.kept) == ["-b"]


def edits(prefix: str) -> st.SearchStrategy[list[tuple[int, int, list[str]]]]:
    """Where to cut, how much to take out, and what to put in, each line never seen before."""
    added = st.integers(0, 3).map(lambda count: [prefix] * count)
    return st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), added), max_size=4)


def edit(lines: list[str], changes: list[tuple[int, int, list[str]]]) -> list[str]:
    lines = list(lines)
    for number, (place, count, added) in enumerate(changes):
        at = min(place, len(lines))
        lines[at : at + count] = [f"{text}{number}.{n}" for n, text in enumerate(added)]
    return lines


QUICK = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
BASE = [f"line{number}" for number in range(24)]


@QUICK
@given(first=edits("old"), second=edits("new"), back=st.lists(st.integers(0, 23), max_size=2))
def test_what_is_not_new_was_changed_at_the_earlier_head(
    tmp_path: Path, first: list, second: list, back: list[int]
) -> None:
    """Take back what is new of the head, and what is left differs from the base only as the earlier head did."""
    old = edit(BASE, first)
    head = edit(old, second)
    for number in back:  # lines that the first push removed come back
        if f"line{number}" not in head:
            head.insert(min(number, len(head)), f"line{number}")
    whole = clean_diff(git_diff(tmp_path, BASE, head))
    cleaned, unchanged = keep_new(whole, since(git_diff(tmp_path, old, head)))
    found = new_lines(cleaned.kept)
    added = {line[1:] for line in found if line.startswith("+")}
    removed = {line[1:] for line in found if line.startswith("-")}
    left = (set(head) - added) | removed
    assert left - set(BASE) <= set(old)
    assert not (set(BASE) - left) & set(old)
    # And what the second push has added is new.
    assert {line for line in head if line.startswith("new")} <= added
    assert bool(unchanged) == (bool(whole.kept) and not cleaned.kept)


@QUICK
@given(first=edits("old"), second=edits("new"), theirs=edits("their"))
def test_after_a_merge_of_the_target_branch_all_that_was_not_read_is_new(
    tmp_path: Path, first: list, second: list, theirs: list
) -> None:
    """The base has moved, and the head may have taken anything of it, or nothing."""
    old, base = edit(BASE, first), edit(BASE, theirs)
    head = edit([*old[: len(old) // 2], *base[len(base) // 2 :]], second)
    read = git_diff(tmp_path, BASE, old)
    whole = clean_diff(git_diff(tmp_path, base, head))
    cleaned, _ = keep_new(whole, since(git_diff(tmp_path, old, head), read))
    found = set(new_lines(cleaned.kept))
    for line in new_lines(whole.kept):
        if line not in found:
            was_added = line[1:] in old and line[1:] not in BASE
            was_removed = line[1:] in BASE and line[1:] not in old
            assert was_added if line.startswith("+") else was_removed, line


@QUICK
@given(first=edits("old"), second=edits("new"))
def test_the_parts_are_lines_of_the_diff_with_its_numbers(tmp_path: Path, first: list, second: list) -> None:
    old = edit(BASE, first)
    whole = clean_diff(git_diff(tmp_path, BASE, edit(old, second)))
    cleaned, _ = keep_new(whole, since(git_diff(tmp_path, old, edit(old, second))))
    known = {
        (line.kind, line.old_number, line.new_number, line.text, line.has_newline)
        for file in whole.kept
        for hunk in file.hunks
        for line in hunk.lines
    }
    shown = [line for file in cleaned.kept for hunk in file.hunks for line in hunk.lines]
    places = [(line.old_number, line.new_number) for line in shown]
    assert {
        (line.kind, line.old_number, line.new_number, line.text, line.has_newline) for line in shown
    } <= known
    assert places == sorted(places)
    for hunk in (hunk for file in cleaned.kept for hunk in file.hunks):
        # What its header says is what it holds.
        patch = f"{hunk.header}{hunk.body}"
        (parsed,) = parse_patch("f.py", "f.py", FileStatus.MODIFIED, patch).hunks
        assert parsed == hunk


HEADER = "diff --git a/f.py b/f.py\n--- a/f.py\n+++ b/f.py\n@@ -1 +1,2 @@\n a\n+x\n"


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"paths": frozenset()}, id="the file was not read"),
        pytest.param({"unknown": frozenset(["f.py"])}, id="its changes are not known"),
        pytest.param(
            {"changes": parse_diff(b"diff --git a/f.py b/f.py\nBinary files a/f.py and b/f.py differ\n")},
            id="it was binary",
        ),
        pytest.param(
            {"changes": parse_diff(b"diff --git a/g.py b/f.py\ncopy from g.py\ncopy to f.py\n")},
            id="it is a copy",
        ),
    ],
)
def test_where_nothing_sure_is_known_the_whole_file_is_read(values: dict[str, object]) -> None:
    whole = clean_diff(parse_diff(HEADER.encode()))
    cleaned, unchanged = keep_new(whole, since(**values))
    assert (cleaned.kept, unchanged) == (whole.kept, ())


LINK = """\
diff --git a/f.py b/f.py
deleted file mode 120000
--- a/f.py
+++ /dev/null
@@ -1 +0,0 @@
-g.py
diff --git a/f.py b/f.py
new file mode 100644
--- /dev/null
+++ b/f.py
@@ -0,0 +1 @@
+a
"""


def test_a_link_that_became_a_file_is_read_as_a_whole() -> None:
    whole = clean_diff(parse_diff(HEADER.encode()))
    cleaned, _ = keep_new(whole, since(parse_diff(LINK.encode())))
    assert cleaned.kept == whole.kept


def test_files_are_numbered_anew() -> None:
    other = HEADER.replace("f.py", "g.py")
    whole = clean_diff(parse_diff((HEADER + other).encode()))
    cleaned, unchanged = keep_new(whole, since())
    assert [(file.number, file.path) for file in cleaned.kept] == [(1, "g.py")]
    assert unchanged == ("f.py",)
