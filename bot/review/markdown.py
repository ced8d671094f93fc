"""Text of the model made harmless for a forge's Markdown: what the model wrote is data, never markup."""

import re

ZERO_WIDTH_SPACE = "\u200b"

_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_BACKTICKS = re.compile(r"`+")
# A mention or a reference is a sign directly before a word; a zero-width space between them ends its meaning
# and cannot be seen.
_MENTION = re.compile(r"@(?=[A-Za-z0-9_])")
_REFERENCE = re.compile(r"(?<!&)([#!])(?=\d)|(GH)(?=-\d)", re.IGNORECASE)
# GitHub makes links of bare addresses too: https://github.github.com/gfm/#autolinks-extension-
_BARE_LINK = re.compile(r"(https?|ftp|mailto|www)([:.])(?=\S)", re.IGNORECASE)
_INDENTATION = re.compile(r"(?m)^[^\S\n]+")
_QUICK_ACTION = re.compile(r"(?m)^([ \t]*)(?=/)")
_BLOCK = re.compile(r"(?m)^([ \t]*)(?=(?:#|>|[-+*=_~|]|\d+[.)]))")


def defuse(text: str) -> str:
    """Make text show as plain prose with code spans: no mention, HTML, link, image, block or quick action in it.

    Code spans stay, since remarks name identifiers in them, and HTML inside them is shown, not run.
    """
    # Without indentation, since four spaces make a code block.
    text = _INDENTATION.sub("", text.replace("\r", "\n").replace("\x00", ""))
    pieces: list[str] = []
    position = 0
    for span in _CODE_SPAN.finditer(text):
        pieces.append(_defuse_prose(text[position : span.start()]))
        # On one line: a code span ends at a blank line, and what came after would be prose again.
        pieces.append(inline_code(span[2]))
        position = span.end()
    pieces.append(_defuse_prose(text[position:]))
    # Lines starting with "/" are commands on GitLab wherever they stand, so this looks at the whole.
    return _QUICK_ACTION.sub(r"\1" + ZERO_WIDTH_SPACE, "".join(pieces))


def defuse_line(text: str) -> str:
    """Make text harmless and bring it onto one line, for a heading or a table cell."""
    return defuse(" ".join(text.split())).replace("|", "\\|")


def fence(text: str, info: str = "") -> str:
    """Put text in a code block whose fence is longer than any run of backticks inside.

    GitLab looks for quick actions inside fences of four and more backticks too, so a line that starts with
    "/" cannot be made safe here: callers ask `has_quick_action` first.
    """
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"{mark}{info}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{mark}"


def inline_code(text: str) -> str:
    """Show text as a code span on one line, whatever it contains."""
    return _code_span(" ".join(text.split()))


def has_quick_action(text: str) -> bool:
    """Tell whether a line starts with "/", which GitLab could take for a command."""
    return _QUICK_ACTION.search(text) is not None


def _code_span(text: str) -> str:
    if not text.strip():
        return ""
    # A comment inside code shows as text, but readers of raw bodies look for our markers in it.
    text = text.replace("<!--", f"<!{ZERO_WIDTH_SPACE}--")
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    mark = "`" * (longest + 1)
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{mark}{padding}{text}{padding}{mark}"


def _defuse_prose(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = (
        text.replace("`", "\\`")
        .replace("[", "\\[")
        .replace("]", "\\]")
        .replace("*", "\\*")
        .replace("_", "\\_")
    )
    text = _BLOCK.sub(r"\1" + ZERO_WIDTH_SPACE, text)
    text = _MENTION.sub("@" + ZERO_WIDTH_SPACE, text)
    text = _REFERENCE.sub(lambda found: found[0] + ZERO_WIDTH_SPACE, text)
    return _BARE_LINK.sub(r"\1" + ZERO_WIDTH_SPACE + r"\2", text)
