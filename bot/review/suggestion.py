"""Whether a suggested replacement can be offered for committing with one click: only if it is not plainly broken."""

import ast
import keyword
import re
import textwrap

_IDENTIFIER = re.compile(r"[^\W\d]\w+")
_BRACKETS = {")": "(", "]": "[", "}": "{"}
# A bracket in a string or comment opens nothing; a regular expression is enough to tell for one line.
_LITERAL = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`\n]*`|(?:#|//).*")
_KEYWORDS = frozenset(keyword.kwlist)
_PYTHON = (".py", ".pyi")


def is_plausible(replacement: str, code: str, path: str) -> bool:
    """Tell whether a replacement may stand for the code: it speaks of the same things and keeps the structure.

    It must share a name with the code, open and close the same brackets and blocks, and, in Python, parse
    wherever the code parses. A model that is unsure writes prose there, which would break the file.
    """
    names = set(_IDENTIFIER.findall(code)) - _KEYWORDS
    if names and not names & set(_IDENTIFIER.findall(replacement)):
        return False
    if _open_brackets(replacement) != _open_brackets(code) or _opens_block(replacement) != _opens_block(code):
        return False
    return not path.endswith(_PYTHON) or _parses(replacement) or not _parses(code)


def _open_brackets(code: str) -> str:
    """Give the brackets that a piece of code closes without opening, then those it leaves open."""
    closed = ""
    opened: list[str] = []
    for character in _LITERAL.sub("", code):
        if character in "([{":
            opened.append(character)
        elif character in ")]}":
            if opened and opened[-1] == _BRACKETS[character]:
                opened.pop()
            else:
                closed += character
    return closed + "".join(opened)


def _opens_block(code: str) -> bool:
    last = _LITERAL.sub("", code).rstrip()
    return last.endswith((":", "{"))


def _parses(code: str) -> bool:
    lines = textwrap.dedent(code)
    body = "\n    pass" if _opens_block(lines) else ""
    # A line such as `else:` or `return x` is right only inside of something.
    frames = (
        "{}",
        "def f():\n{}",
        "if x:\n    pass\n{}",
        "try:\n    pass\n{}",
        "for x in y:\n{}",
        "class C:\n{}",
    )
    for frame in frames:
        text = lines + body
        if frame.startswith(("def", "for", "class")):
            text = textwrap.indent(text, "    ")
        try:
            ast.parse(frame.replace("{}", text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return True
    return False
