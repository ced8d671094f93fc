"""Findings: stored before they are published, so that a posting error never costs a model run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, bindparam, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from bot.db.claims import ClaimedReview, holds
from bot.db.engine import Database
from bot.db.reviews import of_pull_request
from bot.db.tables import finding, review
from bot.events import PullRequestRef
from bot.findings import Category, Finding, Place, Severity, Side

_KEY = ("review_id", "fingerprint")
_INSERT = {
    "sqlite": sqlite.insert(finding).on_conflict_do_nothing(index_elements=_KEY),
    "postgresql": postgresql.insert(finding).on_conflict_do_nothing(index_elements=_KEY),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFinding:
    """A finding and the forge's id of the comment that shows it; None while it is not posted."""

    finding: Finding
    posted_id: str | None


def save_result(db: Database, claimed: ClaimedReview, result_json: str, findings: Sequence[Finding]) -> bool:
    """Store what the model found and what a summary needs to say; False if the claim was lost.

    Replaces an earlier result, except for findings that are posted already: those stand on the forge. Of two
    findings with the same fingerprint the first is kept.
    """
    with db.transaction() as connection:
        held = connection.execute(update(review).where(holds(claimed)).values(result=result_json)).rowcount
        if not held:
            return False
        connection.execute(
            delete(finding).where(finding.c.review_id == claimed.review_id, finding.c.posted_id.is_(None))
        )
        if findings:
            rows = [_columns(claimed.review_id, ordinal, each) for ordinal, each in enumerate(findings)]
            connection.execute(_INSERT[db.dialect], rows)
    return True


def load_findings(db: Database, review_id: int) -> list[StoredFinding]:
    """Read the findings of a review, in the order in which they were saved."""
    statement = (
        select(finding).where(finding.c.review_id == review_id).order_by(finding.c.ordinal, finding.c.id)
    )
    with db.reading() as connection:
        return [
            StoredFinding(finding=_read_finding(row), posted_id=row.posted_id)
            for row in connection.execute(statement)
        ]


def mark_posted(db: Database, claimed: ClaimedReview, posted_ids: Mapping[str, str], review_ref: str) -> None:
    """Store the comment ids of posted findings, by fingerprint, and the id of the review that carries them.

    Works without the claim too: the comments are there, and must not be posted again by the next review.
    """
    with db.transaction() as connection:
        connection.execute(
            update(review).where(review.c.id == claimed.review_id).values(review_ref=review_ref)
        )
        if posted_ids:
            connection.execute(
                update(finding)
                .where(
                    finding.c.review_id == claimed.review_id,
                    finding.c.fingerprint == bindparam("of_fingerprint"),
                )
                .values(posted_id=bindparam("as_id")),
                [{"of_fingerprint": key, "as_id": posted_id} for key, posted_id in posted_ids.items()],
            )


def posted_fingerprints(db: Database, ref: PullRequestRef) -> set[str]:
    """Give the fingerprints of all findings that were ever posted on the pull request."""
    with db.reading() as connection:
        return set(
            connection.scalars(
                select(finding.c.fingerprint)
                .join(review, review.c.id == finding.c.review_id)
                .where(of_pull_request(ref), finding.c.posted_id.is_not(None))
            )
        )


def _columns(review_id: int, ordinal: int, each: Finding) -> dict[str, Any]:
    place = each.place
    return {
        "review_id": review_id,
        "ordinal": ordinal,
        "fingerprint": each.fingerprint,
        "path": each.path,
        "old_path": place.old_path if place else None,
        "new_path": place.new_path if place else None,
        "side": place.side if place else None,
        "old_line": place.old_line if place else None,
        "new_line": place.new_line if place else None,
        "start_line": place.start_line if place else None,
        "other_line": place.other_line if place else None,
        "other_start_line": place.other_start_line if place else None,
        "start_is_changed": bool(place and place.start_is_changed),
        "unplaced": each.unplaced,
        "code": each.code,
        "severity": each.severity,
        "category": each.category,
        "message": each.message,
        "replacement": each.replacement,
    }


def _read_finding(row: Row[Any]) -> Finding:
    return Finding(
        fingerprint=row.fingerprint,
        path=row.path,
        place=None
        if row.side is None
        else Place(
            old_path=row.old_path,
            new_path=row.new_path,
            side=Side(row.side),
            old_line=row.old_line,
            new_line=row.new_line,
            start_line=row.start_line,
            other_line=row.other_line,
            other_start_line=row.other_start_line,
            start_is_changed=row.start_is_changed,
        ),
        unplaced=row.unplaced,
        code=row.code,
        severity=Severity(row.severity),
        category=Category(row.category),
        message=row.message,
        replacement=row.replacement,
    )
