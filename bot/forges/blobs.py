"""Comparing the two versions of a file here, for files that a forge sends no diff of."""

from collections.abc import Callable

from bot.forges.base import FileTooLarge, MissingFile
from bot.forges.git_format import Change, FileChange, write_section

MAX_COMPARED_BYTES = 1_000_000
MAX_COMPARED_FILES = 100  # each costs two requests of a budget that all repositories share

# Reads a file at a commit, at most so many bytes of it; None if it is not there or no plain file.
ReadFile = Callable[[str, str, int], bytes | None]


def compare_versions(
    file: FileChange, read: ReadFile, *, base_sha: str, head_sha: str, forge: str
) -> bytes | MissingFile:
    """Fetch both versions of a file and write its section of the diff, or say why there is none."""

    def missing(reason: str) -> MissingFile:
        return MissingFile(path=file.new_path, reason=f"{forge} sends no diff of it and {reason}")

    old: bytes | None = b""
    new: bytes | None = b""
    try:
        if file.change is not Change.ADDED:
            old = read(file.old_path, base_sha, MAX_COMPARED_BYTES)
        if file.change is not Change.REMOVED:
            new = read(file.new_path, head_sha, MAX_COMPARED_BYTES)
    except FileTooLarge:
        return missing(f"it is larger than {MAX_COMPARED_BYTES / 1e6:.0f} MB")
    if old is None or new is None:
        return missing("it is no plain file")
    try:
        return write_section(file, old, new)
    except OSError as error:
        return missing(f"comparing failed: {error}")
