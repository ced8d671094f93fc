"""Ignore globs: the same paths as by plain backtracking, in a time that no path can make long."""

import re
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.diff.rules import compile_globs

PARTS = st.sampled_from(["a", "b", "ab", "/", "/", "*", "*", "**", "/**/", "?"])
GLOBS = st.lists(PARTS, min_size=1, max_size=9).map("".join)
PATHS = st.text(alphabet="aab//", min_size=1, max_size=12).filter(lambda path: "//" not in path)
MEANINGS = {"**/": "(?:.*/)?", "**": ".*", "/**": "/.+", "*": "[^/]*", "?": "[^/]"}


def naive(glob: str) -> re.Pattern[str]:
    """Say what a glob means without any thought of time."""
    body = glob.rstrip("/")
    anywhere = "" if "/" in body else "(?:.*/)?"
    parts = re.findall(r"(?:(?<=/)|^)\*\*/|/\*\*$|\*\*|\*|\?|[^*?/]+|/", body.lstrip("/"))
    pattern = "".join(MEANINGS.get(part, re.escape(part)) for part in parts)
    return re.compile(rf"\A{anywhere}{pattern}{'/.+' if glob.endswith('/') else '(?:/.*)?'}\Z", re.DOTALL)


@settings(max_examples=500, deadline=None)
@given(glob=GLOBS.filter(lambda glob: glob.strip("/")), path=PATHS)
def test_the_same_paths_as_by_plain_backtracking(glob: str, path: str) -> None:
    pattern = compile_globs((glob,))
    assert pattern is not None
    assert bool(pattern.search(path)) == bool(naive(glob).search(path))


def test_the_worst_paths_are_quick() -> None:
    """A path of a stranger that almost matches must not keep a worker busy."""
    worst = {
        "*a" * 20 + "b": "a" * 4000,
        "**/a/" * 20 + "b": "a/" * 2000,
        "**a" * 20 + "b": "a" * 4000,
        "**/*a*a*a/" * 6 + "b": "aaaa/" * 800,
    }
    for glob, path in worst.items():
        pattern = compile_globs((glob,))
        assert pattern is not None
        started = time.monotonic()
        assert pattern.search(path) is None
        assert time.monotonic() - started < 2, glob
