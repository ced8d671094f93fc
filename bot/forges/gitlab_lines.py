"""Lines that GitLab counts wrongly.

Reading a diff, GitLab takes a line behind an unchanged one that looks like a file's header for that: `--- add a
column` is a removed comment of SQL. It passes over the line, and its numbers for what is below in the hunk fall
behind, so that a comment there would be refused or stand under another line.
https://gitlab.com/gitlab-org/gitlab/-/blob/master/lib/gitlab/diff/parser.rb
"""

import re

from bot.forges.base import BlindSpot

# An empty line is an unchanged one whose sign was stripped.
_TRAP = re.compile(
    rb"^(?: .*)?\n(?=--- a|--- /dev/null|--- /tmp/diffy|\+\+\+ [ab]|\+\+\+ /dev/null|\+\+\+ /tmp/diffy)",
    re.MULTILINE,
)
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def find_miscounted(path: str, section: bytes) -> tuple[BlindSpot, ...]:
    """Give the lines of a file from each such line on to its hunk's end."""
    if _TRAP.search(section) is None:
        return ()
    spots = []
    hunks = list(_HUNK.finditer(section))
    ends = [hunk.start() for hunk in hunks[1:]] + [len(section)]
    for hunk, end in zip(hunks, ends, strict=True):
        trap = _TRAP.search(section, section.index(b"\n", hunk.start()) + 1, end)
        if trap is None:
            continue
        above = section[section.index(b"\n", hunk.start()) + 1 : trap.end()].split(b"\n")[:-1]
        signs = [line[:1] for line in above]
        old_start, old_count, new_start, new_count = (int(number or 1) for number in hunk.groups())
        added, removed, marks = signs.count(b"+"), signs.count(b"-"), signs.count(b"\\")
        unchanged = len(signs) - added - removed - marks
        spots.append(
            BlindSpot(
                path=path,
                old_lines=range(old_start + unchanged + removed, old_start + old_count),
                new_lines=range(new_start + unchanged + added, new_start + new_count),
            )
        )
    return tuple(spots)
