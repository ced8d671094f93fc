"""Write docs/cases.md, what has gone wrong in review bots and what holds it: `python deploy/setup/cases_table.py`.

A test holds a case if its name begins with the case's number (`test_a7_...`), or its docstring names it.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "cases.md"
# What tests of the sandbox show is true of the sandbox, not of the product.
_NOT_THE_PRODUCT = ROOT / "tests" / "unit" / "sandbox"
# Of the other groups those cases are listed that have tests.
REQUIRED_GROUPS = frozenset("ACDEIJL")

GROUPS = {
    "A": "Where a comment stands",
    "B": "Nothing twice",
    "C": "Large diffs",
    "D": "Kinds of files, and pull requests that are not ready",
    "E": "Encodings and ends of lines",
    "F": "What the model answers",
    "G": "The engine",
    "H": "Time",
    "I": "GitLab on a server of one's own",
    "J": "Permissions and limits",
    "K": "Noise",
    "L": "After a push",
    "M": "Security",
}
CASES = {
    "A1": "A finding names a line that is in no hunk: decided before anything is sent, and listed in the summary",
    "A2": "One comment of many has a place that the forge refuses: the others are not lost with it",
    "A3": "GitLab, unchanged line: both numbers are sent; of a changed line only its own",
    "A4": "GitLab finds no line code for a position: the finding moves to the summary, and is not sent again",
    "A5": "GitLab, new file: no old line is sent",
    "A6": "Renamed and edited file: the old path is the real one, and both paths are sent",
    "A7": "The quoted code stands at several places: the nearest changed one, and none if two are as near",
    "A9": "A number of the old version stays on the old side",
    "A10": "A range of one line is sent as a single line",
    "A11": "GitLab, suggestion for several lines: its offsets are counted from the line of the comment",
    "A14": "A push while the model reads: no comment is posted on the old head",
    "A15": "GitLab takes a note for one on a line only if the position says so in full",
    "A16": "Characters that some take for the end of a line are code: only a newline counts",
    "A17": "Code that looks like a header of the diff is code",
    "A18": "Code that speaks of a missing newline is no marker of one",
    "A19": "A count that a hunk does not state is one",
    "B1": "The same webhook delivered twice",
    "B3": "The same finding again after a push",
    "B4": "A batch that was posted in part before an error",
    "B7": "A pending review of our own stands in the way",
    "B8": "The broker hands a task out twice",
    "B9": "The bot does not answer itself",
    "B10": "A second request for a review makes a second review",
    "C1": "Many files, short context: each is read, or named with the reason",
    "C2": "GitLab collapses files or leaves them out: they are fetched another way, or named as unavailable",
    "C3": "GitLab sends files without their text: that does not mean that nothing changed",
    "C4": "GitHub refuses a large diff: it is put together from the list of files",
    "C6": "Generated files make up nearly all of a diff: left out before anything is counted, and listed",
    "C7": "A long diff makes the model forget the form of its answer: chunks stay short, and a reminder follows",
    "C8": "Deleted code, and deleted files, are read like any other",
    "C9": "Very many files: reviewed in the slow queue, never dropped",
    "C10": "A file larger than the context: cut by hunk, then inside, with its numbers",
    "D2": "Old GitLab: a draft is called work in progress",
    "D4": "GitLab has not made the diff yet: waited for, up to a limit",
    "D5": "Renames, mode changes, binaries, submodules, LFS pointers: listed, and no question asked",
    "D6": "Names that git quotes are read to the byte",
    "E1": "Headers with Windows line ends are read; code keeps its own",
    "E2": "Lines are cut at newlines alone, in a file of any encoding",
    "E4": "A suggestion indented with spaces in a file of tabs: converted, or not offered",
    "E5": "A last line without a newline, on either side or both",
    "F1": "The model fails: a visible failure, never silence",
    "F2": "Prose, broken JSON, nothing: one repair, one more question, then said so",
    "F3": "An answer cut off at its limit: what is complete is kept, the rest asked again",
    "F6": "An answer that cannot be read is not an empty list",
    "F8": "A suggestion that would break the code is not offered",
    "F9": "A suggestion that contains a code fence",
    "F10": "One comment too long for the forge",
    "G1": "Guided decoding that ends in white space without end",
    "G2": "No literal JSON in the prompt",
    "G3": "Engines whose guided decoding is broken or missing",
    "G4": "The prompt is too long: the engine's own numbers say how to cut it",
    "G5": "The context's length comes from the engine",
    "G8": "A base URL with or without /v1",
    "G9": "No tool calls are needed",
    "G10": "Control tokens of chat templates inside a diff are text",
    "G11": "The engine is down, loading, busy, or breaks off",
    "H1": "One deadline over all repeats, after which the engine is free again",
    "H2": "A webhook is answered at once",
    "H3": "The author sees at once that something happens, and always how it ended",
    "I1": "Nested groups in a project's path; a refusal names the scope that is missing",
    "I2": "A job token cannot do it: said so at the start",
    "I3": "A path below the host, a port, plain http, a certificate of one's own; never another address",
    "I4": "Comments stand on lines, not in one long note",
    "J1": "A token that may only read: a clear error, and no repeats",
    "J3": "A rate limit: waited for as long as it says, within bounds; one request for all comments",
    "J4": "A summary too long for the forge is cut",
    "K1": "A finding without a quote is dropped",
    "K2": "Advice without a defect is dropped; a cap on comments",
    "L1": "After a rebase or a forced push the commits decide what is new, not their dates",
    "M1": "Words behind the command change nothing",
    "M2": "Webhooks without a right signature are refused before they are read",
    "M3": "A stranger who asks a hundred times",
    "M4": "A diff that gives the model orders",
    "M6": "No shell, and no tool of the host",
    "M7": "Two repositories at once share no state",
    "M8": "Secrets in a diff",
}

_NUMBERED = re.compile(r"test_((?:[a-m][0-9]{1,2}_)+)")
_NUMBER = re.compile(r"\b[A-M][0-9]{1,2}\b")


@cache
def find_tests() -> Mapping[str, list[str]]:
    """List for each case the tests that hold it, as `path::function`."""
    found: dict[str, list[str]] = {number: [] for number in CASES}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if path.is_relative_to(_NOT_THE_PRODUCT):
            continue
        for function in _functions(path):
            for number in sorted(_numbers(function) & CASES.keys()):
                found[number].append(f"{path.relative_to(ROOT).as_posix()}::{function.name}")
    return found


def render_page() -> str:
    """Write the page as Markdown, a table for each group."""
    tests = find_tests()
    parts = [
        "# Cases\n",
        "What has gone wrong for people who run review bots, what is right, and the tests that hold it. A test carries",
        "the number of its case in its name or docstring. This page is written by `deploy/setup/cases_table.py`.",
    ]
    for letter, title in GROUPS.items():
        rows = [
            f"| {number} | {what} | {'<br>'.join(f'`{test}`' for test in tests[number]) or '**no test**'} |"
            for number, what in CASES.items()
            if number[0] == letter and (tests[number] or letter in REQUIRED_GROUPS)
        ]
        if rows:
            parts += [f"\n## {letter}. {title}\n", "| # | case | tests |", "|---|---|---|", *rows]
    return "\n".join(parts) + "\n"


def _functions(path: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node


def _numbers(function: ast.FunctionDef) -> set[str]:
    named = _NUMBERED.match(function.name)
    numbers = {part.upper() for part in named[1].split("_") if part} if named else set()
    return numbers | set(_NUMBER.findall(ast.get_docstring(function) or ""))


if __name__ == "__main__":
    PAGE.write_text(render_page())
