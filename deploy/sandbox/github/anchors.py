"""The rules on where a review comment may stand.

https://docs.github.com/rest/pulls/comments#create-a-review-comment-for-a-pull-request, and error texts that
were seen in public reports.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from deploy.sandbox.diffs import DiffLine, FileDiff, Hunk
from deploy.sandbox.github.changes import patch_is_shown, pull_diff
from deploy.sandbox.github.state import Pull, Repository


class Problem(StrEnum):
    """Why a place was refused."""

    PATH = "path"
    LINE = "line"
    ORDER = "order"
    HUNK = "hunk"


class AnchorError(Exception):
    """The place is not in the diff."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A place that was found in the diff."""

    path: str
    subject_type: str = "line"
    line: int | None = None
    side: str = "RIGHT"
    start_line: int | None = None
    start_side: str | None = None
    position: int | None = None
    diff_hunk: str = ""


def find_anchor(repository: Repository, pull: Pull, commit: str, wanted: Mapping[str, Any]) -> Anchor:
    """Find the place that a comment names in the diff up to `commit`; raises AnchorError."""
    file = pull_diff(repository, pull, commit).file(wanted["path"])
    if file is None:
        raise AnchorError(Problem.PATH)
    if wanted.get("subject_type") == "file":
        return Anchor(path=file.path, subject_type="file", position=1)
    if not patch_is_shown(file):
        raise AnchorError(Problem.LINE)
    if wanted.get("line") is None:
        return _at_position(file, wanted.get("position"))
    return _at_line(file, wanted)


def _at_position(file: FileDiff, position: int | None) -> Anchor:
    for hunk in file.hunks:
        for line in hunk.lines:
            if line.position == position and line.sign != "\\":
                side = "LEFT" if line.sign == "-" else "RIGHT"
                number = line.old if side == "LEFT" else line.new
                return Anchor(
                    path=file.path, line=number, side=side, position=position, diff_hunk=_excerpt(hunk, line)
                )
    raise AnchorError(Problem.LINE)


def _at_line(file: FileDiff, wanted: Mapping[str, Any]) -> Anchor:
    number: int = wanted["line"]
    side = str(wanted.get("side") or "RIGHT").upper()
    start: int | None = wanted.get("start_line")
    start_side = str(wanted.get("start_side") or side).upper() if start is not None else None
    # Across sides the numbers count different files, so only within one side is there an order to keep.
    if start is not None and start_side == side and start >= number:
        raise AnchorError(Problem.ORDER)
    for hunk in file.hunks:
        line = hunk.line(number, side)
        if line is None:
            continue
        if start is not None and start_side is not None:
            first = hunk.line(start, start_side)
            if first is None:
                raise AnchorError(Problem.HUNK)
            if first.position >= line.position:
                raise AnchorError(Problem.ORDER)
        return Anchor(
            path=file.path,
            line=number,
            side=side,
            start_line=start,
            start_side=start_side,
            position=line.position,
            diff_hunk=_excerpt(hunk, line),
        )
    raise AnchorError(Problem.LINE)


def _excerpt(hunk: Hunk, last: DiffLine) -> str:
    """Quote the hunk down to the commented line, as `diff_hunk` does."""
    shown = [line.sign.encode() + line.text for line in hunk.lines if line.position <= last.position]
    return b"\n".join([hunk.header, *shown]).decode(errors="replace")


_LONG = {
    Problem.PATH: (
        "Pull request review thread path is invalid and Pull request review thread diff hunk can't be blank"
    ),
    Problem.LINE: (
        "Pull request review thread line must be part of the diff and Pull request review thread diff hunk "
        "can't be blank"
    ),
    Problem.ORDER: "Pull request review thread start line must precede the end line.",
    Problem.HUNK: (
        "Pull request review thread line must be part of the diff, "
        "Pull request review thread start line must be part of the same hunk as the "
        "line., and Pull request review thread diff hunk can't be blank"
    ),
}
_SHORT = {
    Problem.PATH: "Path could not be resolved",
    Problem.LINE: "Line could not be resolved",
    Problem.ORDER: _LONG[Problem.ORDER],
    Problem.HUNK: _LONG[Problem.HUNK],
}
_FIELDS = {
    Problem.PATH: [("path", "is invalid"), ("diff_hunk", "can't be blank")],
    Problem.LINE: [("line", "must be part of the diff"), ("diff_hunk", "can't be blank")],
    Problem.ORDER: [("start_line", "must precede the end line.")],
    Problem.HUNK: [
        ("line", "must be part of the diff"),
        ("start_line", "must be part of the same hunk as the line."),
        ("diff_hunk", "can't be blank"),
    ],
}


def sentence(problem: Problem, *, older_wording: bool) -> str:
    """Word a refusal for POST /reviews, which never names the culprit; the short wording is that of 2026."""
    return (_LONG if older_wording else _SHORT)[problem]


def field_errors(problem: Problem) -> list[dict[str, str]]:
    """Word a refusal for POST /comments."""
    return [
        {
            "resource": "PullRequestReviewComment",
            "code": "custom",
            "field": f"pull_request_review_thread.{name}",
            "message": f"pull_request_review_thread.{name} {message}",
        }
        for name, message in _FIELDS[problem]
    ]
