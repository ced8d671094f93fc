"""From the model's text to findings that have the agreed fields, or to a problem that can be told.

An answer that cannot be read is never an empty list, because that would mean "no issues".
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from bot.findings import Category, Severity
from bot.llm.prompt import WORD_JOINER

# More than any sensible remark has. A comment that is too long would cost the whole review at the forge.
MAX_MESSAGE = 800
MAX_QUOTE = 600
MAX_REPLACEMENT = 2000

_DECODER = json.JSONDecoder(strict=False)  # models write line breaks and tabs into strings as they are
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[\]}])")
_PRINTED_LINE = re.compile(r"([0-9]+[RL][0-9]+)(?: [-+ ]?(.*))?\Z", re.DOTALL)
_LIST_START = re.compile(r'"findings"\s*:\s*\[|\A\s*\[')


@dataclass(frozen=True, slots=True, kw_only=True)
class RawFinding:
    """One finding as the model gave it, in form: nothing in it has been compared with the diff."""

    line: str
    quote: str
    severity: Severity
    category: Category
    message: str
    replacement: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAnswer:
    """What could be read of one answer.

    `complete` is False if the answer broke off, so that there may be more findings than `items`. `malformed`
    counts items without the agreed fields. `problem` is a phrase for an answer that cannot be read at all.
    """

    items: tuple[RawFinding, ...] = ()
    complete: bool = True
    malformed: int = 0
    problem: str | None = None


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=False)

    line: str
    quote: str = ""
    severity: Severity
    category: Category
    message: str
    replacement: str | None = None

    @field_validator("severity", "category", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else value

    @field_validator("line", "message", mode="after")
    @classmethod
    def _must_say_something(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is empty")
        return value.strip()


def parse_answer(text: str, finish_reason: str) -> ParsedAnswer:
    """Read the findings of one answer; `finish_reason` is the engine's own word for how it ended."""
    bare = _drop_thoughts(text).strip()
    if not bare:
        return ParsedAnswer(complete=finish_reason == "stop", problem="the answer is empty")
    document = _decode(bare)
    if document is not None:
        items = _items_of(document)
        if items is None:
            return ParsedAnswer(problem="the answer is JSON, but not a list of findings")
        return _check(items, complete=True)
    start = _LIST_START.search(bare)
    if start is None:
        return ParsedAnswer(complete=finish_reason == "stop", problem="the answer is not JSON")
    salvaged = list(_salvage(bare, start.end()))
    if not salvaged and finish_reason == "stop":
        return ParsedAnswer(problem="the answer is broken JSON")
    return _check(salvaged, complete=False)


def _drop_thoughts(text: str) -> str:
    """Drop reasoning, also where the chat template has already opened it or the budget ended inside it."""
    text = _THOUGHTS.sub("", text)
    if text.lstrip().startswith("<think>"):
        return ""
    before, mark, after = text.partition("</think>")
    # Without an object before it this is reasoning's end; otherwise it is quoted code.
    return after if mark and '"findings"' not in before else text


def _decode(text: str) -> object | None:
    """Decode the document in a text that may have prose or a fence around it, after one repair if need be."""
    for candidate in (text, _TRAILING_COMMA.sub(r"\1", text)):
        for position in _starts(candidate):
            try:
                document, _ = _DECODER.raw_decode(candidate, position)
            except (ValueError, RecursionError):
                continue
            # An empty list inside prose says nothing: only as the whole answer is it "no findings".
            if isinstance(document, dict) or (isinstance(document, list) and (document or position == 0)):
                return document
    return None


def _starts(text: str) -> Iterator[int]:
    """Give the places where the document may begin: at its key, else at the first brace or bracket.

    Only those: inside a broken document a later brace begins a part of it, which is not the whole answer.
    """
    marked = re.search(r'\{\s*"findings"', text)
    if marked:
        yield marked.start()
    first = re.search(r"[{\[]", text)
    if first:
        yield first.start()


def _items_of(document: object) -> list[object] | None:
    if isinstance(document, dict):
        if "findings" not in document:
            return [document] if {"line", "message"} <= document.keys() else None
        document = document["findings"]
        if isinstance(document, dict):
            return [document]
    return document if isinstance(document, list) else None


def _salvage(text: str, position: int) -> Iterator[object]:
    """Give the items of a list that breaks off, up to the last one that is complete."""
    while True:
        position = _skip_blank(text, position)
        try:
            item, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            return
        yield item


def _skip_blank(text: str, position: int) -> int:
    while position < len(text) and text[position] in ", \t\r\n":
        position += 1
    return position


def _check(items: Iterable[object], *, complete: bool) -> ParsedAnswer:
    found: dict[tuple[str, str], RawFinding] = {}
    malformed = 0
    for item in items:
        try:
            checked = _Item.model_validate(item)
        except ValidationError:
            malformed += 1
            continue
        # Small models repeat themselves until their budget is spent.
        found.setdefault((checked.line, checked.message.casefold()), _bound(checked))
    problem = "no finding in the answer has the agreed fields" if malformed and not found else None
    return ParsedAnswer(items=tuple(found.values()), complete=complete, malformed=malformed, problem=problem)


def _bound(item: _Item) -> RawFinding:
    line, quote = _split_line(_plain(item.line), _plain(item.quote))
    replacement = _plain(item.replacement or "")
    if len(replacement) > MAX_REPLACEMENT or replacement.strip() in ("", quote.strip()):
        replacement = ""  # half a replacement would break the code, and an equal one says nothing
    message = _plain(item.message)
    return RawFinding(
        line=line[:40],
        quote=quote[:MAX_QUOTE],
        severity=item.severity,
        category=item.category,
        message=message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 1] + "…",
        replacement=replacement or None,
    )


def _split_line(line: str, quote: str) -> tuple[str, str]:
    """Part a line as it is printed, id, sign and code; some models name the id alone and quote the code beside it."""
    printed = _PRINTED_LINE.match(line)
    if printed is None:
        return line, quote
    return printed[1], quote if quote.strip() else printed[2] or ""


def _plain(text: str) -> str:
    """Take out what the prompt put into special tokens, and what no database or forge stores."""
    return text.replace(WORD_JOINER, "").replace("\0", "").encode(errors="replace").decode()
