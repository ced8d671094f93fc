"""Decide whether a hunk changes anything that a reviewer would read.

A rule must be sure: where white space may carry meaning, the hunk stays. Most hunks are settled by a look at
their first changed lines, so that cleaning costs little beside parsing.
"""

import re
from collections.abc import Callable

from bot.diff.model import Hunk
from bot.diff.rules import Rule

_BLANK = " \t\r"
# Changed lines that are not blank, and whatever stands between two unchanged lines.
_REMOVED_CODE = re.compile(r"\n-([ \t\r]*+[^\n]++)")
_ADDED_CODE = re.compile(r"\n\+([ \t\r]*+[^\n]++)")
_GROUP = re.compile(r"(?:\n[-+\\].*+)++")
# Languages in which the parser of the language ignores indentation.
_FREE_INDENTATION = re.compile(
    "c|h|cc|cpp|cxx|hh|hpp|m|mm|java|kt|kts|groovy|go|rs|cs"
    "|js|jsx|mjs|cjs|ts|tsx|swift|dart|php|css|scss|less|json|proto|sql"
)
# Languages in which indentation has meaning, or may have, but space at the end of a line has not.
_FREE_LINE_END = re.compile("py|pyi|yaml|yml|toml|rb|ex|exs|hs|nim|scala|lua|jl|r|html|vue|xml")
# White space inside these belongs to a value, not to the layout.
_QUOTE = re.compile("['\"`]")
_LONG_STRINGS = ("`", '"""', "'''", "<<", 'r#"', 'R"', '@"')
_RUN = re.compile(r"[ \t]+")
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
    removed = _REMOVED_CODE.search(hunk.body) if hunk.unchanged_count < hunk.old_count else None
    added = _ADDED_CODE.search(hunk.body) if hunk.unchanged_count < hunk.new_count else None
    if removed is None and added is None:
        return Rule.BLANK_LINES
    if removed is None or added is None:
        return None
    # A look at the first lines settles most hunks.
    if removed[1].split() == added[1].split() and _is_layout(hunk, extension):
        return Rule.WHITESPACE
    pattern = _IMPORT_LINES.get(extension)
    if pattern and pattern.match(removed[1]) and _is_import_order(hunk, pattern):
        return Rule.IMPORT_ORDER
    return None


def _is_layout(hunk: Hunk, extension: str) -> bool:
    """Compare what stands between two unchanged lines, so that a moved line is not a layout change."""
    # The quick look first: `split` lets more pass than the rule does.
    if not _is_same(hunk.body, str.split):
        return False
    read = _reader(hunk, extension)
    return all(_is_same(group, read) for group in _GROUP.findall(hunk.body))


def _reader(hunk: Hunk, extension: str) -> Callable[[str], str]:
    """Choose how much white space may be left out of a line, all of it unless it is in a value."""
    if _FREE_INDENTATION.fullmatch(extension) and not any(mark in hunk.body for mark in _LONG_STRINGS):
        return _without_layout
    return _without_end if _FREE_LINE_END.fullmatch(extension) else str


def _is_same(body: str, read: Callable[[str], object]) -> bool:
    removed, added = _REMOVED_CODE.findall(body), _ADDED_CODE.findall(body)
    return len(removed) == len(added) and list(map(read, removed)) == list(map(read, added))


def _without_layout(line: str) -> str:
    bare = line.strip(_BLANK)
    if bare.endswith("\\"):
        # A space after it would undo the continuation of the line.
        return line
    return bare if _QUOTE.search(bare) else _RUN.sub(" ", bare)


def _without_end(line: str) -> str:
    bare = line.rstrip(" \t")
    return line if bare.endswith("\\") else bare


def _is_import_order(hunk: Hunk, pattern: re.Pattern[str]) -> bool:
    """Ask for the same imports on both sides, and nothing but imports from the first change to the last."""
    if sorted(_REMOVED_CODE.findall(hunk.body)) != sorted(_ADDED_CODE.findall(hunk.body)):
        return False
    lines = hunk.raw_lines
    changed = [at for at, line in enumerate(lines) if line[:1] in ("+", "-")]
    between = (line[1:] for line in lines[changed[0] : changed[-1] + 1] if not line.startswith("\\"))
    return all(pattern.match(line) for line in between if line.strip(_BLANK))
