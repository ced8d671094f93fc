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
        wanted_s = error.retry_after_s or 0.0
        sweeping.postpone_telling(resources.database, [review_id], resources.now(), wanted_s)
        return
    except ForgeError as error:
        # It would be refused again; the row and the log still tell the admin.
        log.warning("end cannot be shown", review=review_id, error=str(error))
    sweeping.mark_told(resources.database, [review_id], resources.now())


def _tell(review: Review, resources: Resources) -> None:
    forge = resources.forge_of(review.ref.forge)
    if review.state is ReviewState.FAILED and _is_newest(review, resources):
        _tell_failure(review, forge)
    status = _final_status(review, resources)
    # One that was called off before it set a mark has none to close. A known base says that a mark was about to
    # be set: it may stand there although its answer was lost.
    has_mark = review.status_id or review.base_sha or review.state in (ReviewState.DONE, ReviewState.FAILED)
    if review.head_sha and has_mark:
        reference = str(review.review_id)
        forge.set_status(review.ref, review.head_sha, status, review.status_id, reference=reference)


def _is_newest(review: Review, resources: Resources) -> bool:
    """Tell whether no later review has, or will have, the summary of the pull request to itself."""
    ref = review.ref
    (newest,) = lookups.list_reviews(
        resources.database, forge=ref.forge, repository=ref.repository, number=ref.number, limit=1
    )
    return newest.review_id == review.review_id


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
