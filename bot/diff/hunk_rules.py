"""Decide whether a hunk changes anything that a reviewer would read.

A rule must be sure: where white space may carry meaning, the hunk stays. Most hunks are settled by a look at
their first changed lines, so that cleaning costs little beside parsing.
"""

import re
from collections.abc import Callable, Iterator

from bot.diff.model import Hunk
from bot.diff.rules import Rule

_BLANK = " \t\r"
# Languages in which the parser of the language ignores indentation.
_FREE_INDENTATION = frozenset(
    (
        *(
            "c",
            "h",
            "cc",
            "cpp",
            "cxx",
            "hh",
            "hpp",
            "m",
            "mm",
            "java",
            "kt",
            "kts",
            "groovy",
            "go",
            "rs",
            "cs",
        ),
        *(
            "js",
            "jsx",
            "mjs",
            "cjs",
            "ts",
            "tsx",
            "swift",
            "dart",
            "php",
            "css",
            "scss",
            "less",
            "json",
            "proto",
            "sql",
        ),
    )
)
# Languages in which indentation has meaning, or may have, but space at the end of a line has not.
_FREE_LINE_END = frozenset(
    (
        "py",
        "pyi",
        "yaml",
        "yml",
        "toml",
        "rb",
        "ex",
        "exs",
        "hs",
        "nim",
        "scala",
        "lua",
        "jl",
        "r",
        "html",
        "vue",
        "xml",
    )
)
# White space inside these belongs to a value, not to the layout.
_QUOTES = ("'", '"', "`")
_LONG_STRINGS = ("`", '"""', "'''", "<<", 'r#"', 'R"', '@"')
_RUN = re.compile(r"[ \t]+")
_GROUP = re.compile("[^ ]+")
_IMPORTS = {
    "py": r"(?:import|from) \S",
    "pyi": r"(?:import|from) \S",
    "java": r"import [\w.* ]+;",
    "kt": r"import [\w.* ]+",
    "scala": r"import \S",
    "js": r"import .*['\"];?$|const \S+ = require\(['\"][^'\"]+['\"]\);?$",
    "go": r"\t(?:[\w.]+ )?\"[^\"]+\"$|import (?:[\w.]+ )?\"[^\"]+\"$",
    "rs": r"(?:pub )?use [^;]+;$",
    "cs": r"using [\w.]+;$",
    "php": r"use [\w\\]+(?: as \w+)?;$",
    "swift": r"import \w",
    "dart": r"import ['\"]",
}
_IMPORT_LINES = {extension: re.compile(pattern) for extension, pattern in _IMPORTS.items()} | {
    extension: re.compile(_IMPORTS["js"]) for extension in ("jsx", "mjs", "ts", "tsx")
}


def classify_hunk(hunk: Hunk, extension: str) -> Rule | None:
    """Tell why a hunk is not reviewed, None if it is; `extension` is in lower case and without a dot."""
    removed_at, added_at = hunk.signs.find("-"), hunk.signs.find("+")
    removed = hunk.raw_lines[removed_at][1:] if removed_at >= 0 else ""
    added = hunk.raw_lines[added_at][1:] if added_at >= 0 else ""
    old_code, new_code = removed.strip(_BLANK), added.strip(_BLANK)
    if not old_code and not new_code and not any(line.strip(_BLANK) for line in _changed(hunk, "+-")):
        return Rule.BLANK_LINES
    if removed_at < 0 or added_at < 0:
        return None
    # A look at the first lines settles most hunks.
    if (not old_code or not new_code or old_code[:1] == new_code[:1]) and _is_layout(hunk, extension):
        return Rule.WHITESPACE
    pattern = _IMPORT_LINES.get(extension)
    if pattern and pattern.match(removed if old_code else added) and _is_import_order(hunk, pattern):
        return Rule.IMPORT_ORDER
    return None


def _changed(hunk: Hunk, signs: str) -> list[str]:
    return [line[1:] for line, sign in zip(hunk.raw_lines, hunk.signs, strict=True) if sign in signs]


def _is_layout(hunk: Hunk, extension: str) -> bool:
    """Compare what stands between two unchanged lines, so that a moved line is not a layout change."""
    # The quick look first: `split` lets more pass than the rule does.
    if not all(_is_same(group, str.split) for group in _groups(hunk)):
        return False
    free = extension in _FREE_INDENTATION and not any(
        mark in line for line in hunk.raw_lines for mark in _LONG_STRINGS
    )
    return all(
        _is_same(group, lambda line: _without_layout(line, extension, free)) for group in _groups(hunk)
    )


def _groups(hunk: Hunk) -> Iterator[tuple[str, ...]]:
    for group in _GROUP.finditer(hunk.signs):
        yield hunk.raw_lines[group.start() : group.end()]


def _is_same(group: tuple[str, ...], read: Callable[[str], object]) -> bool:
    removed = [read(line[1:]) for line in group if line[0] == "-" and line[1:].strip(_BLANK)]
    return removed == [read(line[1:]) for line in group if line[0] == "+" and line[1:].strip(_BLANK)]


def _without_layout(line: str, extension: str, free: bool) -> str:
    bare = line.strip(_BLANK) if free else line.rstrip(" \t") if extension in _FREE_LINE_END else line
    if bare.endswith("\\"):
        # A space after it would undo the continuation of the line.
        return line
    return _RUN.sub(" ", bare) if free and not any(quote in bare for quote in _QUOTES) else bare


def _is_import_order(hunk: Hunk, pattern: re.Pattern[str]) -> bool:
    """Ask for the same imports on both sides, and nothing but imports from the first change to the last."""
    removed, added = (
        sorted(line for line in _changed(hunk, sign) if line.strip(_BLANK)) for sign in ("-", "+")
    )
    if removed != added:
        return False
    signs = hunk.signs.rstrip(" \\")
    between = hunk.raw_lines[len(signs) - len(signs.lstrip(" ")) : len(signs)]
    return all(pattern.match(line[1:]) for line in between if line[1:].strip(_BLANK) and line[0] != "\\")
