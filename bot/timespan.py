"""Time spans as people type and read them: 24h in, 1.8 s out."""

import re
from datetime import timedelta

_SPAN = re.compile(r"(\d{1,4})\s*(m|min|h|d|w)", re.IGNORECASE)
_UNITS = {"m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_timespan(text: str) -> timedelta:
    """Read a time span; raises ValueError with a sentence that shows how to write one."""
    found = _SPAN.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text!r} is not a time span: write 30m, 24h, 7d or 2w")
    return timedelta(**{_UNITS[found[2].lower()]: int(found[1])})


def format_duration(milliseconds: float) -> str:
    """Write a time as people say it: 240 ms, 1.8 s, 15 s, 2 min 5 s."""
    if milliseconds < 999.5:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    return f"{round(seconds) // 60} min {round(seconds) % 60} s"
