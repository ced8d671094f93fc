"""Rows for tests, with defaults that mean nothing: a test names only what it is about."""

from datetime import UTC, datetime, timedelta

from bot.db.claims import ClaimedReview, claim
from bot.db.engine import Database
from bot.db.latency import LatencyRecord
from bot.db.lookups import Review, get_review
from bot.db.reviews import TRIGGER_AUTO, Enqueued, NewReview, enqueue
from bot.events import CommentKind, CommentRef, Delivery, PullRequestRef
from bot.findings import Category, Finding, Place, Severity, Side

T0 = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
PR = PullRequestRef(forge="github", repository="team/app", number=7)
OTHER_PR = PullRequestRef(forge="github", repository="team/app", number=8)
HEAD = "a" * 40
NEWER = "b" * 40


def after(seconds: float) -> datetime:
    """Give the time so many seconds after the tests' beginning."""
    return T0 + timedelta(seconds=seconds)


def new_review(
    ref: PullRequestRef = PR,
    head_sha: str = HEAD,
    *,
    trigger: str = TRIGGER_AUTO,
    queue: str = "high",
    comment_id: str | None = None,
    received_at: datetime = T0,
) -> NewReview:
    """Build a review to be queued; with `comment_id` it is one that a comment asked for."""
    comment = CommentRef(kind=CommentKind.CONVERSATION, id=comment_id) if comment_id else None
    return NewReview(
        ref=ref,
        head_sha="" if comment else head_sha,
        trigger=f"comment:{comment_id}" if comment else trigger,
        queue=queue,
        estimated_tokens=1200,
        requested_by="maria" if comment else "",
        comment=comment,
        full=False,
        received_at=received_at,
    )


def queue_review(database: Database, new: NewReview | None = None) -> Enqueued:
    """Queue a review in a transaction of its own."""
    with database.transaction() as connection:
        return enqueue(connection, new or new_review())


def claim_review(
    database: Database, review_id: int, now: datetime = T0, *, lease_s: float = 60
) -> ClaimedReview:
    """Claim a review, which must succeed."""
    claimed = claim(database, review_id, lease_s=lease_s, repository_limit=10, now=now)
    assert isinstance(claimed, ClaimedReview), claimed
    return claimed


def claimed_review(database: Database, new: NewReview | None = None) -> ClaimedReview:
    """Queue a review and claim it."""
    return claim_review(database, queue_review(database, new).review_id)


def read(database: Database, review_id: int) -> Review:
    """Read a review, which must exist."""
    review = get_review(database, review_id)
    assert review is not None
    return review


def new_delivery(guid: str = "guid-1", *, payload: bytes = b"{}", received_at: datetime = T0) -> Delivery:
    """Build a delivery."""
    return Delivery(
        forge="github",
        guid=guid,
        event="pull_request",
        action="opened",
        repository="team/app",
        sender="maria",
        payload=payload,
        request_id="r-1",
        received_at=received_at,
    )


def new_finding(fingerprint: str = "f1", *, line: int | None = 3) -> Finding:
    """Build a finding on an added line, or an unplaced one without `line`."""
    place = Place(old_path="app.py", new_path="app.py", side=Side.NEW, old_line=None, new_line=line)
    return Finding(
        fingerprint=fingerprint,
        path="app.py",
        place=None if line is None else place,
        unplaced="" if line is not None else "The quoted line occurs twice.",
        code="eval(text)",
        severity=Severity.HIGH,
        category=Category.SECURITY,
        message="Input reaches eval.",
        replacement=None,
    )


def latency_record(review_id: int = 1, finished_at: datetime = T0, **values: object) -> LatencyRecord:
    """Build a latency row; `values` replace what matters to the test."""
    defaults: dict[str, object] = {
        "forge": "github",
        "repository": "team/app",
        "number": 7,
        "head_sha": HEAD,
        "trigger": "auto",
        "queue": "high",
        "model": "coder",
        "outcome": "done",
        "received_at": T0,
        "estimated_tokens": 1200,
        "prompt_tokens": 1000,
        "cached_tokens": 400,
        "completion_tokens": 100,
        "files": 3,
        "chunks": 2,
        "llm_calls": 2,
        "cache_hits": 0,
        "truncated": False,
        "findings": 1,
        "posted": 1,
        "wait_ms": 20.0,
        "fetch_ms": 300.0,
        "clean_ms": 4.0,
        "ttft_ms": 150.0,
        "llm_ms": 2000.0,
        "tokens_per_s": 55.5,
        "publish_ms": 400.0,
        "total_ms": 2800.0,
    }
    return LatencyRecord(review_id=review_id, finished_at=finished_at, **(defaults | values))  # type: ignore[arg-type]  # checked by the dataclass' use
