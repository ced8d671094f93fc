"""The head files around what is reviewed, for the lines beside the hunks. Whatever cannot be had is done without."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from bot.diff.clean import CleanedFile
from bot.diff.model import FileStatus
from bot.findings import Side
from bot.forges.base import ForgeError, ForgeUnavailable
from bot.review.secrets import redact

# Each file is a request of a budget that all repositories share, and at most so many bytes.
MAX_FILES = 20
MAX_BYTES = 400_000
_AT_ONCE = 4

# Reads a file of the head, at most so many bytes of it; None if there is none.
ReadHead = Callable[[str, int], bytes | None]


def fetch_heads(files: Iterable[CleanedFile], read: ReadHead) -> Mapping[int, Sequence[str]]:
    """Read the head files of the first files that need it, and give their lines by file number.

    A deleted file has none, and a new one is in the diff already. Once the forge is away nothing more is asked.
    """
    wanted = [file for file in files if _has_surroundings(file)][:MAX_FILES]
    is_away = threading.Event()

    def fetch(file: CleanedFile) -> Sequence[str]:
        if is_away.is_set():
            return ()
        try:
            data = read(file.path, MAX_BYTES)
        except ForgeUnavailable:
            is_away.set()
            return ()
        except ForgeError:
            return ()
        return () if data is None else _lines_of(data, file)

    if not wanted:
        return {}
    with ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="context") as pool:
        return {file.number: lines for file, lines in zip(wanted, pool.map(fetch, wanted), strict=True)}


def _has_surroundings(file: CleanedFile) -> bool:
    if file.file.status is FileStatus.ADDED:
        return file.new_lines is not None
    return file.file.status is not FileStatus.REMOVED


def _lines_of(data: bytes, file: CleanedFile) -> Sequence[str]:
    """Cut a file into lines; none if they are not those of the diff, as for links, which forges follow."""
    lines = redact(data).decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    for line in (line for hunk in file.hunks for line in hunk.lines if line.exists_on(Side.NEW)):
        if line.new_number > len(lines) or lines[line.new_number - 1] != line.text:
            return ()
    return lines
