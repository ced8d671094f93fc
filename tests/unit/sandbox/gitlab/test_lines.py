"""How GitLab counts the lines of a diff: as git does, but for one trap."""

import random
import subprocess

import pytest

from deploy.sandbox.gitlab import GitLabSandbox
from deploy.sandbox.gitlab.lines import find_line, line_code, parse_lines, unfold_line
from tests.unit.sandbox.gitlab.conftest import REPO

Pair = tuple[int | None, int | None]


def pairs(patch: bytes) -> list[tuple[int | None, int | None, bytes]]:
    return [
        (line.old_line, line.new_line, line.text)
        for line in parse_lines(patch)
        if line.kind not in ("match", "nonewline")
    ]


def test_numbers_lines_on_both_sides() -> None:
    patch = b"@@ -4,3 +4,3 @@ def f():\n a\n-b\n+B\n c\n\\ No newline at end of file\n"
    assert pairs(patch) == [(4, 4, b" a"), (5, None, b"-b"), (None, 5, b"+B"), (6, 6, b" c")]


def test_only_a_newline_ends_a_line() -> None:
    patch = "@@ -0,0 +1,2 @@\n+a\x0b\x0c\u2028b\rc\n+d\n".encode()
    assert [pair[:2] for pair in pairs(patch)] == [(None, 1), (None, 2)]


@pytest.mark.parametrize("text", [b"--- a comment of SQL", b"+++ b", b"+++ a++", b"--- /dev/null"])
def test_passes_over_what_reads_like_a_file_name_behind_an_unchanged_line(text: bytes) -> None:
    patch = b"@@ -1,3 +1,3 @@\n one\n" + text + b"\n-x\n+y\n"
    assert pairs(patch) == [(1, 1, b" one"), (2, None, b"-x"), (None, 2, b"+y")]


def test_does_not_pass_over_it_elsewhere() -> None:
    patch = b"@@ -1,2 +1,2 @@\n-x\n--- a comment of SQL\n+++ b\n+++ a\n"
    assert [pair[:2] for pair in pairs(patch)] == [(1, None), (2, None), (None, 1), (None, 2)]


def test_a_line_code_holds_both_counters() -> None:
    lines = parse_lines(b"@@ -4,2 +4,2 @@\n a\n-b\n+B\n")
    codes = [line_code("a.py", line).partition("_")[2] for line in lines if line.kind != "match"]
    assert codes == ["4_4", "5_5", "6_5"]


def test_exactly_the_lines_of_both_files_can_be_named(sandbox: GitLabSandbox) -> None:
    """Every line that git pairs, inside of hunks or not, and no other pair of numbers."""
    chance = random.Random(3)
    compared = 0
    for trial in range(25):
        old = [f"line {chance.randrange(8)}" for _ in range(chance.randrange(1, 60))]
        new = list(old)
        for _ in range(chance.randrange(1, 5)):
            at = chance.randrange(len(new) + 1)
            new[at : at + chance.randrange(3)] = [f"new {chance.randrange(8)}"] * chance.randrange(3)
        if new == old:
            continue
        ends = [chance.choice(["", "\n"]) for _ in range(2)]
        path = f"random/{trial}.txt"
        sandbox.commit(REPO, f"base-{trial}", {path: "\n".join(old) + ends[0]})
        sandbox.commit(REPO, f"head-{trial}", {path: "\n".join(new) + ends[1]}, start=f"base-{trial}")
        git = ["git", "-C", str(sandbox.git_path(REPO)), "diff", f"base-{trial}", f"head-{trial}"]
        short, full = (
            b"@@"
            + subprocess.run([*git, f"-U{context}"], capture_output=True, check=True).stdout.partition(
                b"\n@@"
            )[2]
            for context in (3, 10_000)
        )
        if not new or short == b"@@":
            continue
        lines, blob = parse_lines(short), ("\n".join(old) + ends[0]).encode()
        real = {pair[:2] for pair in pairs(full)}
        numbers: list[int | None] = [None, *range(1, max(len(old), len(new)) + 3)]
        named: set[Pair] = {
            (o, n)
            for o in numbers
            for n in numbers
            if find_line(lines, o, n) or (o and n and unfold_line(lines, blob, o, n))
        }
        assert named == real, short.decode()
        compared += 1
    assert compared > 15
