"""Measure whether the time for a diff grows with its size alone, and how much memory a very large one takes.

This happens in a process of its own, since memory that a process once had does not show again as new.
"""

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bot.diff import chunk_files, clean_diff, parse_diff
from deploy.bench.diffs import generate_diff

_MEGABYTE = 1_000_000
_SMALL_BYTES, _LARGE_BYTES = 500_000, 50_000_000
# So that the large one has about 3,000 files.
_MOST_HUNKS = 21
_CHUNK_TOKENS = 4000
_ROUNDS = 5
_SMALL_PER_ROUND = 20
_STATUS = Path("/proc/self/status")
_PEAK = re.compile(r"^VmHWM:\s*([0-9]+) kB$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What it took to parse, clean and chunk a diff and to write each prompt's part of it once, as a review does.

    Seconds are processor time.
    """

    bytes: int
    files: int
    chunks: int
    characters: int
    seconds: float

    @property
    def ms_per_megabyte(self) -> float:
        """Give the time for 1,000,000 bytes in milliseconds."""
        return self.seconds * 1000 / (self.bytes / _MEGABYTE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """A small diff beside a large one of the same kind, and the peak of memory, the diff's bytes included."""

    small: Reading
    large: Reading
    peak_bytes: int

    @property
    def time_ratio(self) -> float:
        """Give how much longer a byte of the large one takes."""
        return self.large.ms_per_megabyte / self.small.ms_per_megabyte

    @property
    def memory_ratio(self) -> float:
        """Give the peak of memory as a multiple of the large one's size."""
        return self.peak_bytes / self.large.bytes


def measure_growth(small: int = _SMALL_BYTES, large: int = _LARGE_BYTES, rounds: int = _ROUNDS) -> Growth:
    """Read a small diff and a large one in turns, sizes in bytes; the quickest turn of each counts."""
    with tempfile.TemporaryDirectory(prefix="redline-bench-") as folder:
        for size, name in ((small, "small"), (large, "large")):
            Path(folder, name).write_bytes(generate_diff(size, most_hunks=_MOST_HUNKS))
        command = [sys.executable, "-m", "deploy.bench.diffs_growth", folder, str(rounds)]
        figures = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return Growth(
        small=Reading(**figures["small"]), large=Reading(**figures["large"]), peak_bytes=figures["peak_bytes"]
    )


def compare(small: bytes, large: Path, rounds: int) -> Growth:
    """Read both in this process, by turns so that a busy moment of the machine does not fall on one alone."""
    read(small)  # what is made at the first use is not part of a diff's memory
    before = _peak()
    turns: list[tuple[Reading, Reading]] = []
    for _ in range(rounds):
        # About as long as the large one takes: a lucky moment of one says nothing of the other.
        several = [read(small) for _ in range(_SMALL_PER_ROUND)]
        seconds = sum(reading.seconds for reading in several) / len(several)
        turns.append((replace(several[0], seconds=seconds), read(large.read_bytes())))
    quickest = [min(readings, key=lambda reading: reading.seconds) for readings in zip(*turns, strict=True)]
    return Growth(small=quickest[0], large=quickest[1], peak_bytes=_peak() - before)


def read(data: bytes) -> Reading:
    """Read a diff as a review does, up to the prompts."""
    started = time.process_time()
    diff = parse_diff(data)
    chunks = chunk_files(clean_diff(diff).kept, _CHUNK_TOKENS)
    characters = sum(len(chunk.text) for chunk in chunks)
    return Reading(
        bytes=len(data),
        files=len(diff.files),
        chunks=len(chunks),
        characters=characters,
        seconds=time.process_time() - started,
    )


def _peak() -> int:
    """Give the most memory that this process ever had, in bytes."""
    # On Linux the other figure begins with what the process had that started this one: see getrusage(2).
    if _STATUS.is_file() and (found := _PEAK.search(_STATUS.read_text())):
        return int(found[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
    growth = compare((folder / "small").read_bytes(), folder / "large", rounds)
    print(json.dumps(asdict(growth)))
