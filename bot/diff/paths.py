"""Names of files as diffs write them: prefixed, quoted like C strings, and sometimes ambiguous."""

import re

_ESCAPE = re.compile(r'\\([0-3][0-7]{2}|[abfnrtv"\\])|\\')
_LETTERS = {
    "a": 0x07,
    "b": 0x08,
    "f": 0x0C,
    "n": 0x0A,
    "r": 0x0D,
    "t": 0x09,
    "v": 0x0B,
    '"': 0x22,
    "\\": 0x5C,
}
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
DEV_NULL = "/dev/null"


class PathSyntaxError(ValueError):
    """A file name in a header cannot be read; the text says why."""


def unquote(name: str) -> str:
    """Read a name that git may have put in quotes; octal escapes are the bytes of the UTF-8 name.

    Raises PathSyntaxError for an escape that git does not write. See `core.quotePath` in git-config(1).
    """
    if not name.startswith('"'):
        return name
    if not _QUOTED.fullmatch(name):
        raise PathSyntaxError(f"the quoted file name {name} does not end in a quote")
    raw = bytearray()
    position = 1
    for escape in _ESCAPE.finditer(name, 1, len(name) - 1):
        code = escape[1]
        if code is None:
            raise PathSyntaxError(f"the quoted file name {name} has an unknown escape")
        raw += name[position : escape.start()].encode("utf-8", "surrogateescape")
        raw.append(_LETTERS[code] if code in _LETTERS else int(code, 8))
        position = escape.end()
    raw += name[position:-1].encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "surrogateescape")


def read_header_path(rest: str) -> str:
    """Read the name after `--- ` or `+++ `: git ends names with spaces by a tab, diff(1) adds the time."""
    if rest.startswith('"'):
        quoted = _QUOTED.match(rest)
        return unquote(quoted[0] if quoted else rest)
    return rest.partition("\t")[0]


def read_git_names(rest: str) -> tuple[str, str] | None:
    """Read both names after `diff --git `, prefixes included; None where only other headers can tell.

    Names may hold spaces, and even ` b/`. Where the two differ, git always adds `rename` or `copy` lines, so
    it is enough to understand two halves that are the same behind their prefixes.
    """
    if '"' in rest:
        first = _QUOTED.match(rest)
        if first and rest[first.end() : first.end() + 1] == " ":
            return unquote(first[0]), unquote(rest[first.end() + 1 :])
        start = rest.find(' "')
        if start > 0 and _QUOTED.fullmatch(rest, start + 1):
            return rest[:start], unquote(rest[start + 1 :])
    middle = len(rest) // 2
    old, new = rest[:middle], rest[middle + 1 :]
    if rest[middle : middle + 1] == " " and (old == new or _behind_prefix(old) == _behind_prefix(new) != ""):
        return old, new
    return None


def strip_prefixes(old: str, new: str) -> tuple[str, str]:
    """Remove git's `a/` and `b/` (or `i/`, `w/`, `c/`, `o/`) from a pair of names, if the pair has them."""
    if old[:2] == "a/" and new[:2] == "b/":
        return old[2:], new[2:]
    names = [name for name in (old, new) if name != DEV_NULL]
    if len(names) == 2 and old == new:
        return old, new
    if all(re.match("[abciwo]/.", name) for name in names) or (
        len(names) == 2 and _behind_prefix(old) == _behind_prefix(new) != ""
    ):
        old = old if old == DEV_NULL else _behind_prefix(old)
        new = new if new == DEV_NULL else _behind_prefix(new)
    return old, new


def _behind_prefix(name: str) -> str:
    return name.partition("/")[2]
