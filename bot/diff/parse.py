"""Read unified diffs exactly, or refuse them with the line that is wrong.

A diff is cut at `\\n` only. What a line of a hunk means is decided by its first character and by the counts
in the hunk's header alone, so code that looks like a header stays code. Nothing is skipped: a line without a
meaning where it stands raises DiffSyntaxError, since a diff that was read short puts comments on wrong lines.
A large diff is decoded in parts: a single emoji makes all text beside it four times as large as its bytes.
"""

import re
from collections.abc import Iterator

from bot.diff.header import FileHeader, read_common_header, read_git_header, read_plain_header
from bot.diff.model import Diff, FileDiff, FileStatus, Hunk
from bot.diff.paths import PathSyntaxError

_GIT_FILE = b"diff --git "
_NEXT_GIT_FILE = b"\n" + _GIT_FILE
# Enough that its own cost does not show, and little beside what a review needs anyway.
_PART_BYTES = 250_000
_HUNK = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@.*")
_NO_LINE_OF_A_HUNK = re.compile(r"\n[^ +-]")
# What `git show`, `git log -p` and `git format-patch` write before the first file.
_PREAMBLE = re.compile(r"commit [0-9a-f]{40}|From [0-9a-f]{40} ")
_PLAIN_FILE = re.compile("--- |diff -[rNu]")
_MAIL_SIGNATURE = re.compile(r"(?:-- )?\r*\n")
_LONGEST_TRAILER = 3


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
    if data and not data.endswith(b"\n"):
        raise DiffSyntaxError(data.count(b"\n") + 1, "the diff ends in the middle of a line; it was cut off")
    is_git = data.startswith(_GIT_FILE) or _NEXT_GIT_FILE in data
    preamble = trailer = ""
    files: list[FileDiff] = []
    for start, end in _parts(data):
        parser = _Parser(data[start:end].decode("utf-8", "surrogateescape"))
        try:
            preamble = preamble or parser.read_preamble()
            files += parser.read_files(is_git=is_git)
            trailer = parser.read_trailer(is_mail=bool(files and preamble), is_last=end == len(data))
        except DiffSyntaxError as error:
            raise DiffSyntaxError(data.count(b"\n", 0, start) + error.line, error.problem) from None
    return Diff(files=tuple(files), preamble=preamble, trailer=trailer)


def _parts(data: bytes) -> Iterator[tuple[int, int]]:
    """Cut before a `diff --git` into parts of some files: where each starts and ends."""
    start = 0
    # What stands before the first file belongs to it.
    first = 0 if data.startswith(_GIT_FILE) else data.find(_NEXT_GIT_FILE) + 1
    while (end := data.find(_NEXT_GIT_FILE, max(first, start + _PART_BYTES))) >= 0:
        yield start, end + 1
        start = end + 1
    yield start, len(data)


def parse_patch(old_path: str, new_path: str, status: FileStatus, patch: str) -> FileDiff:
    """Parse the hunks of one file as GitHub's list of files has them in `patch`.

    A patch has no header lines and no newline at its end. Raises DiffSyntaxError; its lines count from the
    patch's first.
    """
    parser = _Parser(patch.removesuffix("\n") + "\n" if patch else "")
    hunks = parser.read_hunks(old_path, new_path, status)
    if parser.at < len(parser.text):
        raise parser.error(parser.describe_stray_line())
    return FileDiff(old_path=old_path, new_path=new_path, status=status, hunks=hunks)


class _Parser:
    """Go over the text once; `at` is where the line begins that is read next. Every line ends in a newline."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def error(self, problem: str, at: int | None = None) -> DiffSyntaxError:
        return DiffSyntaxError(self.text.count("\n", 0, self.at if at is None else at) + 1, problem)

    def read_preamble(self) -> str:
        if _PREAMBLE.match(self.text):
            self.at = self.text.find("\ndiff --git ") + 1 or len(self.text)
        return self.text[: self.at]

    def read_files(self, *, is_git: bool) -> Iterator[FileDiff]:
        while self.text.startswith("diff --git ", self.at) or (
            not is_git and _PLAIN_FILE.match(self.text, self.at)
        ):
            yield self._read_file(is_git=is_git)

    def read_trailer(self, *, is_mail: bool, is_last: bool) -> str:
        trailer = self.text[self.at :]
        if trailer and not (is_mail and _MAIL_SIGNATURE.match(trailer)):
            raise self.error(self.describe_stray_line())
        if trailer.count("\n") > _LONGEST_TRAILER or (trailer and not is_last):
            raise self.error("text follows the last hunk; give one patch at a time")
        return trailer

    def _read_file(self, *, is_git: bool) -> FileDiff:
        start = self.at
        header = self._read_header(start, is_git=is_git)
        self.at = header.end
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
            header=self.text[start : header.end],
            hunks=hunks,
        )

    def _read_header(self, start: int, *, is_git: bool) -> FileHeader:
        try:
            if is_git:
                header = read_common_header(self.text, start) or read_git_header(self.text, start)
            else:
                header = read_plain_header(self.text, start)
        except PathSyntaxError as error:
            raise self.error(str(error), start) from None
        if header.problem:
            raise self.error(header.problem, start)
        return header

    def read_hunks(self, old_path: str, new_path: str, status: FileStatus) -> tuple[Hunk, ...]:
        text = self.text
        hunks: list[Hunk] = []
        old_next = new_next = 1
        while text.startswith("@", self.at):
            start = self.at
            match = _HUNK.match(text, start)
            if match is None:
                line = text[start : text.index("\n", start)]
                raise self.error(f"{line[:80]!r} is not a hunk header like '@@ -1,2 +1,3 @@'")
            old_first, old_length, new_first, new_length = match.groups()
            old_start, new_start = int(old_first), int(new_first)
            # A count that is not written is 1.
            old_count = 1 if old_length is None else int(old_length)
            new_count = 1 if new_length is None else int(new_length)
            end, unchanged_count = self._find_end(match.end(), old_count, new_count)
            hunks.append(
                Hunk(
                    old_path=old_path,
                    new_path=new_path,
                    old_start=old_start,
                    old_count=old_count,
                    new_start=new_start,
                    new_count=new_count,
                    unchanged_count=unchanged_count,
                    header=match[0],
                    body=text[match.end() : end],
                )
            )
            self.at = end + 1
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

    def _find_end(self, start: int, old_count: int, new_count: int) -> tuple[int, int]:
        """Find the newline that ends a hunk, and count unchanged lines; `start` is the newline before it.

        Cut where no line of a hunk follows; if that does not add up, walk line by line.
        """
        text = self.text
        follower = _NO_LINE_OF_A_HUNK.search(text, start)
        end = follower.start() if follower else len(text) - 1
        count = text.count("\n", start, end)
        added = text.count("\n+", start, end)
        removed = text.count("\n-", start, end) if added < count else 0
        if (count - added, count - removed) == (old_count, new_count) and not text.startswith("\\", end + 1):
            return end, count - added - removed
        return self._walk(start, old_count, new_count)

    def _walk(self, end: int, old_left: int, new_left: int) -> tuple[int, int]:
        text = self.text
        unchanged = 0
        previous = ""
        while (at := end + 1) < len(text):
            sign = text[at]
            if sign == "\\":
                if not text.startswith("\\ ", at) or previous in ("", "\\"):
                    raise self.error("this marker does not follow a line of the hunk", at)
                if (previous != "+" and old_left) or (previous != "-" and new_left):
                    raise self.error("this marker does not follow the last line of its side", at)
            elif sign not in " +-\n" or not (old_left or new_left):
                break
            else:
                old_left -= sign != "+"
                new_left -= sign != "-"
                unchanged += sign in " \n"
            if old_left < 0 or new_left < 0:
                raise self.error("the hunk has more lines than its header says", at)
            previous = sign
            end = text.index("\n", at)
        if old_left or new_left:
            raise self.error(f"the hunk is not complete: {_count(old_left, new_left)} missing here", at)
        return end, unchanged

    def describe_stray_line(self) -> str:
        line = self.text[self.at : self.text.index("\n", self.at)]
        if line.startswith(("diff --cc ", "diff --combined ", "@@@")):
            return "combined diffs of merges cannot be reviewed; give the diff against one parent"
        if line.startswith("@@ "):
            return "a hunk stands before any file header"
        if line.startswith(("+", "-", " ")):
            return "a line of a hunk stands outside; the counts in the hunk's header are too small"
        return f"expected a file or a hunk, found {line[:60]!r}"


def _count(old: int, new: int) -> str:
    return f"{old} old and {new} new lines are"
