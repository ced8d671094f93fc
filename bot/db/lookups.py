"""Looking up reviews: one, many, the last of a pull request, and what that was asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, func, select

from bot.db.engine import Database
from bot.db.reviews import of_pull_request
from bot.db.tables import ReviewState, review
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


def last_finished(db: Database, ref: PullRequestRef, except_id: int) -> Review | None:
    """Read the review of the pull request that was done or failed last, not counting this one; None if none was."""
    statement = (
        select(review)
        .where(
            of_pull_request(ref),
            review.c.state.in_((ReviewState.DONE, ReviewState.FAILED)),
            review.c.id != except_id,
        )
        .order_by(review.c.finished_at.desc(), review.c.id.desc())
        .limit(1)
    )
    with db.reading() as connection:
        row = connection.execute(statement).one_or_none()
    return None if row is None else read_review(row)


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
