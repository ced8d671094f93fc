"""What people read."""

from datetime import UTC, datetime

import pytest

from bot.events import PullRequestRef
from bot.findings import Category, Finding, Place, Severity, Side
from bot.forges.base import PullRequest
from bot.review import render
from bot.review.result import FileCoverage, FileState, ReviewResult
from bot.timespan import format_duration, parse_timespan

PLACE = Place(old_path="a.py", new_path="a.py", side=Side.NEW, old_line=None, new_line=3)
PULL = PullRequest(
    ref=PullRequestRef(forge="github", repository="acme/shop", number=1),
    title="",
    body="",
    author="ada",
    author_is_bot=False,
    url="https://github.example/acme/shop/pull/1",
    base_ref="main",
    base_sha="b" * 40,
    head_sha="a" * 40,
    is_open=True,
    is_draft=False,
    additions=1,
    deletions=1,
)


def finding(**values: object) -> Finding:
    return Finding(
        **{
            "fingerprint": "f" * 16,
            "path": "a.py",
            "place": PLACE,
            "unplaced": "",
            "code": "x",
            "severity": Severity.HIGH,
            "category": Category.BUG,
            "message": "It crashes on None. The caller passes None when the cache is cold.",
            "replacement": None,
            **values,
        }
    )


def comment(about: Finding, suggestion_info: str | None = "suggestion") -> str:
    return render.inline_comment(about, suggestion_info=suggestion_info, reference="17")


def result(*findings: Finding, states: str = "reviewed", **values: object) -> ReviewResult:
    reasons = {FileState.REVIEWED: ""}
    coverage = tuple(
        FileCoverage(path=f"f{n}.py", state=FileState(state), reason=reasons.get(FileState(state), "because"))
        for n, state in enumerate(states.split())
    )
    return ReviewResult(head_sha="a" * 40, base_sha="b" * 40, findings=findings, coverage=coverage, **values)


@pytest.mark.parametrize(
    ("outcome", "headline"),
    [
        (result(finding(), states="reviewed skipped"), "1 finding (1 high) in 1 of 2 files"),
        (result(finding(severity=Severity.LOW)), "1 finding in 1 of 1 file"),
        (result(), "No issues found in 1 of 1 file"),
        (result(states="reviewed skipped"), "No issues found in 1 of 2 files (1 skipped by rule)"),
        (result(states="reviewed failed"), "Partly reviewed: 1 file could not be read to the end"),
        (result(states="unavailable unavailable"), "Partly reviewed: 2 files could not be read to the end"),
        (
            result(finding(), states="reviewed failed"),
            "1 finding (1 high) in 1 of 2 files; 1 file could not be read to the end",
        ),
        (result(states="skipped"), "Nothing to review: the only file is skipped by rule"),
        (result(states="skipped skipped"), "Nothing to review: all 2 files are skipped by rule"),
        (result(states=""), "Nothing to review: the pull request changes no files"),
    ],
)
def test_the_headline_claims_no_more_than_was_read(outcome: ReviewResult, headline: str) -> None:
    assert render.headline(outcome) == headline


def test_an_incomplete_review_is_neutral_and_findings_are_never_red() -> None:
    assert render.status_done(result(states="reviewed failed")).state == "neutral"
    assert render.status_done(result(finding())).state == "success"


@pytest.mark.parametrize(
    ("message", "claim", "rest"),
    [
        ("It crashes. Here is why.", "It crashes.", "Here is why."),
        ("It crashes", "It crashes", ""),
        ("First line\nsecond line", "First line", "second line"),
        ("Uses os.system with input. Bad.", "Uses os.system with input.", "Bad."),
    ],
)
def test_the_claim_is_the_first_sentence(message: str, claim: str, rest: str) -> None:
    assert render.split_claim(message) == (claim, rest)


def test_a_long_claim_goes_on_in_the_text() -> None:
    words = " ".join(f"word{n}" for n in range(40)) + "."
    claim, rest = render.split_claim(words)
    assert len(claim) <= render.CLAIM_LIMIT + 2
    assert words == f"{claim.removesuffix(' …')} {rest.removeprefix('… ')}"


def test_a_suggestion_that_is_a_quick_action_is_left_out() -> None:
    assert "suggestion" not in comment(finding(replacement="/merge"))
    assert "\n```suggestion\nx = 1\n```\n" in comment(finding(replacement="x = 1"))


def test_a_suggestion_is_written_as_the_forge_calls_it() -> None:
    """Case A11."""
    with_one = finding(replacement="x = 1")
    assert "\n```suggestion:-2+0\nx = 1\n```\n" in comment(with_one, suggestion_info="suggestion:-2+0")
    assert "x = 1" not in comment(with_one, suggestion_info=None)


def test_a_comment_that_is_too_long_keeps_its_text_and_loses_its_suggestion() -> None:
    """Case F10: one comment never costs the review."""
    body = comment(finding(message="Bad. " + "x " * 9000, replacement="y\n" * 9000))
    assert len(body) < render.COMMENT_LIMIT + 300
    assert "suggestion" not in body
    assert body.rstrip().endswith("-->")


def test_a_summary_that_is_too_long_is_cut_and_says_so() -> None:
    """Case J4."""
    many = tuple(
        finding(place=None, unplaced="no", fingerprint=str(n), message="Bad. " * 60) for n in range(400)
    )
    body = render.summary(PULL, result(*many), queue="high", total_ms=1.0)
    assert len(body) < 65_536
    assert "did not fit" in body
    assert body.endswith("<!-- redline:summary=1 -->")


def test_coverage_lists_what_was_not_read_and_counts_the_rest() -> None:
    body = render.summary(PULL, result(states="reviewed reviewed unavailable"), queue="low", total_ms=15_000)
    assert "| `f2.py` | unavailable | because |" in body
    assert "2 other files read to the end." in body
    assert "queue low" in body
    assert "total 15 s" in body


def test_a_failure_says_what_happens_next() -> None:
    later = render.failure_summary("The engine is down.", "17", datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    assert "The next try is at 03:04 UTC." in later
    assert "`/review`" in render.failure_summary("The engine is down.", "17", None)
    assert "reference 17" in later


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0.4, "0 ms"),
        (240, "240 ms"),
        (999.4, "999 ms"),
        (999.6, "1.0 s"),
        (1840, "1.8 s"),
        (15200, "15 s"),
        (125_000, "2 min 5 s"),
    ],
)
def test_durations_are_written_as_people_say_them(milliseconds: float, text: str) -> None:
    assert format_duration(milliseconds) == text


def test_time_spans_are_read_as_people_type_them() -> None:
    assert parse_timespan("24h").total_seconds() == 86400
    assert parse_timespan(" 7D ").days == 7
    with pytest.raises(ValueError, match="write 30m, 24h, 7d or 2w"):
        parse_timespan("yesterday")
