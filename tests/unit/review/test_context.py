"""Which head files are read for the lines around, and which are not worth it."""

import threading

import pytest

from bot.diff.clean import CleanedFile, NewLines, clean_diff
from bot.diff.parse import parse_diff
from bot.forges.base import FileTooLarge, ForgeDenied, ForgeUnavailable
from bot.review.context import MAX_BYTES, MAX_FILES, fetch_heads


def change(path: str, header: str = "") -> str:
    return f"diff --git a/{path} b/{path}\n{header}--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n"


def kept(text: str) -> tuple[CleanedFile, ...]:
    return clean_diff(parse_diff(text.encode())).kept


HEAD = b"one\nzwei\nthree\n"


def test_the_lines_of_the_head_file() -> None:
    asked = []

    def read(path: str, max_bytes: int) -> bytes:
        asked.append((path, max_bytes))
        return HEAD

    assert fetch_heads(kept(change("a.py")), read) == {1: ["one", "zwei", "three"]}
    assert asked == [("a.py", MAX_BYTES)]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"elsewhere/one\n", id="the target of a link"),
        pytest.param(b"one\n", id="shorter"),
        pytest.param(b"zero\none\nzwei\n", id="shifted"),
        pytest.param(b"one\r\nzwei\r\n", id="other line ends"),
        pytest.param(None, id="not there"),
    ],
)
def test_a_file_that_is_not_what_the_diff_shows_is_not_used(data: bytes | None) -> None:
    assert fetch_heads(kept(change("a.py")), lambda _path, _max: data) == {1: ()}


@pytest.mark.parametrize("text", ["a\nb\n", "a\nb"])
def test_deleted_and_new_files_are_not_asked_for(text: str) -> None:
    removed = "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
    added = "diff --git a/b b/b\nnew file mode 100644\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+one\n"
    assert fetch_heads(kept(removed + added), lambda _path, _max: text.encode()) == {}


def test_a_new_file_of_which_only_a_part_is_read_is_asked_for() -> None:
    added = "diff --git a/b b/b\nnew file mode 100644\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+one\n"
    (file,) = kept(added)
    part = CleanedFile(
        number=1,
        file=file.file,
        hunks=file.hunks,
        removed=(),
        new_lines=NewLines(added=frozenset([1]), removed=frozenset()),
    )
    assert fetch_heads([part], lambda _path, _max: b"one\ntwo\n") == {1: ["one", "two"]}


def test_only_so_many_files_are_read() -> None:
    asked = []
    files = kept("".join(change(f"{number}.py") for number in range(MAX_FILES + 5)))

    def read(path: str, _max_bytes: int) -> bytes:
        asked.append(path)
        return HEAD

    assert len(fetch_heads(files, read)) == MAX_FILES
    assert sorted(asked) == sorted(f"{number}.py" for number in range(MAX_FILES))


def test_one_file_that_cannot_be_had_does_not_cost_the_others() -> None:
    def read(path: str, _max_bytes: int) -> bytes:
        if path == "0.py":
            raise ForgeDenied("no")
        if path == "1.py":
            raise FileTooLarge("too large")
        return HEAD

    files = kept("".join(change(f"{number}.py") for number in range(3)))
    assert fetch_heads(files, read) == {1: (), 2: (), 3: ["one", "zwei", "three"]}


def test_once_the_forge_is_away_nothing_more_is_asked() -> None:
    asked = []

    def read(path: str, _max_bytes: int) -> bytes:
        asked.append(path)
        raise ForgeUnavailable("away")

    files = kept("".join(change(f"{number}.py") for number in range(MAX_FILES)))
    assert set(fetch_heads(files, read).values()) == {()}
    assert len(asked) <= 4


def test_files_are_read_side_by_side() -> None:
    together = threading.Barrier(2, timeout=5)

    def read(_path: str, _max_bytes: int) -> bytes:
        together.wait()  # passes only if two are asked for at once
        return HEAD

    assert len(fetch_heads(kept(change("a.py") + change("b.py")), read)) == 2


def test_credentials_are_taken_out() -> None:
    key = "ghp_" + "a1" * 18
    (lines,) = fetch_heads(kept(change("a.py")), lambda _path, _max: HEAD + key.encode()).values()
    assert lines[-1] == "[secret removed]"
