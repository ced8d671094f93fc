"""What is said of a review that has read only what is new."""

from dataclasses import replace

import pytest

from bot.findings import Severity
from bot.review import render
from bot.review.incremental import drop_said, find_earlier
from bot.review.result import FileCoverage, FileState, ReviewResult
from tests.unit.review.test_render import PULL, finding, result

SINCE = "5" * 40
UNPLACED = finding(place=None, unplaced="The quoted code is nowhere.", fingerprint="u", path="f0.py")


def incremental(*findings: object, states: str, **values: object) -> ReviewResult:
    """A result whose files are in these states, in short: r(eviewed), b(efore), s(kipped), f(ailed)."""
    names = {"r": "reviewed", "b": "read before", "s": "skipped", "f": "failed"}
    coverage = tuple(
        FileCoverage(path=f"f{number}.py", state=FileState(names[state]), reason="because")
        for number, state in enumerate(states)
    )
    whole = result(*findings, states="")  # type: ignore[arg-type] # they are findings
    return replace(whole, coverage=coverage, since_sha=SINCE, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcome", "earlier", "headline"),
    [
        (incremental(states="rb"), 0, "No new issues in what changed since 5555555"),
        (incremental(states="r"), 2, "No new issues in what changed since 5555555; 2 earlier findings stand"),
        (incremental(states="bs"), 1, "Nothing new to review since 5555555; 1 earlier finding stands"),
        (incremental(states="bf"), 0, "Partly reviewed: 1 file could not be read to the end"),
        (
            incremental(finding(), states="rf"),
            3,
            (
                "1 finding (1 high) in what changed since 5555555; 1 file could not be read to the end; "
                "3 earlier findings stand"
            ),
        ),
        (
            incremental(states="r", below_minimum=2, minimum_severity=Severity.MEDIUM),
            0,
            "No new issues of medium severity or more in what changed since 5555555",
        ),
        (incremental(states=""), 0, "Nothing to review: the pull request changes no files"),
    ],
)
def test_the_headline_claims_only_what_was_read(outcome: ReviewResult, earlier: int, headline: str) -> None:
    assert render.headline(outcome, earlier) == headline


def test_earlier_findings_are_those_beside_a_line_and_those_without_one() -> None:
    body = render.summary(
        PULL, incremental(states="r", earlier=(UNPLACED,)), queue="high", total_ms=1.0, standing=2
    )
    assert "; 3 earlier findings stand**" in body
    assert "Without a line, from earlier reviews:" in body
    assert "The quoted code is nowhere." in body


def test_a_file_that_was_read_before_leaves_a_review_complete() -> None:
    assert incremental(states="rbs").is_complete
    assert not incremental(states="rbf").is_complete


def test_earlier_findings_are_handed_on_while_their_files_are_changed() -> None:
    gone = replace(UNPLACED, fingerprint="g", path="gone.py")
    again = replace(UNPLACED, fingerprint="a")
    older = replace(UNPLACED, fingerprint="o")
    last = incremental(finding(), UNPLACED, gone, again, states="r", earlier=(older,))
    assert find_earlier(last, incremental(states="b").coverage, [again]) == (older, UNPLACED)


def test_what_was_posted_before_is_not_said_again_without_a_line() -> None:
    assert drop_said([finding(), UNPLACED], {"u", finding().fingerprint}) == (finding(),)
    assert drop_said([UNPLACED], {"other"}) == (UNPLACED,)


def test_a_result_is_read_back_as_it_was_stored() -> None:
    stored = incremental(finding(), states="rb", earlier=(UNPLACED,), notes=("A note.",), base_ref="main")
    assert ReviewResult.from_json(stored.to_json(), stored.findings) == stored


def test_a_result_of_before_is_read_too() -> None:
    stored = '{"head_sha":"a","base_sha":"b","findings":[],"coverage":[]}'
    assert ReviewResult.from_json(stored, ()).base_ref == ""
