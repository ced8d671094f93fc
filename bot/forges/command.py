"""The one command that people write in comments: `/review`, `/review full`, `@<bot> review`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# ASCII, because by Unicode's rules a dotless i matches "i" and a no-break space is a space.
_SLASH = re.compile(r"/review(?P<full>[ \t]+full)?", re.IGNORECASE | re.ASCII)
_MENTION = re.compile(
    r"@(?P<name>[A-Za-z0-9_.-]+)(\[bot\])?[ \t]+review(?P<full>[ \t]+full)?", re.IGNORECASE | re.ASCII
)
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Somebody asked for a review: of everything if `full`, else of what is new."""

    full: bool


def parse_command(body: str, bot_names: Sequence[str] = ()) -> Command | None:
    """Find the command at the start of a line, outside code fences, quotes and HTML comments.

    A line counts only if it is the command and nothing else: there are no other arguments, so that a comment
    cannot make the bot fetch an address or change a setting.
    """
    names = {name.lower().removesuffix("[bot]") for name in bot_names}
    found = None
    for line in _plain_lines(body):
        text = line.rstrip(" \t\r")
        match = _SLASH.fullmatch(text)
        if match is None:
            match = _MENTION.fullmatch(text)
            if match is None or match["name"].lower() not in names:
                continue
        if match["full"]:
            return Command(full=True)
        found = Command(full=False)
    return found


def _plain_lines(body: str) -> Iterator[str]:
    """Give the lines that people see as text: outside code fences and HTML comments.

    As in CommonMark, a fence that is never closed reaches to the end.
    """
    fence = ""
    in_html_comment = False
    lines = body.split("\n")
    last_html_end = max((number for number, line in enumerate(lines) if "-->" in line), default=-1)
    for number, line in enumerate(lines):
        match = _FENCE.match(line)
        if in_html_comment:
            in_html_comment = "-->" not in line
        elif fence:
            closes = match is not None and match["fence"].startswith(fence) and not match["info"].strip()
            fence = "" if closes else fence
        elif match is not None and not (match["fence"][0] == "`" and "`" in match["info"]):
            fence = match["fence"]
        elif "-->" not in (hidden := line.rpartition("<!--")[2]) and hidden != line:
            # What nobody sees is no command: a copied template may carry one. An opening in the middle of
            # a line that nothing closes is shown as it stands.
            in_html_comment = line.lstrip(" ").startswith("<!--") or last_html_end > number
        else:
            yield line
