"""Where a comment stands, as GitLab wants to have it said.

https://docs.gitlab.com/api/discussions/#create-a-new-thread-in-the-merge-request-diff
"""

import hashlib
from typing import Any

from bot.findings import Place, Side
from bot.forges.gitlab_versions import Version

# https://docs.gitlab.com/user/project/merge_requests/reviews/suggestions/#multi-line-suggestions
MAX_SUGGESTED_LINES_ABOVE = 100


def position_of(place: Place, version: Version) -> dict[str, Any]:
    """Name a place in a version: an added line by its new number, a removed one by its old, another by both.

    GitLab looks the pair up among the lines of its diff, and takes no other. Both paths are always there.
    """
    numbers = {"old_line": place.old_line, "new_line": place.new_line}
    position: dict[str, Any] = {
        "position_type": "text",
        "base_sha": version.base_sha,
        "start_sha": version.start_sha,
        "head_sha": version.head_sha,
        "old_path": place.old_path,
        "new_path": place.new_path,
        **{name: number for name, number in numbers.items() if number is not None},
    }
    # Places that were stored before there were ranges know only their own numbers.
    if place.start_line is not None and place.other_line is not None and place.other_start_line is not None:
        is_changed = place.old_line is None or place.new_line is None
        position["line_range"] = {
            "start": _end_of_range(
                place, place.start_line, place.other_start_line, is_changed=place.start_is_changed
            ),
            "end": _end_of_range(place, place.line, place.other_line, is_changed=is_changed),
        }
    return position


def suggestion_info(place: Place) -> str | None:
    """Give the info string of a suggestion for the place's lines: how many above the commented one and below.

    None where GitLab applies none: on removed lines, and to more than a hundred lines above.
    """
    if place.side is not Side.NEW:
        return None
    above = place.line - (place.start_line or place.line)
    return f"suggestion:-{above}+0" if above <= MAX_SUGGESTED_LINES_ABOVE else None


def _end_of_range(place: Place, line: int, other_line: int, *, is_changed: bool) -> dict[str, Any]:
    """Name the first or last line of a range; its code holds both counts, also that of the absent side."""
    is_new = place.side is Side.NEW
    old, new = (other_line, line) if is_new else (line, other_line)
    name = hashlib.sha1(place.path.encode(), usedforsecurity=False).hexdigest()
    numbers = {"old_line": old, "new_line": new}
    if is_changed:
        del numbers["old_line" if is_new else "new_line"]
    return {
        "line_code": f"{name}_{old}_{new}",
        "type": "new" if is_changed and is_new else "old",
        **numbers,
    }
