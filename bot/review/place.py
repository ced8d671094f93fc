"""From what the model wrote to findings: each is checked against the diff and put on its line, or told why not."""

from collections.abc import Iterable, Iterator, Sequence

from bot.diff.anchor import Unanchored, anchor, lines_at
from bot.diff.chunk import Chunk
from bot.diff.places import fingerprint
from bot.diff.replacement import fit_replacement
from bot.findings import Category, Finding, Place, Severity
from bot.forges.base import BlindSpot
from bot.review.answers import RawFinding
from bot.review.ask import ChunkAnswer
from bot.review.choose import is_empty_advice
from bot.review.secrets import PLACEHOLDER, redact_text
from bot.review.suggestion import is_plausible
from bot.review.text import storable

_REMOVED_SECRET = PLACEHOLDER.decode()


def place_findings(
    answers: Iterable[ChunkAnswer], blind_spots: Sequence[BlindSpot] = ()
) -> tuple[tuple[Finding, ...], int]:
    """Turn all answers into findings; the second value counts remarks that were dropped as unusable.

    Dropped are remarks that quote no code (without evidence there is nothing to check) and empty advice.
    `blind_spots` are where the forge takes no comment.
    """
    findings: list[Finding] = []
    dropped = 0
    for answer in answers:
        dropped += answer.malformed
        for raw in answer.findings:
            if not raw.quote.strip() or is_empty_advice(raw.message):
                dropped += 1
            else:
                findings.append(_place(answer.chunk, raw, blind_spots))
    return tuple(findings), dropped


def _place(chunk: Chunk, raw: RawFinding, blind_spots: Sequence[BlindSpot]) -> Finding:
    place = anchor(chunk.line_ids, raw.line, raw.quote)
    if isinstance(place, Place) and not _is_text(place.old_path + place.new_path):
        place = Unanchored(reason="The file's name is not UTF-8, which the forge cannot be told.")
    elif isinstance(place, Place) and any(spot.hides(place) for spot in blind_spots):
        place = Unanchored(
            reason="The forge does not show this line in its diff, so no comment can stand there."
        )
    category, severity = Category(raw.category), Severity(raw.severity)
    message = storable(redact_text(raw.message))
    if isinstance(place, Unanchored):
        path = _named_path(chunk, raw.line)
        return Finding(
            fingerprint=fingerprint(path, raw.quote, category),
            path=path,
            place=None,
            unplaced=place.reason,
            code=storable(raw.quote),
            severity=severity,
            category=category,
            message=message,
            replacement=None,
        )
    lines = lines_at(chunk.line_ids, place)
    code = storable("\n".join(line.text for line in lines))
    replacement = None
    # A suggestion for a line whose secret was removed would write our placeholder into the file.
    if raw.replacement is not None and _REMOVED_SECRET not in code + raw.replacement:
        replacement = fit_replacement(redact_text(raw.replacement), lines)
        if replacement is not None and not is_plausible(replacement, code, place.path):
            replacement = None
    return Finding(
        fingerprint=fingerprint(place.path, code, category),
        path=place.path,
        place=place,
        unplaced="",
        code=code,
        severity=severity,
        category=category,
        message=message,
        replacement=storable(replacement) if replacement is not None else None,
    )


def _named_path(chunk: Chunk, line_id: str) -> str:
    """Give the path of the file that an id names, even if it names no line of it."""
    number = "".join(_leading_digits(line_id.strip()))
    return next((storable(file.path) for file in chunk.files if str(file.number) == number), "")


def _leading_digits(text: str) -> Iterator[str]:
    for character in text:
        if not character.isdecimal():
            return
        yield character


def _is_text(text: str) -> bool:
    return storable(text) == text
