"""Parsing against git itself: names, kinds, numbers and texts must be those that git has, for any two trees.

`EXAMPLES=2000` in the environment tries so many of each kind in place of the few that a quick run has time for.
"""

import math
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bot.diff import Diff, DiffSyntaxError, FileStatus, LineKind, chunk_files, clean_diff, parse_diff
from bot.diff.header import read_common_header, read_git_header
from deploy.exactness.history import (
    EXECUTABLE,
    PLAIN,
    SUBMODULE,
    SYMLINK,
    Entry,
    create_repository,
    run_git,
    store_branches,
)
from deploy.exactness.trees import HARD_LINES, HARD_PATHS
from deploy.exactness.truth import find_differences, list_changes

EXAMPLES = int(os.environ.get("EXAMPLES", "30"))
LINES = (*(b"x = 1", b"y = 2", b"return x", b"}", b"", b"if a:", b"crlf\r"), *HARD_LINES)
PATHS = ("src/app.py", *HARD_PATHS)
Tree = dict[str, Entry]


@dataclass(frozen=True, kw_only=True)
class Change:
    old: Tree
    new: Tree
    options: tuple[str, ...]
    is_merged: bool = False


code = st.lists(st.sampled_from(LINES), max_size=30)


@st.composite
def contents(draw):
    text = draw(st.sampled_from([b"\n", b"\n", b"\r\n"])).join(draw(code))
    return text + draw(st.sampled_from([b"\n", b"\n", b"", b"\0\1binary"]))


@st.composite
def edits(draw, content):
    parts = content.split(b"\n")
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(parts)))
        parts[at : at + draw(st.integers(0, 3))] = draw(st.lists(st.sampled_from(LINES), max_size=3))
    return b"\n".join(parts)


commits = st.sampled_from([b"1" * 40, b"2" * 40])


@st.composite
def entries(draw):
    mode = draw(st.sampled_from([PLAIN, PLAIN, PLAIN, EXECUTABLE, SYMLINK, SUBMODULE]))
    return Entry(mode=mode, content=draw(commits if mode == SUBMODULE else contents()))


@st.composite
def edited(draw, entry):
    return Entry(mode=entry.mode, content=draw(commits if entry.mode == SUBMODULE else edits(entry.content)))


@st.composite
def changes(draw):
    old: Tree = {
        path: draw(entries()) for path in draw(st.lists(st.sampled_from(PATHS), unique=True, max_size=4))
    }
    new: Tree = {}
    for path, entry in old.items():
        match draw(
            st.sampled_from(
                [
                    *("keep", "edit", "edit", "edit", "delete", "rename", "rename and edit"),
                    *("copy", "copy and edit", "mode", "kind"),
                ]
            )
        ):
            case "keep":
                new[path] = entry
            case "edit":
                new[path] = draw(edited(entry))
            case "rename":
                new[f"moved/{path}"] = entry
            case "rename and edit":
                new[f"moved/{path}"] = draw(edited(entry))
            case "copy":
                new[path] = new[f"copied/{path}"] = entry
            case "copy and edit":
                new[path], new[f"copied/{path}"] = draw(edited(entry)), draw(edited(entry))
            case "mode":
                new[path] = Entry(mode=EXECUTABLE if entry.mode == PLAIN else PLAIN, content=entry.content)
            case "kind":
                new[path] = draw(entries())
    for path in draw(st.lists(st.sampled_from(PATHS), unique=True, max_size=2)):
        new.setdefault(path, draw(entries()))
    options = draw(
        st.lists(
            st.sampled_from(
                ["-M", "-C", "--find-copies-harder", "--binary", "--no-prefix", "--full-index", "--minimal"]
            ),
            unique=True,
        )
    )
    context = draw(st.integers(0, 4))
    return Change(old=old, new=new, options=(f"-U{context}", *options), is_merged=draw(st.booleans()))


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    path = tmp_path_factory.mktemp("trees")
    create_repository(path)
    return path


def store(repository: Path, change: Change) -> str:
    base, head = store_branches(repository, change.old, change.new, name="change", is_merged=change.is_merged)
    return f"{base}...{head}"


def git_diff(repository: Path, revisions: str, change: Change, *, quote: bool = True) -> bytes:
    return run_git(
        repository, "-c", f"core.quotePath={str(quote).lower()}", "diff", *change.options, revisions
    )


def apply(diff: Diff, old: Tree) -> dict[str, bytes]:
    """Rebuild the new version of each text file from the old one and the hunks alone."""
    result = {}
    for file in diff.files:
        if file.is_binary or file.is_submodule or file.status is FileStatus.REMOVED:
            continue
        before = b"" if file.status is FileStatus.ADDED else old[file.old_path].content
        kept = before.split(b"\n")
        if kept[-1] == b"":
            kept.pop()
        after: list[bytes] = []
        at = 0
        ends_with_newline = before.endswith(b"\n")
        for hunk in file.hunks:
            for line in hunk.lines:
                after.extend(kept[at : line.old_number - 1])
                at = line.old_number - (line.kind is LineKind.ADDED)
                if line.kind is not LineKind.REMOVED:
                    code = line.text.encode("utf-8", "surrogateescape")
                    after.append(code if line.kind is LineKind.ADDED else kept[line.old_number - 1])
                    ends_with_newline = line.has_newline
        if at < len(kept):
            ends_with_newline = before.endswith(b"\n")
        after.extend(kept[at:])
        result[file.new_path] = b"\n".join(after) + (b"\n" if ends_with_newline and after else b"")
    return result


quick = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def plain(content: bytes, mode: str = PLAIN) -> Tree:
    return {"x": Entry(mode=mode, content=content)}


@quick
@given(change=changes(), quote=st.booleans())
@example(change=Change(old=plain(b""), new=plain(b"", EXECUTABLE), options=()), quote=True)
@example(change=Change(old=plain(b"a"), new=plain(b"a", SYMLINK), options=("-U0",)), quote=True)
@example(change=Change(old=plain(b"a\n"), new=plain(b"1" * 40, SUBMODULE), options=()), quote=True)
@example(
    change=Change(old=plain(b"1" * 40, SUBMODULE), new=plain(b"2" * 40, SUBMODULE), options=()), quote=True
)
@example(change=Change(old=plain(b"-- x\n++i\n"), new=plain(b"++i;\n-- y\n"), options=()), quote=True)
@example(change=Change(old=plain(b"a\r\nb\r\nc"), new=plain(b"a\nb\r\nc\n"), options=()), quote=True)
def test_the_model_is_what_git_says_and_no_change_is_missing(repository, change, quote):
    """Cases A16, A17, A18, A19, D5, D6, E2 and E5 as they come: git's names, kinds, counts, numbers and texts."""
    revisions = store(repository, change)
    data = git_diff(repository, revisions, change, quote=quote)
    diff = parse_diff(data)
    assert diff.to_bytes() == data
    # These would ask for the patch as well.
    options = [option for option in change.options if not option.startswith(("-U", "--binary"))]
    assert find_differences(diff, repository, list_changes(repository, revisions, *options)) == []

    differing = {path for path in change.old | change.new if change.old.get(path) != change.new.get(path)}
    before = {file.old_path for file in diff.files if file.status is not FileStatus.COPIED}
    assert before | {file.new_path for file in diff.files} == differing
    for path, content in apply(diff, change.old).items():
        assert content == change.new[path].content


@quick
@given(change=changes(), quote=st.booleans())
def test_common_headers_are_read_at_once_as_they_are_line_by_line(repository, change, quote):
    text = git_diff(repository, store(repository, change), change, quote=quote).decode(
        "utf-8", "surrogateescape"
    )
    starts = [
        at
        for at in range(len(text))
        if text.startswith("diff --git ", at) and text[at - 1 : at] in ("", "\n")
    ]
    for start in starts:
        at_once = read_common_header(text, start)
        assert at_once is None or at_once == read_git_header(text, start)


def test_the_most_common_header_is_read_at_once():
    text = (
        "diff --git a/a b/x.py b/a b/x.py\nindex 1..2 100644\n--- a/a b/x.py\n+++ b/a b/x.py\n@@ -1 +1 @@\n"
    )
    header = read_common_header(text, 0)
    assert header == read_git_header(text, 0)
    assert header is not None


@quick
@given(change=changes(), data=st.data())
def test_a_diff_that_lost_a_line_of_a_hunk_is_refused(repository, change, data):
    raw = git_diff(repository, store(repository, change), change).split(b"\n")
    diff = parse_diff(b"\n".join(raw))
    bodies = []
    at = 0
    for file in diff.files:
        at += file.header.count("\n")
        for hunk in file.hunks:
            bodies += [at + 1 + index for index, raw in enumerate(hunk.raw_lines) if raw[:1] != "\\"]
            at += 1 + len(hunk.raw_lines)
    if not bodies:
        return
    lost = data.draw(st.sampled_from(bodies))
    with pytest.raises(DiffSyntaxError):
        parse_diff(b"\n".join(raw[:lost] + raw[lost + 1 :]))
    with pytest.raises(DiffSyntaxError):
        parse_diff(b"\n".join(raw[:lost]) + b"\n")


FRAGMENTS = (
    *(
        "diff --git a/x b/x",
        "--- a/x",
        "+++ b/x",
        "@@ -1 +1 @@",
        "@@ -1,2 +1,2 @@",
        "-a",
        "+b",
        " c",
        "",
        "@@",
        "\r",
    ),
    *("\\ No newline", "rename from x", "rename to y", "GIT binary patch", "diff --git ", 'diff --git "a'),
    *("new file mode 100644", "Binary files differ"),
)


@settings(max_examples=6 * EXAMPLES, deadline=None)
@given(text=st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=8), max_size=12))
def test_any_text_is_parsed_to_the_byte_or_refused(text):
    data = "".join(f"{line}\n" for line in text).encode("utf-8", "surrogatepass")
    try:
        written = parse_diff(data).to_bytes()
    except DiffSyntaxError as error:
        written = data
        line = error.line
    else:
        line = 1
    assert written == data
    assert 1 <= line <= len(data.split(b"\n"))


@quick
@given(change=changes(), budget=st.integers(40, 400), overlap=st.integers(0, 6))
def test_chunks_cover_every_line_of_every_kept_hunk(repository, change, budget, overlap):
    kept = clean_diff(parse_diff(git_diff(repository, store(repository, change), change))).kept
    expected = {
        f"{file.number}{'L' if line.kind is LineKind.REMOVED else 'R'}"
        f"{line.old_number if line.kind is LineKind.REMOVED else line.new_number}": line
        for file in kept
        for hunk in file.hunks
        for line in hunk.lines
    }
    shown = {}
    for chunk in chunk_files(kept, budget, overlap_lines=overlap):
        code = [text for text in chunk.text.split("\n")[:-1] if not text.startswith(("File ", "@@"))]
        assert [text.partition(" ")[0] for text in code] == list(chunk.line_ids)
        assert len(chunk.text.splitlines()) == chunk.text.count("\n")
        assert chunk.estimated_tokens == math.ceil(len(chunk.text) / 3)
        assert chunk.estimated_tokens <= budget or len(chunk.line_ids) == 1 or budget < 100
        shown |= chunk.line_ids
    assert shown == expected
