"""The rules on where a note may stand.

https://docs.gitlab.com/api/discussions/#create-a-new-thread-in-the-merge-request-diff
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from deploy.sandbox.git import GitError, GitRepository
from deploy.sandbox.gitlab.changes import Change, find_change, is_too_large, version_changes
from deploy.sandbox.gitlab.errors import ApiError, invalid_note, invalid_params
from deploy.sandbox.gitlab.lines import Line, diff_hunk, find_line, line_code, parse_lines, unfold_line
from deploy.sandbox.gitlab.options import DiffLimits, Options
from deploy.sandbox.gitlab.state import DiffVersion, MergeRequest, Place, Position

SHAS = ("base_sha", "start_sha", "head_sha")
_KINDS = ("text", "image", "file")
_NUMBERS = ("new_line", "old_line", "width", "height", "x", "y")
_NO_LINE_CODE = ("can't be blank", "must be a valid line code")
_NO_LINE: dict[str, tuple[str, ...]] = {"line_code": _NO_LINE_CODE}
_INCOMPLETE: dict[str, tuple[str, ...]] = {"position": ("is incomplete",)}
# What `type` may say of a line in a line_range: "new for lines added by this commit, otherwise old".
_TYPES: dict[str, tuple[str | None, ...]] = {
    "new": ("new",),
    "old": ("old",),
    "unchanged": ("old", "expanded", None),
}


def parse_position(data: object, options: Options) -> Position:
    """Read the parameter `position`; raises ApiError 400 as the API's own checks do, before any look-up."""
    if not isinstance(data, Mapping):
        raise invalid_params("position is invalid")
    problems = [f"position[{name}] is missing" for name in (*SHAS, "position_type") if name not in data]
    kinds = _KINDS if options.has(16, 4) else _KINDS[:2]
    if "position_type" in data and data["position_type"] not in kinds:
        problems.append("position[position_type] does not have a valid value")
    problems += [f"position[{name}] is invalid" for name in _NUMBERS if not _is_number(data.get(name))]
    line_range = data.get("line_range")
    if line_range is not None and not isinstance(line_range, Mapping):
        problems.append("position[line_range] is invalid")
    for end in ("start", "end"):
        if isinstance(line_range, Mapping) and not isinstance(line_range.get(end), Mapping | None):
            problems.append(f"position[line_range][{end}] is invalid")
    if problems:
        raise invalid_params(*problems)
    return Position(data=dict(data))


def find_place(merge_request: MergeRequest, position: Position, limits: DiffLimits) -> Place:
    """Find the line or file that a position names; raises ApiError 400."""
    if merge_request.version is None:
        raise invalid_note({"noteable": ["doesn't support new-style diff notes"]})
    if not _is_complete(position):
        raise invalid_note((_NO_LINE if position.kind == "text" else {}) | _INCOMPLETE)
    version = find_version(merge_request, position)
    change = _find_change(merge_request, version, position) if version else None
    if version is None or change is None:
        raise _refused(position)
    if position.kind != "text":
        return Place(line_code=None, diff_hunk="")
    if is_too_large(change, limits):
        raise _refused(position)
    file = _File(merge_request, version, change)
    line = file.line(position.old_line, position.new_line)
    if line is None:
        raise _refused(position)
    if position.data.get("line_range") is not None:
        _check_range(file, line, position.data["line_range"])
    return Place(line_code=line_code(change.new_path, line), diff_hunk=diff_hunk(file.lines, line))


def find_version(merge_request: MergeRequest, position: Position) -> DiffVersion | None:
    """Find the version of the diff that a position's SHAs name: older ones are good too."""
    wanted = [position.data[name] for name in SHAS]
    known = (one for one in merge_request.versions if one.is_ready)
    return next((one for one in known if [one.base_sha, one.start_sha, one.head_sha] == wanted), None)


class _File:
    """The lines of one file in one version."""

    def __init__(self, merge_request: MergeRequest, version: DiffVersion, change: Change) -> None:
        self.lines = parse_lines(change.patch)
        self._git_path = merge_request.project.git.path
        self._version = version
        self.change = change

    def line(self, old_line: int | None, new_line: int | None) -> Line | None:
        """Find a line inside or, if it is unchanged, outside of the hunks."""
        found = find_line(self.lines, old_line, new_line)
        if found or old_line is None or new_line is None or not self.lines:
            return found
        blob = read_blob(self._git_path, self._version.base_sha, self.change.old_path)
        return unfold_line(self.lines, blob, old_line, new_line)


@lru_cache(maxsize=64)
def read_blob(git_path: Path, revision: str, path: str) -> bytes:
    """Read a file of a commit; nothing if there is none."""
    git = GitRepository(git_path)
    entry = git.tree_entry(revision, path)
    try:
        return git.blob(entry.sha) if entry else b""
    except GitError:  # a submodule
        return b""


def _find_change(merge_request: MergeRequest, version: DiffVersion, position: Position) -> Change | None:
    # GitLab itself is content with one right path; but then it may take a renamed file for a new one.
    changes = version_changes(merge_request.project, version)
    given = position.data
    return find_change(changes, str(given.get("old_path")), str(given.get("new_path")))


def _check_range(file: _File, last: Line, line_range: Mapping[str, Any]) -> None:
    start, end = (_range_line(file, line_range.get(name)) for name in ("start", "end"))
    if end != last or (start.old_pos, start.new_pos) > (end.old_pos, end.new_pos):
        raise invalid_note(_NO_LINE)


def _range_line(file: _File, wanted: Mapping[str, Any] | None) -> Line:
    if not wanted or not wanted.get("line_code"):
        raise invalid_note(_INCOMPLETE)
    _, old_pos, new_pos = str(wanted["line_code"]).rsplit("_", 2) if _is_code(wanted["line_code"]) else "000"
    line = _line_at(file, int(old_pos), int(new_pos))
    if line is None or line_code(file.change.new_path, line) != wanted["line_code"]:
        raise invalid_note(_NO_LINE)
    numbers = (_number(wanted.get("old_line")), _number(wanted.get("new_line")))
    if numbers not in ((None, None), (line.old_line, line.new_line)):
        raise invalid_note(_NO_LINE)
    if wanted.get("type") not in _TYPES[line.kind]:
        raise invalid_note(_NO_LINE)
    return line


def _line_at(file: _File, old_pos: int, new_pos: int) -> Line | None:
    """Find a line by both of its positions, as a line code has them."""
    shown = (line for line in reversed(file.lines) if line.kind not in ("match", "nonewline"))
    found = next((line for line in shown if (line.old_pos, line.new_pos) == (old_pos, new_pos)), None)
    return found or file.line(old_pos, new_pos)


def _refused(position: Position) -> ApiError:
    return invalid_note(_NO_LINE if position.kind == "text" else _INCOMPLETE)


def _is_complete(position: Position) -> bool:
    data = position.data
    if not position.path or not all(data[name] for name in SHAS):
        return False
    if position.kind == "text":
        return position.old_line is not None or position.new_line is not None
    if position.kind == "image":
        return all(data.get(name) is not None for name in ("x", "y", "width", "height"))
    return True


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _is_code(value: object) -> bool:
    parts = str(value).rsplit("_", 2)
    return len(parts) == 3 and parts[1].isdecimal() and parts[2].isdecimal()


def _number(value: object) -> int | None:
    return None if value is None else int(str(value))
