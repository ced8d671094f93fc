"""The changes that a note offers.

https://docs.gitlab.com/user/project/merge_requests/reviews/suggestions/
"""

import re
from collections.abc import Callable

from markdown_it import MarkdownIt

from deploy.sandbox.gitlab.positions import read_blob
from deploy.sandbox.gitlab.state import MergeRequest, Position, Suggestion

LINES_MAX = 100  # above and below: https://docs.gitlab.com/user/project/merge_requests/reviews/suggestions/
_INFO = re.compile(r"suggestion(?::(?:-(?P<above>\d+))?(?:\+(?P<below>\d+))?)?")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MARKDOWN = MarkdownIt("commonmark")


def span_of(info: str, line: int) -> range | None:
    """Return the lines that a fence's info string replaces around `line`, or None if it is no suggestion.

    More than 100 lines on a side are cut to 100 without a word.
    """
    found = _INFO.fullmatch(info.strip())
    if found is None:
        return None
    above, below = (min(int(found[name] or 0), LINES_MAX) for name in ("above", "below"))
    return range(max(line - above, 1), line + below + 1)


def find_suggestions(
    merge_request: MergeRequest, position: Position, body: str, next_id: Callable[[], int]
) -> tuple[Suggestion, ...]:
    """Read the suggestions of a note; on a removed line there are none."""
    line = position.new_line
    if position.kind != "text" or line is None:
        return ()
    blob = read_blob(merge_request.project.git.path, position.data["head_sha"], position.path)
    lines = _LINE.findall(blob.decode(errors="replace"))
    suggestions = []
    for token in _MARKDOWN.parse(body):
        span = span_of(token.info, line) if token.type == "fence" else None
        if span is not None:
            last = min(span.stop - 1, len(lines))
            suggestions.append(
                Suggestion(
                    id=next_id(),
                    from_line=span.start,
                    to_line=last,
                    from_content="".join(lines[span.start - 1 : last]),
                    to_content=_ended_like(token.content, lines[last - 1]),
                )
            )
    return tuple(suggestions)


def apply_suggestion(blob: bytes, suggestion: Suggestion) -> bytes:
    """Return a file with the suggestion's lines in place of those that it is about."""
    lines = _LINE.findall(blob.decode(errors="surrogateescape"))
    lines[suggestion.from_line - 1 : suggestion.to_line] = [suggestion.to_content]
    return "".join(lines).encode(errors="surrogateescape")


def _ended_like(text: str, last_line: str) -> str:
    """End the new text as the last line that it replaces ends; a blank one deletes the lines."""
    if not text.strip():
        return ""
    ending = last_line[len(last_line.rstrip("\r\n")) :]
    return text.removesuffix("\n") + ending
