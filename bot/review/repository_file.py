"""`.redline.toml`: how a repository wants to be reviewed.

It is read from the branch that a pull request goes to, never from the pull request itself: a stranger's change
must not decide how it is reviewed. Nothing in it is fatal: what is wrong is told, and the rest applies.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from bot.findings import Severity
from bot.forges.base import FileTooLarge, Forge, ForgeError, ForgeUnavailable, PullRequest
from bot.llm.prompt import MAX_GUIDELINES
from bot.review.result import ReviewOptions
from bot.review.text import storable

T = TypeVar("T")
D = TypeVar("D")

FILE_NAME = ".redline.toml"
MAX_BYTES = 32_000
MAX_GLOBS = 100
MAX_GLOB = 200
MAX_LANGUAGE = 40
_MOST_PROBLEMS = 10
_LONGEST_NAME = 60
_LANGUAGE = re.compile(r"[^\W\d_][\w ()'.-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryFile:
    """What the file asks for; `problems` are sentences about what in it cannot apply."""

    ignore: tuple[str, ...] = ()
    minimum_severity: Severity = Severity.LOW
    maximum_comments: int | None = None
    language: str = ""
    guidelines: str = ""
    problems: tuple[str, ...] = ()

    def apply(self, options: ReviewOptions) -> ReviewOptions:
        """Change the operator's options; the limit on comments can only become lower."""
        most = options.max_comments if self.maximum_comments is None else self.maximum_comments
        return replace(
            options,
            ignore=self.ignore,
            minimum_severity=self.minimum_severity,
            max_comments=min(most, options.max_comments),
            language=self.language or options.language,
            guidelines=self.guidelines,
        )


def read_repository_file(forge: Forge, pull_request: PullRequest) -> RepositoryFile:
    """Read the file at the tip of the target branch; most repositories have none.

    Raises ForgeUnavailable: without the file the review would be another one, so it is better done later.
    """
    try:
        data = forge.get_file(pull_request.ref, FILE_NAME, pull_request.base_ref, max_bytes=MAX_BYTES)
    except ForgeUnavailable:
        raise
    except FileTooLarge:
        return _useless(f"It is larger than {MAX_BYTES:,} bytes, so nothing in it applies.")
    except ForgeError as error:
        return _useless(f"It could not be read: {error}")
    return RepositoryFile() if data is None else parse_repository_file(data)


def parse_repository_file(data: bytes) -> RepositoryFile:
    """Read what is valid and tell what is not."""
    try:
        values = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return _useless("It is not UTF-8, so nothing in it applies.")
    except (ValueError, RecursionError) as error:
        return _useless(f"It is not valid TOML, so nothing in it applies: {error}")
    reading = _Reading(values)
    file = RepositoryFile(
        ignore=reading.globs("ignore"),
        minimum_severity=reading.take("minimum_severity", Severity.LOW, _read_severity),
        maximum_comments=reading.take("maximum_comments", None, _read_count),
        language=reading.take("language", "", _read_language),
        guidelines=reading.take("guidelines", "", _read_text),
    )
    if len(file.guidelines) > MAX_GUIDELINES:
        reading.problems.append(f"`guidelines` is cut: it is longer than {MAX_GUIDELINES:,} characters.")
        file = replace(file, guidelines=file.guidelines[:MAX_GUIDELINES])
    return replace(file, problems=_bound(reading.finish()))


def _useless(problem: str) -> RepositoryFile:
    return RepositoryFile(problems=(" ".join(storable(problem).split()),))


def _bound(problems: list[str]) -> tuple[str, ...]:
    more = len(problems) - _MOST_PROBLEMS
    return tuple(problems) if more <= 0 else (*problems[:_MOST_PROBLEMS], f"There are {more} more problems.")


class _BadValue(Exception):
    """A value cannot apply; the text says what it must be."""


class _Reading:
    """Take values out of the file one by one; what nobody took is unknown."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self.values = dict(values)
        self.known: list[str] = []
        self.problems: list[str] = []

    def take(self, key: str, default: D, read: Callable[[object], T]) -> T | D:
        self.known.append(key)
        if key not in self.values:
            return default
        try:
            return read(self.values.pop(key))
        except _BadValue as error:
            self.problems.append(f"`{key}` does not apply: it must be {error}.")
            return default

    def globs(self, key: str) -> tuple[str, ...]:
        found: list[str] = []
        for value in self.take(key, [], _read_list):
            try:
                found.append(_read_glob(value))
            except _BadValue as error:
                self.problems.append(f"`{key}`: {_show(value)} does not apply: it must be {error}.")
        if len(found) > MAX_GLOBS:
            self.problems.append(f"`{key}` is cut: it has more than {MAX_GLOBS} globs.")
        return tuple(found[:MAX_GLOBS])

    def finish(self) -> list[str]:
        known = ", ".join(f"`{key}`" for key in self.known)
        unknown = [f"{_show(key)} is unknown: the keys are {known}." for key in self.values]
        return self.problems + unknown


def _show(value: object) -> str:
    text = " ".join(storable(str(value)).replace("`", "'").split())
    return f"`{text[:_LONGEST_NAME]}{'…' if len(text) > _LONGEST_NAME else ''}`"


def _read_list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise _BadValue('a list of globs, such as ["docs/", "*.sql"]')
    return value


def _read_glob(value: object) -> str:
    if not isinstance(value, str) or not value.strip("/ ") or value.startswith("!"):
        raise _BadValue("a glob, such as docs/ or *.sql (a glob cannot be taken back with !)")
    if len(value) > MAX_GLOB:
        raise _BadValue(f"of at most {MAX_GLOB} characters")
    return value


def _read_severity(value: object) -> Severity:
    if not isinstance(value, str) or value.strip().lower() not in list(Severity):
        raise _BadValue(f"one of {', '.join(Severity)}")
    return Severity(value.strip().lower())


def _read_count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _BadValue("a whole number from 0 on")
    return value


def _read_language(value: object) -> str:
    language = value.strip() if isinstance(value, str) else ""
    if len(language) > MAX_LANGUAGE or not _LANGUAGE.fullmatch(language):
        raise _BadValue("the name of a language, such as German")
    return language


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise _BadValue("a text")
    return storable(value).strip()
