"""Showing a review's end to its author: the mark on the commit is closed, and a failure is explained.

It works from the row alone, so the sweeper can ask for it again whenever the forge was away.
"""

import structlog

from bot.db import findings, lookups, sweeping
from bot.db.lookups import Review
from bot.db.tables import ReviewState
from bot.forges.base import Forge, ForgeError, ForgeUnavailable, Status
from bot.review import render
from bot.review.publish import publish_failure
from bot.review.result import ReviewRequest, ReviewResult
from workers.resources import Resources

log = structlog.get_logger(__name__)


def conclude(review_id: int, resources: Resources) -> None:
    """Show the end of a review on the forge, if it has ended and does not show yet."""
    review = lookups.get_review(resources.database, review_id)
    if review is None or review.finished_at is None or review.told_at is not None:
        return
    try:
        _tell(review, resources)
    except ForgeUnavailable as error:
        log.warning("end not shown yet", review=review_id, error=str(error))
        return
    except ForgeError as error:
        # It would be refused again; the row and the log still tell the admin.
        log.warning("end cannot be shown", review=review_id, error=str(error))
    sweeping.mark_told(resources.database, [review_id], resources.now())


def _tell(review: Review, resources: Resources) -> None:
    forge = resources.forge_of(review.ref.forge)
    if review.state is ReviewState.FAILED:
        _tell_failure(review, forge)
    status = _final_status(review, resources)
    # A review that never set a mark has none to close, but a failure is marked in any case.
    if review.head_sha and (review.status_id or review.state is ReviewState.FAILED):
        forge.set_status(review.ref, review.head_sha, status, review.status_id)


def _tell_failure(review: Review, forge: Forge) -> None:
    reference = str(review.review_id)
    request = ReviewRequest(ref=review.ref, reference=reference)
    publish_failure(request, render.failure_summary(review.reason, reference, None), forge=forge)


def _final_status(review: Review, resources: Resources) -> Status:
    if review.state is ReviewState.DONE and review.result:
        stored = findings.load_findings(resources.database, review.review_id)
        found = tuple(each.finding for each in stored)
        return render.status_done(ReviewResult.from_json(review.result, found))
    if review.state is ReviewState.FAILED:
        return render.status_failed(review.reason)
    return render.status_ended(review.reason)
