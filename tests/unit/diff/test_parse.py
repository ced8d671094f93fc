"""Parsing: numbers, names and refusals, on small diffs written by hand."""

import pytest

from bot.diff import DiffSyntaxError, FileDiff, FileStatus, LineKind, parse_diff, parse_patch

HEADER = "diff --git a/app.py b/app.py\nindex 1111111..2222222 100644\n--- a/app.py\n+++ b/app.py\n"


def parse_one(text: str) -> FileDiff:
    diff = parse_diff(text.encode("utf-8", "surrogateescape"))
    assert diff.to_bytes() == text.encode("utf-8", "surrogateescape")
    (file,) = diff.files
    return file


def numbered(file: FileDiff) -> list[tuple[str, int, int, str]]:
    return [
        (line.kind.value, line.old_number, line.new_number, line.text)
        for hunk in file.hunks
        for line in hunk.lines
    ]


def test_every_line_has_both_numbers_and_both_paths():
    file = parse_one(HEADER + "@@ -3,3 +3,3 @@ def f():\n a\n-b\n+c\n d\n")
    assert numbered(file) == [(" ", 3, 3, "a"), ("-", 4, 4, "b"), ("+", 5, 4, "c"), (" ", 5, 5, "d")]
    (hunk,) = file.hunks
    assert hunk.section == "def f():"
    assert {(line.old_path, line.new_path) for line in hunk.lines} == {("app.py", "app.py")}


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x0c", "\x0b", "\x85", "\x1c", "\r"])
def test_a16_e2_only_newline_ends_a_line(separator):
    file = parse_one(HEADER + f"@@ -1 +1,3 @@\n a\n+x{separator}y\n+z\n")
    assert numbered(file)[1:] == [("+", 2, 2, f"x{separator}y"), ("+", 2, 3, "z")]


def test_a17_inside_a_hunk_only_the_first_character_counts():
    body = "--- x\n--- a/evil.sql\n-@@ -1 +1 @@\n+++i;\n+++ b/evil.sql\n+diff --git a/x b/x\n"
    file = parse_one(HEADER + "@@ -1,3 +1,3 @@\n" + body + "@@ -9 +9 @@\n-a\n+b\n")
    assert [line[3] for line in numbered(file)] == [
        *("-- x", "-- a/evil.sql", "@@ -1 +1 @@", "++i;", "++ b/evil.sql", "diff --git a/x b/x"),
        *("a", "b"),
    ]
    assert numbered(file)[-1] == ("+", 10, 9, "b")


def test_a17_a_plain_diff_ends_its_hunks_by_their_counts():
    text = "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1 @@\n--- x\n-y\n+z\n"
    text += "--- a/y.sql\n+++ b/y.sql\n@@ -1 +1 @@\n-a\n+b\n"
    diff = parse_diff(text.encode())
    assert [file.path for file in diff.files] == ["x.sql", "y.sql"]
    assert numbered(diff.files[0])[0] == ("-", 1, 1, "-- x")
    assert diff.to_bytes() == text.encode()


def test_a18_e5_only_the_marker_is_a_marker():
    body = ' # prints "no newline at end of file"\n-\\ No newline\n\\ No newline at end of file\n'
    body += "+x\n\\ Kein Zeilenumbruch\n"
    file = parse_one(HEADER + "@@ -1,2 +1,2 @@\n" + body)
    assert [line[:3] for line in numbered(file)] == [(" ", 1, 1), ("-", 2, 2), ("+", 3, 2)]
    (hunk,) = file.hunks
    assert [line.has_newline for line in hunk.lines] == [True, False, False]
    assert (hunk.unchanged_count, hunk.line_count) == (1, 3)


def test_a19_a_missing_count_is_one():
    file = parse_one(HEADER + "@@ -1 +1 @@\n-a\n+b\n")
    (hunk,) = file.hunks
    assert (hunk.old_count, hunk.new_count) == (1, 1)
    assert numbered(file) == [("-", 1, 1, "a"), ("+", 2, 1, "b")]


def test_a_side_without_lines_counts_on_from_the_line_before():
    file = parse_one(HEADER + "@@ -4,0 +5,2 @@\n+a\n+b\n@@ -9,1 +11,0 @@\n-c\n")
    assert numbered(file) == [("+", 5, 5, "a"), ("+", 5, 6, "b"), ("-", 9, 12, "c")]


@pytest.mark.parametrize(
    ("quoted", "path"),
    [
        ('"a/\\321\\204.py" "b/\\321\\204.py"', "ф.py"),
        ('"a/tab\\tname" "b/tab\\tname"', "tab\tname"),
        ('"a/q\\"\\\\.py" "b/q\\"\\\\.py"', 'q"\\.py'),
        ('"a/\\377.py" "b/\\377.py"', "\udcff.py"),
        ("a/a b/a b/c.py b/a b/a b/c.py", "a b/a b/c.py"),
        ("a/with space b/with space", "with space"),
        ("c/x.py i/x.py", "x.py"),
        ("src/x.py src/x.py", "src/x.py"),
        ("x.py x.py", "x.py"),
        ("a/x.py a/x.py", "a/x.py"),
    ],
)
def test_d6_names_are_read_from_the_first_line_alone(quoted, path):
    file = parse_one(f"diff --git {quoted}\nnew file mode 100644\nindex 0000000..e69de29\n")
    assert (file.old_path, file.new_path, file.status) == (path, path, FileStatus.ADDED)


def test_d6_a_name_with_spaces_ends_with_a_tab():
    text = 'diff --git a/x y.py "b/\\321\\204 z.py"\nsimilarity index 50%\nrename from x y.py\n'
    text += 'rename to "\\321\\204 z.py"\n--- a/x y.py\t\n+++ "b/\\321\\204 z.py"\t\n@@ -1 +1 @@\n-a\n+b\n'
    file = parse_one(text)
    assert (file.old_path, file.new_path, file.similarity) == ("x y.py", "ф z.py", 50)
    assert file.status is FileStatus.RENAMED


D5 = {
    "rename": ("similarity index 100%\nrename from a.py\nrename to b.py\n", FileStatus.RENAMED),
    "copy": ("similarity index 100%\ncopy from a.py\ncopy to b.py\n", FileStatus.COPIED),
}


@pytest.mark.parametrize("kind", D5)
def test_d5_renames_and_copies_keep_both_names(kind):
    lines, status = D5[kind]
    file = parse_one(f"diff --git a/a.py b/b.py\n{lines}")
    assert (file.old_path, file.new_path, file.status, file.hunks) == ("a.py", "b.py", status, ())


def test_d5_files_without_text_do_not_hide_the_next():
    text = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"
    text += "diff --git a/i.png b/i.png\nindex 111..222 100644\nBinary files a/i.png and b/i.png differ\n"
    text += (
        "diff --git a/j b/j\nindex 111..222 100644\nGIT binary patch\ndelta 5\nMcmZQz\n\ndelta 5\nMcmZQz\n\n"
    )
    text += "diff --git a/sub b/sub\nindex 111..222 160000\n--- a/sub\n+++ b/sub\n@@ -1 +1 @@\n"
    text += "-Subproject commit 1\n+Subproject commit 2\n"
    text += "diff --git a/e b/e\ndeleted file mode 100644\nindex e69de29..0000000\n"
    text += HEADER + "@@ -1 +1 @@\n-a\n+b\n"
    diff = parse_diff(text.encode())
    assert diff.to_bytes() == text.encode()
    mode, image, patch, submodule, empty, code = diff.files
    assert (mode.status, mode.old_mode, mode.new_mode) == (FileStatus.MODE_CHANGED, "100644", "100755")
    assert (image.is_binary, patch.is_binary, code.is_binary) == (True, True, False)
    assert submodule.is_submodule
    assert (empty.status, empty.hunks) == (FileStatus.REMOVED, ())
    assert numbered(code) == [("-", 1, 1, "a"), ("+", 2, 1, "b")]


def test_d5_a_mode_change_with_code_is_a_modification():
    file = parse_one(
        "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
    )
    assert (file.status, file.new_mode) == (FileStatus.MODIFIED, "100755")


def test_e1_headers_may_end_in_carriage_return_and_code_keeps_its_own():
    text = (HEADER + "@@ -1 +1,2 @@ def f():\n").replace("\n", "\r\n") + " a\r\n+b\n"
    file = parse_one(text)
    assert (file.path, file.hunks[0].section) == ("app.py", "def f():")
    assert numbered(file) == [(" ", 1, 1, "a\r"), ("+", 2, 2, "b")]


def test_plain_diffs_name_new_and_deleted_files():
    text = "--- /dev/null\n+++ b/new.py\t2026-01-01 00:00:00\n@@ -0,0 +1 @@\n+a\n"
    text += "--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    diff = parse_diff(text.encode())
    assert [(file.path, file.status.value) for file in diff.files] == [
        ("new.py", "added"),
        ("old.py", "removed"),
    ]


def test_an_empty_unchanged_line_may_have_lost_its_sign():
    file = parse_one(HEADER + "@@ -1,3 +1,3 @@\n-a\n+b\n\n c\n")
    assert numbered(file)[2:] == [(" ", 2, 2, ""), (" ", 3, 3, "c")]


def test_mail_around_a_patch_is_kept_and_not_read():
    text = f"From {'1' * 40} Mon Sep 17 00:00:00 2001\nSubject: x\n\n---\n app.py | 2 +-\n\n"
    text += f"{HEADER}@@ -1 +1 @@\n-a\n+b\n-- \n2.39.5\n\n"
    assert numbered(parse_one(text)) == [("-", 1, 1, "a"), ("+", 2, 1, "b")]


def test_an_empty_diff_has_no_files():
    assert parse_diff(b"").files == ()


def test_a_github_patch_has_neither_headers_nor_a_last_newline():
    file = parse_patch(
        "old.py", "new.py", FileStatus.RENAMED, "@@ -1 +1 @@ def f():\n-a\n+b\n\\ No newline at end of file"
    )
    assert numbered(file) == [("-", 1, 1, "a"), ("+", 2, 1, "b")]
    assert (file.old_path, file.path) == ("old.py", "new.py")
    assert [line.kind for line in file.hunks[0].lines] == [LineKind.REMOVED, LineKind.ADDED]


def test_a_github_patch_that_goes_on_after_its_hunks_is_refused():
    with pytest.raises(DiffSyntaxError, match=r"line 4 .* counts in the hunk's header are too small"):
        parse_patch("a", "a", FileStatus.MODIFIED, "@@ -1 +1 @@\n-a\n+b\n+c")


HUNK = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("not a diff\n", 1, "expected a file or a hunk"),
        (HUNK, 1, "a hunk stands before any file header"),
        (HEADER + "@@ -1,3 +1,3 @@\n a\n-b\n", 8, "not complete: 1 old and 2 new"),
        (HEADER + "@@ -1,3 +1,3 @@\n a\n-b\n+c\n" + HEADER + HUNK, 9, "not complete: 1 old and 1 new"),
        (HEADER + HUNK + "+d\n", 9, "outside"),
        (HEADER + "@@ -1 +1,3 @@\n-a\n-b\n+c\n+d\n+e\n", 7, "more lines"),
        ("diff --git x.py y.py\n", 1, "cannot tell the file's name"),
        (HEADER + HUNK + " d\n", 9, "outside"),
        (HEADER + HUNK + "garbage\n" + HEADER + HUNK, 9, "found 'garbage'"),
        (HEADER + HUNK + "\n" + HEADER + HUNK, 9, "outside|found ''"),
        (HEADER + HUNK + HUNK, 9, "overlaps"),
        (HEADER + "@@ -9 +9 @@\n-a\n+b\n@@ -2 +2 @@\n-a\n+b\n", 8, "goes backwards"),
        (HEADER + "@@ -1 +1 @\n-a\n+b\n", 5, "not a hunk header"),
        (HEADER + "@@ -1,0 +1,0 @@\n", 5, "no lines"),
        (HEADER + "@@ -0 +1 @@\n-a\n+b\n", 5, "backwards"),
        (HEADER, 5, "promises hunks"),
        (HEADER + "@@ -1 +1 @@\n-a\n+b", 7, "middle of a line"),
        (HEADER + "@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n", 6, "marker"),
        (HEADER + "@@ -1,2 +1 @@\n-a\n\\ No newline at end of file\n-b\n+c\n", 7, "last line of its side"),
        (HEADER + "@@ -1 +1 @@\n-a\n+b\n\\No newline\n", 8, "marker|found"),
        (HEADER.replace("+++ b/app.py", "+++ b/other.py") + HUNK, 1, "different files"),
        (HEADER.replace("--- a/app.py", "--- a/other.py") + HUNK, 1, "different files"),
        ("diff --git a/x b/x\n--- a/x\n" + HUNK, 1, r"needs a '\+\+\+' line"),
        ("diff --git a/x b/y\n", 1, "cannot tell the file's name"),
        ('diff --git "a/\\z" "b/\\z"\n', 1, "unknown escape"),
        ("diff --cc app.py\nindex 1,2..3\n--- a/app.py\n+++ b/app.py\n@@@ -1 -1 +1 @@@\n", 1, "combined"),
        (HEADER + HUNK + "diff --cc app.py\n", 9, "combined"),
        (
            "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
            5,
            "was added",
        ),
        (HEADER + HUNK + "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 9, "outside"),
    ],
)
def test_malformed_diffs_are_refused_with_the_line(text, line, problem):
    with pytest.raises(DiffSyntaxError, match=problem) as refused:
        parse_diff(text.encode())
    assert refused.value.line == line
