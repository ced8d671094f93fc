"""Check a place against the diff, and name a finding so that it is known again after the next push."""

import hashlib

from bot.diff.model import Diff
from bot.findings import Category, Place, Side


def is_commentable(diff: Diff, place: Place) -> bool:
    """Tell whether both forges accept a comment at this place.

    The line must lie inside a hunk of the file, both its numbers must be the diff's own, and a range must
    start before it in the same hunk. See "Create a review for a pull request" in GitHub's REST documentation.
    """
    number = place.old_line if place.side is Side.OLD else place.new_line
    if number is None or (place.start_line is not None and place.start_line >= number):
        return False
    for file in diff.files:
        if (file.old_path, file.new_path) != (place.old_path, place.new_path):
            continue
        for hunk in file.hunks:
            if not hunk.covers(place.side, number):
                continue
            if place.start_line is not None and not hunk.covers(place.side, place.start_line):
                continue
            numbers = (place.old_line, place.new_line)
            if any(
                numbers
                == (
                    line.old_number if line.exists_on(Side.OLD) else None,
                    line.new_number if line.exists_on(Side.NEW) else None,
                )
                for line in hunk.lines
            ):
                return True
    return False


def fingerprint(path: str, code: str, category: Category | str) -> str:
    """Name a finding by what it is about: 16 hex digits that stay when lines move.

    Line numbers and white space are left out, so that a second push does not bring the same comment again.
    """
    parts = (path, " ".join(code.split()), str(category))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]
