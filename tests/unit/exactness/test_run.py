"""The exactness run in small, and that what it counts as wrong is counted."""

import json
from dataclasses import fields

import pytest
from click.testing import CliRunner

from deploy.exactness.__main__ import main
from deploy.exactness.forges import FORGES
from deploy.exactness.run import measure
from deploy.exactness.tally import Tally

ANCHORS = 150


@pytest.mark.parametrize("forge", FORGES)
def test_no_comment_is_refused_and_each_stands_under_the_text_that_it_quotes(forge):
    """Cases A1, A3, A6, A7, A9, A10, A16, A17, A18, D6, E2, E5 and I4, as they come; `make exactness` posts 10,000."""
    tally = measure(forge, ANCHORS, seed=20, on_progress=lambda _tally: None)
    assert tally.problems == []
    assert tally.is_exact
    assert tally.posted >= ANCHORS
    assert tally.lines > ANCHORS
    # Every kind of remark that has a place was among them, and the others were declined.
    assert min(tally.ranges, tally.old_side, tally.suggestions, tally.declined.total(), tally.dropped) > 0
    assert len(tally.by_kind) > 10
    assert {"invented", "no line", "no quote"}.isdisjoint(tally.by_kind)


@pytest.mark.parametrize("what", ["refused", "lost", "mismatched", "wrongly_posted", "different"])
def test_a_single_one_of_these_is_too_many(what):
    assert what in {field.name for field in fields(Tally)}
    assert Tally(forge="github").is_exact
    assert not Tally(forge="github", **{what: 1}).is_exact


def test_only_the_first_problems_of_a_kind_are_described():
    tally = Tally(forge="github")
    for number in range(100):
        tally.note("lost", str(number))
    tally.note("mismatched", "another")
    assert tally.problems[0] == "lost: 0"
    assert tally.problems[-1] == "mismatched: another"
    assert len(tally.problems) < 10


def test_the_command_prints_the_figures_and_ends_with_zero():
    result = CliRunner().invoke(main, ["--forge", "github", "--anchors", "5", "--json"])
    assert result.exit_code == 0, result.output
    (figures,) = json.loads(result.stdout)["forges"]
    assert figures["posted"] >= 5
    assert (figures["refused"], figures["mismatched"], figures["exact"]) == (0, 0, True)
