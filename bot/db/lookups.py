"""Looking up reviews: one or many, what a pull request has had, and what its repository runs next."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, Row, case, func, literal_column, select

from bot.db.engine import Database
from bot.db.reviews import is_due, of_pull_request
from bot.db.tables import IS_QUEUED, ReviewState, review
from bot.events import CommentKind, CommentRef, PullRequestRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A review as it is stored."""

    review_id: int
    ref: PullRequestRef
    head_sha: str
    base_sha: str
    trigger: str
    queue: str
    state: ReviewState
    reason: str
    estimated_tokens: int
    requested_by: str
    comment: CommentRef | None
    full: bool
    received_at: datetime
    queued_at: datetime
    published_at: datetime | None
    claimed_at: datetime | None
    finished_at: datetime | None
    told_at: datetime | None
    attempt: int
    not_before: datetime | None
    lease_until: datetime | None
    status_id: str
    result: str | None
    review_ref: str
    summary_ref: str


def get_review(db: Database, review_id: int) -> Review | None:
    """Read one review."""
    with db.reading() as connection:
        row = connection.execute(select(review).where(review.c.id == review_id)).one_or_none()
    return None if row is None else read_review(row)


def list_reviews(
    db: Database,
    *,
    states: Sequence[ReviewState] = (),
    queue: str | None = None,
    forge: str | None = None,
    repository: str | None = None,
    number: int | None = None,
    before_id: int | None = None,
    limit: int = 100,
) -> list[Review]:
    """List reviews, newest first; `before_id` continues after a page."""
    statement = select(review).order_by(review.c.id.desc()).limit(limit)
    if states:
        statement = statement.where(review.c.state.in_(states))
    if before_id is not None:
        statement = statement.where(review.c.id < before_id)
    wanted = {"queue": queue, "forge": forge, "repository": repository, "number": number}
    for name, value in wanted.items():
        if value is not None:
            statement = statement.where(review.c[name] == value)
    with db.reading() as connection:
        return [read_review(row) for row in connection.execute(statement)]


def latest_done_head(db: Database, ref: PullRequestRef, before_review_id: int) -> str | None:
    """Give the head that was reviewed last, not counting this review; None if none was."""
    return _latest(
        db,
        review.c.head_sha,
        of_pull_request(ref),
        review.c.state == ReviewState.DONE,
        review.c.id != before_review_id,
        review.c.head_sha != "",
    )


def latest_summary_ref(db: Database, ref: PullRequestRef) -> str | None:
    """Give the id of the pull request's summary comment, which every run edits; None if there is none yet."""
    return _latest(db, review.c.summary_ref, of_pull_request(ref), review.c.summary_ref != "")


def _latest(db: Database, column: Column[str], *conditions: ColumnElement[bool]) -> str | None:
    statement = select(column).where(*conditions).order_by(review.c.finished_at.desc(), review.c.id.desc())
    with db.reading() as connection:
        return connection.scalar(statement.limit(1))


def count_requested_since(db: Database, ref: PullRequestRef, since: datetime) -> int:
    """Count the reviews that comments asked for and that a worker took on, the running ones included.

    Skipped ones do not count: else a stranger's refused requests would use up what the team may ask for.
    """
    with db.reading() as connection:
        return connection.execute(
            select(func.count())
            .select_from(review)
            .where(
                of_pull_request(ref),
                review.c.comment_id.is_not(None),
                review.c.claimed_at.is_not(None),
                review.c.state != ReviewState.SKIPPED,
                review.c.received_at >= since,
            )
        ).scalar_one()


def next_queued_of_repository(
    db: Database, forge: str, repository: str, now: datetime
) -> tuple[int, str] | None:
    """Give id and queue of the review that the repository should run next, for the worker that just ended one.

    A pull request that has a running review is left out: `claim` would refuse its next one.
    """
    other = review.alias()
    is_busy = (
        select(other.c.id)
        .where(
            # Written out like IS_RUNNING, which is about the row itself.
            other.c.state == literal_column("'running'"),
            other.c.forge == review.c.forge,
            other.c.repository == review.c.repository,
            other.c.number == review.c.number,
        )
        .exists()
    )
    with db.reading() as connection:
        row = connection.execute(
            select(review.c.id, review.c.queue)
            .where(
                IS_QUEUED,
                review.c.forge == forge,
                review.c.repository == repository,
                is_due(now),
                ~is_busy,
            )
            .order_by(case((review.c.queue == "high", 0), else_=1), review.c.received_at, review.c.id)
            .limit(1)
        ).one_or_none()
    return None if row is None else (row.id, row.queue)


def read_review(row: Row[Any]) -> Review:
    """Build a Review of a whole row of the table."""
    values = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's documented name for it
    del values["lease_token"]
    return Review(
        review_id=values.pop("id"),
        ref=PullRequestRef(
            forge=values.pop("forge"), repository=values.pop("repository"), number=values.pop("number")
        ),
        comment=read_comment(values.pop("comment_kind"), values.pop("comment_id")),
        state=ReviewState(values.pop("state")),
        **values,
    )


def read_comment(kind: str | None, comment_id: str | None) -> CommentRef | None:
    """Build the comment that asked for a review, if one did."""
    return None if kind is None or comment_id is None else CommentRef(kind=CommentKind(kind), id=comment_id)
