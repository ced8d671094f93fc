"""The sandbox numbers the lines of hunks as GitHub did for real review comments."""

import json

import pytest

from deploy.sandbox.diffs import DiffLine, parse_hunks
from tests.contract.github_spec import MISSING, SPECS, GitHubSpec

pytestmark = pytest.mark.skipif(not GitHubSpec.is_available(), reason=MISSING)

# An example of the documentation: its line is not in its hunk.
IMPOSSIBLE = "payloads/github/pull_request_review_comment.created.3.json"


def test_real_comments_stand_where_the_sandbox_would_put_them() -> None:
    anchors = json.loads((SPECS.parent / "data/github_review_anchors.json").read_text())
    numbered = [one for one in anchors if one["original_line"] and one["src"] != IMPOSSIBLE]
    assert len(numbered) > 15
    for anchor in numbered:
        last = _last_line(anchor["diff_hunk"])
        number = last.old if anchor["side"] == "LEFT" else last.new
        assert number == anchor["original_line"], anchor["src"]


def test_real_positions_count_as_the_sandbox_counts() -> None:
    anchors = json.loads((SPECS.parent / "data/github_review_anchors.json").read_text())
    # Only of a file's first hunk is the position known from the hunk alone.
    first_hunks = [one for one in anchors if one["diff_hunk"].startswith(("@@ -0,", "@@ -1,", "@@ -1 "))]
    assert len(first_hunks) > 15
    for anchor in first_hunks:
        assert _last_line(anchor["diff_hunk"]).position == anchor["original_position"], anchor["src"]


def _last_line(diff_hunk: str) -> DiffLine:
    [hunk] = parse_hunks(diff_hunk.encode())
    return [line for line in hunk.lines if line.sign != "\\"][-1]
