"""Parsing against git itself: our numbers must be those of the two versions, for any two trees."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bot.diff import Diff, DiffSyntaxError, FileStatus, LineKind, chunk_files, clean_diff, parse_diff
from bot.diff.header import read_common_header, read_git_header
from bot.findings import Side

LINES = (
    *(
        b"x = 1",
        b"y = 2",
        b"return x",
        b"}",
        b"",
        b"  ",
        b"\ttab",
        b"if a:",
        b"-- sql comment",
        b"++i;",
        b"-- a/x",
        b"++ b/x",
    ),
    *(
        b"@@ -1 +1 @@",
        b"diff --git a/x b/x",
        b"\\ No newline at end of file",
        b"Binary files a/x and b/x differ",
    ),
    *(
        b"crlf\r",
        b"a\rb",
        b"form\x0cfeed",
        "a\u2028b".encode(),
        "a\x85b".encode(),
        "über".encode(),
        b"latin \xe9",
    ),
)
PATHS = (
    *(
        "src/app.py",
        "a b/x y.py",
        "b/ b/x.py",
        "д/ф.py",
        'quo"te.txt',
        "back\\slash",
        "tab\tname",
        "new\nline",
    ),
    *("-dash", "a/a", "trailing ", "\udcff.bin", "\r.txt", "dev/null"),
)
Tree = dict[str, tuple[str, bytes]]


@dataclass(frozen=True, kw_only=True)
class Change:
    old: Tree
    new: Tree
    options: tuple[str, ...]


code = st.lists(st.sampled_from(LINES), max_size=30)


@st.composite
def contents(draw):
    text = b"\n".join(draw(code))
    return text + draw(st.sampled_from([b"\n", b"\n", b"", b"\0\1binary"]))


@st.composite
def edits(draw, content):
    parts = content.split(b"\n")
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(parts)))
        parts[at : at + draw(st.integers(0, 3))] = draw(st.lists(st.sampled_from(LINES), max_size=3))
    return b"\n".join(parts)


modes = st.sampled_from(["100644", "100644", "100755", "120000"])


@st.composite
def changes(draw):
    old: Tree = {
        path: (draw(modes), draw(contents()))
        for path in draw(st.lists(st.sampled_from(PATHS), unique=True, max_size=4))
    }
    new: Tree = {}
    for path, (mode, content) in old.items():
        match draw(
            st.sampled_from(["keep", "edit", "edit", "edit", "delete", "rename", "rename and edit", "mode"])
        ):
            case "keep":
                new[path] = (mode, content)
            case "edit":
                new[path] = (mode, draw(edits(content)))
            case "rename":
                new[f"moved/{path}"] = (mode, content)
            case "rename and edit":
                new[f"moved/{path}"] = (mode, draw(edits(content)))
            case "mode":
                new[path] = (draw(modes), content)
    for path in draw(st.lists(st.sampled_from(PATHS), unique=True, max_size=2)):
        new.setdefault(path, (draw(modes), draw(contents())))
    options = draw(
        st.lists(
            st.sampled_from(
                ["-M", "-C", "--find-copies-harder", "--binary", "--no-prefix", "--full-index", "--minimal"]
            ),
            unique=True,
        )
    )
    return Change(old=old, new=new, options=(f"-U{draw(st.integers(0, 4))}", *options))


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    path = tmp_path_factory.mktemp("trees")
    subprocess.run(["git", "init", "-q", "--bare", path], check=True)
    return path


def git_diff(repository: Path, change: Change, *, quote: bool = True) -> bytes:
    stream = b""
    for name, tree in (("old", change.old), ("new", change.new)):
        stream += b"commit refs/heads/%s\ncommitter a <a@b> 0 +0000\ndata 0\ndeleteall\n" % name.encode()
        for path, (mode, content) in tree.items():
            quoted = "".join(f"\\{byte:03o}" for byte in path.encode("utf-8", "surrogateescape"))
            stream += f'M {mode} inline "{quoted}"\ndata {len(content)}\n'.encode() + content + b"\n"
    git = ["git", "-C", repository]
    subprocess.run([*git, "fast-import", "--quiet", "--force"], input=stream, check=True)
    command = [*git, "-c", f"core.quotePath={str(quote).lower()}", "diff", *change.options, "old", "new"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def split(content: bytes) -> list[bytes]:
    return content.removesuffix(b"\n").split(b"\n") if content else []


def apply(diff: Diff, old: Tree) -> dict[str, bytes]:
    """Rebuild the new version of each text file from the old one and the hunks alone."""
    result = {}
    for file in diff.files:
        if file.is_binary or file.status is FileStatus.REMOVED:
            continue
        before = b"" if file.status is FileStatus.ADDED else old[file.old_path][1]
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
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@quick
@given(change=changes(), quote=st.booleans())
@example(change=Change(old={"e": ("100644", b"")}, new={"e": ("100755", b"")}, options=()), quote=True)
@example(
    change=Change(old={"x": ("100644", b"a")}, new={"x": ("120000", b"a")}, options=("-U0",)), quote=True
)
def test_numbers_are_those_of_the_two_versions_and_no_change_is_missing(repository, change, quote):
    data = git_diff(repository, change, quote=quote)
    diff = parse_diff(data)
    assert diff.to_bytes() == data

    for file in diff.files:
        versions = {Side.OLD: change.old.get(file.old_path), Side.NEW: change.new.get(file.new_path)}
        for hunk in file.hunks:
            kinds = [line.kind for line in hunk.lines]
            assert (kinds.count(LineKind.CONTEXT), len(kinds)) == (hunk.unchanged_count, hunk.line_count)
        for line in (line for hunk in file.hunks for line in hunk.lines):
            for side, version in versions.items():
                if line.exists_on(side):
                    assert version is not None
                    lines = split(version[1])
                    number = line.number_on(side)
                    assert lines[number - 1] == line.text.encode("utf-8", "surrogateescape")
                    assert line.has_newline is (number < len(lines) or version[1].endswith(b"\n"))

    differing = {path for path in change.old | change.new if change.old.get(path) != change.new.get(path)}
    before = {file.old_path for file in diff.files if file.status is not FileStatus.COPIED}
    assert before | {file.new_path for file in diff.files} == differing
    for path, content in apply(diff, change.old).items():
        assert content == change.new[path][1]


@quick
@given(change=changes(), quote=st.booleans())
def test_common_headers_are_read_at_once_as_they_are_line_by_line(repository, change, quote):
    text = git_diff(repository, change, quote=quote).decode("utf-8", "surrogateescape")
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
    raw = git_diff(repository, change).split(b"\n")
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


@settings(max_examples=300, deadline=None)
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
    kept = clean_diff(parse_diff(git_diff(repository, change))).kept
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
        assert chunk.estimated_tokens <= budget or len(chunk.line_ids) == 1 or budget < 100
        shown |= chunk.line_ids
    assert shown == expected
