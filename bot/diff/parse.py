"""Read unified diffs exactly, or refuse them with the line that is wrong.

A diff is cut at `\\n` only. What a line of a hunk means is decided by its first character and by the counts
in the hunk's header alone, so code that looks like a header stays code. Nothing is skipped: a line without a
meaning where it stands raises DiffSyntaxError, since a diff that was read short puts comments on wrong lines.
"""

import re
from collections.abc import Callable, Iterator

from bot.diff.header import FileHeader, read_git_header, read_plain_header
from bot.diff.model import Diff, FileDiff, FileStatus, Hunk
from bot.diff.paths import PathSyntaxError

_HUNK = re.compile(
    r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@(?: ?(.*?))?\r?", re.DOTALL
)
# What `git show`, `git log -p` and `git format-patch` write before the first file.
_PREAMBLE = re.compile(r"commit [0-9a-f]{40}|From [0-9a-f]{40} ")
_PLAIN_FILE = re.compile("--- |diff -[rNu]")
_MAIL_SIGNATURE = "-- "
_LONGEST_TRAILER = 3
_RUN_OF_SIGNS = re.compile("[ +-]+")


class DiffSyntaxError(ValueError):
    """A diff cannot be read; `line` counts from 1 in the diff, and the text says what is wrong there."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line} of the diff: {problem}")
        self.line = line
        self.problem = problem


def parse_diff(data: bytes) -> Diff:
    """Parse a diff as git writes it, or a plain one with `---` and `+++` lines.

    Raises DiffSyntaxError for anything malformed, cut off, or combined (`diff --cc`).
    """
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    if lines.pop():
        raise DiffSyntaxError(len(lines) + 1, "the diff ends in the middle of a line; it was cut off")
    return _Parser(lines).parse()


def parse_patch(old_path: str, new_path: str, status: FileStatus, patch: str) -> FileDiff:
    """Parse the hunks of one file as GitHub's list of files has them in `patch`.

    A patch has no header lines and no newline at its end. Raises DiffSyntaxError; its lines count from the
    patch's first.
    """
    parser = _Parser(patch.removesuffix("\n").split("\n") if patch else [])
    hunks = parser.read_hunks(old_path, new_path, status)
    if parser.at < len(parser.lines):
        raise parser.error(parser.describe_stray_line())
    return FileDiff(old_path=old_path, new_path=new_path, status=status, hunks=hunks)


class _Parser:
    """Walk over the lines once; `at` is the index of the line that is read next.

    `signs` has the first character of every line. It is some forty times shorter than the text, so that
    looking for the end of a hunk and counting its lines in it is quick.
    """

    def __init__(self, lines: list[str]) -> None:
        self.lines = tuple(lines)
        self.signs = "".join([(line or " ")[0] for line in lines])
        self.at = 0

    def error(self, problem: str, at: int | None = None) -> DiffSyntaxError:
        return DiffSyntaxError((self.at if at is None else at) + 1, problem)

    def parse(self) -> Diff:
        preamble = self._read_preamble()
        files: list[FileDiff] = []
        trailer: tuple[str, ...] = ()
        is_git = any(line.startswith("diff --git ") for line in self._lines_with("d"))
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith("diff --git "):
                files.append(self._read_file(read_git_header))
            elif not is_git and _PLAIN_FILE.match(line):
                files.append(self._read_file(read_plain_header))
            elif files and preamble and line.rstrip("\r") in (_MAIL_SIGNATURE, ""):
                trailer = self.lines[self.at :]
                if len(trailer) > _LONGEST_TRAILER:
                    raise self.error("text follows the last hunk; give one patch at a time")
                break
            else:
                raise self.error(self.describe_stray_line())
        return Diff(files=tuple(files), preamble=preamble, trailer=trailer)

    def _lines_with(self, sign: str) -> Iterator[str]:
        at = self.signs.find(sign)
        while at >= 0:
            yield self.lines[at]
            at = self.signs.find(sign, at + 1)

    def _read_preamble(self) -> tuple[str, ...]:
        if not self.lines or not _PREAMBLE.match(self.lines[0]):
            return ()
        starts = (at for at, line in enumerate(self.lines) if line.startswith("diff --git "))
        self.at = next(starts, len(self.lines))
        return self.lines[: self.at]

    def _read_file(self, read_header: Callable[[tuple[str, ...], int], FileHeader]) -> FileDiff:
        start = self.at
        try:
            header = read_header(self.lines, start)
        except PathSyntaxError as error:
            raise self.error(str(error)) from None
        self.at += header.length
        if header.problem:
            raise self.error(header.problem, start)
        hunks = self.read_hunks(header.old_path, header.new_path, header.status)
        if header.expects_hunks and not hunks:
            raise self.error("the file's header promises hunks, and none follows; the diff was cut off")
        return FileDiff(
            old_path=header.old_path,
            new_path=header.new_path,
            status=header.status,
            old_mode=header.old_mode,
            new_mode=header.new_mode,
            similarity=header.similarity,
            is_binary=header.is_binary,
            header=self.lines[start : start + header.length],
            hunks=hunks,
        )

    def read_hunks(self, old_path: str, new_path: str, status: FileStatus) -> tuple[Hunk, ...]:
        hunks: list[Hunk] = []
        old_next = new_next = 1
        while self.signs.startswith("@", self.at):
            start = self.at
            header = self.lines[start]
            match = _HUNK.fullmatch(header)
            if match is None:
                raise self.error(f"{header[:80]!r} is not a hunk header like '@@ -1,2 +1,3 @@'")
            old_first, old_length, new_first, new_length, section = match.groups()
            old_start, new_start = int(old_first), int(new_first)
            # A count that is not written is 1.
            old_count = 1 if old_length is None else int(old_length)
            new_count = 1 if new_length is None else int(new_length)
            self.at += 1
            hunks.append(
                Hunk(
                    old_path=old_path,
                    new_path=new_path,
                    old_start=old_start,
                    old_count=old_count,
                    new_start=new_start,
                    new_count=new_count,
                    section=section or "",
                    header=header,
                    signs=self._read_signs(old_count, new_count),
                    raw_lines=self.lines[start + 1 : self.at],
                )
            )
            # A side without lines is given by the line before the gap.
            old_start, new_start = old_start + (not old_count), new_start + (not new_count)
            if not old_count and not new_count:
                raise self.error("the hunk has no lines", start)
            if old_start < old_next or new_start < new_next:
                raise self.error("the hunk overlaps the one before it, or goes backwards", start)
            if (status is FileStatus.ADDED and old_count) or (status is FileStatus.REMOVED and new_count):
                raise self.error(f"the file was {status}, and the hunk has lines on the other side", start)
            old_next, new_next = old_start + old_count, new_start + new_count
        return tuple(hunks)

    def _read_signs(self, old_count: int, new_count: int) -> str:
        """Cut where no sign of a hunk follows; if that does not add up, walk line by line."""
        run = _RUN_OF_SIGNS.match(self.signs, self.at)
        signs = run[0] if run else ""
        context = signs.count(" ")
        adds_up = context + signs.count("-") == old_count and context + signs.count("+") == new_count
        if adds_up and not self.signs.startswith("\\", self.at + len(signs)):
            self.at += len(signs)
            return signs
        return self._walk(old_count, new_count)

    def _walk(self, old_left: int, new_left: int) -> str:
        start = self.at
        previous = ""
        for sign in self.signs[start:]:
            if sign == "\\":
                if not self.lines[self.at].startswith("\\ ") or previous in ("", "\\"):
                    raise self.error("this marker does not follow a line of the hunk")
                if (previous != "+" and old_left) or (previous != "-" and new_left):
                    raise self.error("this marker does not follow the last line of its side")
            elif not old_left and not new_left:
                break
            elif sign in " +-":
                old_left -= sign != "+"
                new_left -= sign != "-"
            else:
                raise self.error(f"the hunk is not complete: {_count(old_left, new_left)} missing here")
            if old_left < 0 or new_left < 0:
                raise self.error("the hunk has more lines than its header says")
            previous = sign
            self.at += 1
        if old_left or new_left:
            raise self.error(f"the diff ends inside a hunk: {_count(old_left, new_left)} missing")
        return self.signs[start : self.at]

    def describe_stray_line(self) -> str:
        line = self.lines[self.at]
        if line.startswith(("diff --cc ", "diff --combined ", "@@@")):
            return "combined diffs of merges cannot be reviewed; give the diff against one parent"
        if line.startswith("@@ "):
            return "a hunk stands before any file header"
        if line.startswith(("+", "-", " ")):
            return "a line of a hunk stands outside; the counts in the hunk's header are too small"
        return f"expected a file or a hunk, found {line[:60]!r}"


def _count(old: int, new: int) -> str:
    return f"{old} old and {new} new lines are"
