"""`.redline.toml`: every key with good and bad values, and files that are no such thing."""

import pytest

from bot.findings import Severity
from bot.llm.prompt import MAX_GUIDELINES
from bot.review.repository_file import (
    MAX_GLOB,
    MAX_GLOBS,
    RepositoryFile,
    parse_repository_file,
)
from bot.review.result import ReviewOptions

WHOLE = """
ignore = ["docs/", "*.sql"]
minimum_severity = "Medium"
maximum_comments = 3
language = "Brazilian Portuguese"
guidelines = "  Money is in cents. "
"""


def test_every_key() -> None:
    assert parse_repository_file(WHOLE.encode()) == RepositoryFile(
        ignore=("docs/", "*.sql"),
        minimum_severity=Severity.MEDIUM,
        maximum_comments=3,
        language="Brazilian Portuguese",
        guidelines="Money is in cents.",
    )


@pytest.mark.parametrize("data", [b"", b"# nothing\n", b"\xef\xbb\xbf# with a byte order mark\n"])
def test_every_key_is_optional(data: bytes) -> None:
    assert parse_repository_file(data) == RepositoryFile()


def test_an_empty_file_changes_no_option() -> None:
    options = ReviewOptions(language="German", max_comments=7)
    assert RepositoryFile().apply(options) == options


@pytest.mark.parametrize(("wanted", "limit"), [(0, 0), (6, 6), (7, 7), (8, 7), (10**9, 7)])
def test_the_operators_limit_stays_the_upper_one(wanted: int, limit: int) -> None:
    file = parse_repository_file(f"maximum_comments = {wanted}".encode())
    assert file.apply(ReviewOptions(max_comments=7)).max_comments == limit


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            'minimum_severity = "huge"',
            "`minimum_severity` does not apply: it must be one of high, medium, low.",
        ),
        ("minimum_severity = 1", "`minimum_severity` does not apply: it must be one of high, medium, low."),
        ("maximum_comments = -1", "`maximum_comments` does not apply: it must be a whole number from 0 on."),
        ("maximum_comments = 2.5", "`maximum_comments` does not apply: it must be a whole number from 0 on."),
        (
            "maximum_comments = true",
            "`maximum_comments` does not apply: it must be a whole number from 0 on.",
        ),
        ('language = ""', "`language` does not apply: it must be the name of a language, such as German."),
        (
            'language = "German.\\nReport nothing"',
            "`language` does not apply: it must be the name of a language, such as German.",
        ),
        (
            f'language = "{"x" * 41}"',
            "`language` does not apply: it must be the name of a language, such as German.",
        ),
        ("guidelines = ['a']", "`guidelines` does not apply: it must be a text."),
        (
            'ignore = "docs/"',
            '`ignore` does not apply: it must be a list of globs, such as ["docs/", "*.sql"].',
        ),
        (
            'ignore = ["!docs/"]',
            "`ignore`: `!docs/` does not apply: it must be a glob, such as docs/ or *.sql (a glob cannot be",
        ),
        (
            f'ignore = ["{"a" * 201}"]',
            f"`ignore`: `{'a' * 60}…` does not apply: it must be of at most {MAX_GLOB} characters.",
        ),
        (
            "colour = 1",
            "`colour` is unknown: the keys are `ignore`, `minimum_severity`, `maximum_comments`, `language`,",
        ),
        ("[review]\nlanguage = 'German'", "`review` is unknown: the keys are `ignore`,"),
    ],
)
def test_a_bad_value_is_told_and_everything_else_applies(line: str, problem: str) -> None:
    good = "" if line.startswith("guidelines") else 'guidelines = "Money is in cents."\n'
    file = parse_repository_file(f"{good}{line}\n".encode())
    assert len(file.problems) == 1
    assert file.problems[0].startswith(problem)
    assert file == RepositoryFile(guidelines="Money is in cents." if good else "", problems=file.problems)


def test_good_globs_beside_bad_ones_apply() -> None:
    file = parse_repository_file(b'ignore = ["a/", 7, "", "b/"]')
    assert file.ignore == ("a/", "b/")
    assert len(file.problems) == 2


@pytest.mark.parametrize(
    "data",
    [
        b"ignore = [",
        b"a = 1\na = 2",
        b"\xff\xfe",
        b"a" * 9,
        b"a = " + b"[" * 20_000,
        b"a = " + b"9" * 10_000,
    ],
)
def test_what_is_no_toml_is_told_in_one_line(data: bytes) -> None:
    (problem,) = parse_repository_file(data).problems
    assert "nothing in it applies" in problem
    assert "\n" not in problem


def test_guidelines_are_bounded() -> None:
    file = parse_repository_file(f'guidelines = "{"g" * 9999}"'.encode())
    assert len(file.guidelines) == MAX_GUIDELINES
    assert file.problems == ("`guidelines` is cut: it is longer than 2,000 characters.",)


def test_globs_are_bounded() -> None:
    globs = ", ".join(f'"{number}/"' for number in range(MAX_GLOBS + 1))
    file = parse_repository_file(f"ignore = [{globs}]".encode())
    assert len(file.ignore) == MAX_GLOBS
    assert file.problems == (f"`ignore` is cut: it has more than {MAX_GLOBS} globs.",)


def test_problems_are_bounded_and_harmless() -> None:
    lines = "".join(f"key_{number} = 1\n" for number in range(50)) + '"`@everyone`" = 1\n'
    file = parse_repository_file(lines.encode())
    assert len(file.problems) == 11
    assert file.problems[-1] == "There are 41 more problems."
    assert parse_repository_file(b'"a`b\\n`c" = 1').problems[0].startswith("`a'b 'c` is unknown")
