"""Which findings are worth a person's time."""

from dataclasses import replace

import pytest

from bot.findings import Severity
from bot.review.choose import choose, drop_minor, is_empty_advice, new_findings
from tests.unit.review.test_render import finding


@pytest.mark.parametrize(
    "message",
    [
        "Consider adding a comment here.",
        "You should add unit tests.",
        "Please verify that this is intended.",
        "Ensure that the caller handles None.",
        "Looks good to me, well done.",
        "No issues found.",
        "The findings are found.",
        "This diff is about orders.",
        "  ",
    ],
)
def test_empty_advice_is_recognised(message: str) -> None:
    """Case K2."""
    assert is_empty_advice(message)


@pytest.mark.parametrize(
    "message", ["The check of the owner is gone.", "Nothing closes the file.", "Verifying uses MD5."]
)
def test_claims_are_not(message: str) -> None:
    assert not is_empty_advice(message)


def test_the_most_important_come_first_and_the_rest_goes_to_the_summary() -> None:
    found = [finding(fingerprint=str(n), severity=list(Severity)[n % 3]) for n in range(9)]
    chosen = choose(found, 4)
    assert [each.severity for each in chosen] == sorted(
        (each.severity for each in found), key=lambda s: s.rank
    )
    assert [each.place is None for each in chosen] == [False] * 4 + [True] * 5
    assert "more than 4 comments" in chosen[-1].unplaced


def test_the_same_finding_of_two_chunks_is_kept_once_on_its_line() -> None:
    twice = [finding(place=None, unplaced="?"), finding()]
    assert choose(twice, 10) == (finding(),)


def test_what_stands_already_is_not_new() -> None:
    first, second = finding(fingerprint="a"), finding(fingerprint="b")
    assert new_findings([first, second, replace(first, fingerprint="c", place=None)], {"a"}) == (second,)


def test_what_is_less_severe_than_wanted_is_dropped_and_counted_once() -> None:
    high, medium, low = (finding(fingerprint=each.value, severity=each) for each in Severity)
    assert drop_minor([low, medium, high, low], Severity.MEDIUM) == ((medium, high), 1)
    assert drop_minor([low, high], Severity.LOW) == ((low, high), 0)
