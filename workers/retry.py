"""Giving a claimed review back to the queue: at once, or for another try later."""

from datetime import datetime, timedelta

from bot.db import claims
from bot.db.claims import ClaimedReview
from workers.resources import Resources

# A retry waits 15 s, then 30 s, 1 min, 2 min ... but never longer than ten minutes.
_FIRST_RETRY_S = 15.0
_LONGEST_RETRY_S = 600.0


def give_back(
    claimed: ClaimedReview, resources: Resources, reason: str, *, drop_result: bool = False
) -> bool:
    """Put the review back into its queue at once, without counting this as a try; False if the claim was lost."""
    given_back = claims.requeue(
        resources.database,
        claimed,
        now=resources.now(),
        reason=reason,
        count_attempt=False,
        drop_result=drop_result,
    )
    if given_back:
        resources.publish(claimed.review_id, claimed.queue)
    return given_back


def retry_later(
    claimed: ClaimedReview, resources: Resources, error: Exception, *, queue: str
) -> datetime | None:
    """Put the review back for another try and give its time, the forge's wish honoured; None if the claim was lost."""
    wanted_s = getattr(error, "retry_after_s", None) or 0.0
    backoff_s = min(_FIRST_RETRY_S * 2 ** (claimed.attempt - 1), _LONGEST_RETRY_S)
    now = resources.now()
    retry_at = now + timedelta(seconds=max(backoff_s, wanted_s))
    given_back = claims.requeue(
        resources.database, claimed, now=now, reason=str(error), not_before=retry_at, queue=queue
    )
    return retry_at if given_back else None
