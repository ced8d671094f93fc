"""Whether a note still stands on a line of the newest diff."""

from deploy.sandbox.following import follow_line
from deploy.sandbox.gitlab.changes import Change, find_change, version_changes
from deploy.sandbox.gitlab.lines import Line, find_line, parse_lines
from deploy.sandbox.gitlab.positions import find_version
from deploy.sandbox.gitlab.state import DiffVersion, MergeRequest, Position


def find_standing(merge_request: MergeRequest, position: Position) -> tuple[Change, Line | None] | None:
    """Follow a position to the newest version; None if its line or file has left the diff.

    The line is None for a position on a whole file, and for an unchanged line outside of the hunks.
    """
    made, newest = find_version(merge_request, position), merge_request.version
    if made is None or newest is None:
        return None
    change = find_change(version_changes(merge_request.project, newest), position.old_path, position.path)
    if change is None:
        return None
    if position.kind != "text":
        return change, None
    old_line = _follow(merge_request, position.old_path, position.old_line, made.base_sha, newest.base_sha)
    new_line = _follow(merge_request, position.path, position.new_line, made.head_sha, newest.head_sha)
    line = find_line(parse_lines(change.patch), old_line, new_line)
    return (change, line) if line or _is_same(made, newest) else None


def is_outdated(merge_request: MergeRequest, position: Position) -> bool:
    """Tell whether the line is gone from the diff."""
    return find_standing(merge_request, position) is None


def _follow(merge_request: MergeRequest, path: str, line: int | None, old: str, new: str) -> int | None:
    return None if line is None else follow_line(merge_request.project.git, old, new, path, line)


def _is_same(made: DiffVersion, newest: DiffVersion) -> bool:
    return (made.base_sha, made.head_sha) == (newest.base_sha, newest.head_sha)
