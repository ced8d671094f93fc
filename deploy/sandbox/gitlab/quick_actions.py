"""Which lines of a note GitLab takes for commands.

Versions differ in what hides a command from them, so a line counts as one if any version would execute it: what
is safe here is safe everywhere. https://docs.gitlab.com/user/project/quick_actions/
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt

# All that lib/gitlab/quick_actions knows for merge requests, issues and what they have in common.
NAMES = (
    "add_child", "add_contacts", "add_email", "approve", "assign", "assign_reviewer", "award", "blocked_by",
    "blocks", "cc", "child_of", "clear_health_status", "clear_weight", "clone", "close", "confidential",
    "convert_to_ticket", "copy_metadata", "create_merge_request", "done", "draft", "due", "duplicate", "epic",
    "estimate", "estimate_time", "health_status", "invite_email", "iteration", "label", "labels", "link", "lock",
    "merge", "milestone", "move", "page", "parent", "parent_epic", "promote", "promote_to", "promote_to_incident",
    "publish", "react", "ready", "reassign", "reassign_reviewer", "rebase", "relabel", "relate", "remove_child",
    "remove_child_epic", "remove_contacts", "remove_due_date", "remove_email", "remove_epic", "remove_estimate",
    "remove_iteration", "remove_label", "remove_milestone", "remove_parent", "remove_parent_epic",
    "remove_reviewer", "remove_time_spent", "remove_zoom", "reopen", "request_changes", "request_review",
    "reviewer", "set_parent", "severity", "shrug", "ship", "spend", "spend_time", "spent", "submit_review",
    "subscribe", "tableflip", "tag", "target_branch", "timeline", "title", "todo", "type", "unapprove",
    "unassign", "unassign_reviewer", "unlabel", "unlink", "unlock", "unparent", "unrelate", "unsubscribe",
    "weight", "wip", "zoom",
)  # fmt: skip
_COMMAND = (
    rf"^/(?P<name>{'|'.join(sorted(NAMES, key=len, reverse=True))})(?: (?P<argument>[^\n]*))?(?:\s*\n|$)"
)
_HTML_BLOCK = r"^<[^>]+?>\n.+?\n</[^>]+?>$"
_QUOTE = r"^>>>.+?\n>>>$"
_FLAGS = re.MULTILINE | re.DOTALL | re.IGNORECASE
# The first pattern: fences of exactly three backticks, HTML blocks and >>> quotes hide a command.
_BY_PATTERN = re.compile(rf"^```.+?\n```$|{_HTML_BLOCK}|{_QUOTE}|{_COMMAND}", _FLAGS)
# Since Markdown finds the paragraphs, within them inline code and HTML.
_IN_PARAGRAPH = re.compile(rf"`.+?`|{_HTML_BLOCK}|{_COMMAND}", _FLAGS)
_QUOTE_BLOCK = re.compile(_QUOTE, _FLAGS)
_MARKDOWN = MarkdownIt("commonmark")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command and where it stands in the text."""

    name: str
    argument: str
    start: int
    end: int


def extract(text: str) -> tuple[str, list[Command]]:
    """Return what is left of a text without its commands, and the commands in order."""
    text = text.replace("\r", "")
    found = {command.start: command for command in (*_by_markdown(text), *_by_pattern(text))}
    commands = [found[start] for start in sorted(found)]
    left, at = [], 0
    for command in commands:
        left.append(text[at : command.start])
        at = max(command.end, at)
    return "".join([*left, text[at:]]).rstrip(), commands


def _by_pattern(text: str) -> Iterator[Command]:
    return _commands(_BY_PATTERN, text, 0)


def _by_markdown(text: str) -> Iterator[Command]:
    lines = [f"{line}\n" for line in text.split("\n")]
    quotes = [range(*found.span()) for found in _QUOTE_BLOCK.finditer(text)]
    for token in _MARKDOWN.parse(text):
        if token.type != "paragraph_open" or token.level != 0 or not token.map:
            continue
        first, end = token.map
        start = len("".join(lines[:first]))
        if not any(start in quote for quote in quotes):
            yield from _commands(_IN_PARAGRAPH, "".join(lines[first:end]), start)


def _commands(pattern: re.Pattern[str], text: str, offset: int) -> Iterator[Command]:
    for found in pattern.finditer(text):
        if found["name"]:
            yield Command(
                name=found["name"].lower(),
                argument=(found["argument"] or "").strip(),
                start=offset + found.start(),
                end=offset + found.end(),
            )
