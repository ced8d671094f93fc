"""Check that a replacement can stand as a suggestion in place of the lines that it is for."""

import re
from collections.abc import Sequence
from math import gcd

from bot.diff.display import restore_text
from bot.diff.model import Line
from bot.findings import Side

_SHOWN_LINE = re.compile(r"\s*(?:[0-9]+[LR][0-9]+ [-+ ]|```)")


def fit_replacement(replacement: str, lines: Sequence[Line]) -> str | None:
    """Give the replacement with the indentation of the lines it replaces, or None if it cannot be trusted.

    `lines` are those of the place, first to last. Suggestions exist on the new side only, and one that
    changes nothing, or is empty, is none.
    """
    if not lines or not all(line.exists_on(Side.NEW) for line in lines):
        return None
    text = restore_text(replacement).replace("\r\n", "\n").strip("\n")
    if not text.strip() or any(map(_SHOWN_LINE.match, text.split("\n"))):
        return None
    before = [line.text.removesuffix("\r") for line in lines]
    after = _indent_like(before, text.split("\n"), lines[0])
    if after is None or [line.rstrip() for line in after] == [line.rstrip() for line in before]:
        return None
    return "\n".join(after)


def _indent_like(before: list[str], after: list[str], line: Line) -> list[str] | None:
    """Keep indentation that fits, shift code that lost it, convert spaces to tabs and back; else None."""
    old_base, new_base = _base(before), _base(after)
    used = _indentations(after)
    style = _indentations(before) or _indentations([each.text for each in line.hunk.lines])
    same_characters = not used or not style or set("".join(used)) <= set("".join(style))
    if same_characters and (new_base == old_base or _is_reindented(before, after)):
        return after
    if same_characters and not new_base:
        return [old_base + text if text.strip() else "" for text in after]
    if same_characters:
        return None
    return _convert(after, old_base, new_base, _find_step(used), _find_step(style))


def _convert(after: list[str], old_base: str, new_base: str, used: str, step: str) -> list[str] | None:
    """Write the indentation of the code in other steps; None where it is not made of whole ones."""
    if not used or not step:
        return None
    result: list[str] = []
    for text in after:
        indentation = _indentation(text)
        level, rest = divmod(len(indentation) - len(new_base), len(used))
        removed = max(-level, 0) * len(step)
        if text.strip() and (rest or removed > len(old_base)):
            return None
        start = old_base[: len(old_base) - removed] + step * level
        result.append(start + text[len(indentation) :] if text.strip() else "")
    return result


def _find_step(indentations: list[str]) -> str:
    """Find what one level of indentation is; "" if that is not clear."""
    characters = set("".join(indentations))
    if characters == {"\t"}:
        return "\t"
    step = gcd(*(len(each) for each in indentations))
    return " " * step if characters == {" "} and step > 1 else ""


def _is_reindented(before: list[str], after: list[str]) -> bool:
    return [text.strip() for text in before] == [text.strip() for text in after]


def _base(lines: list[str]) -> str:
    return next((_indentation(text) for text in lines if text.strip()), "")


def _indentations(lines: list[str]) -> list[str]:
    return [each for text in lines if text.strip() and (each := _indentation(text))]


def _indentation(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t"))]
