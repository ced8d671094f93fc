"""Handing the place of a review on: a message that found its repository busy was dropped, so a new one is sent."""

from bot.db import handover, lookups
from bot.events import PullRequestRef
from workers.resources import Resources


def publish_next(ref: PullRequestRef, resources: Resources) -> None:
    """Publish the review that the repository should run next, if one waits."""
    following = handover.hand_on(resources.database, ref.forge, ref.repository, resources.now())
    if following:
        resources.publish(*following)


def pass_on(review_id: int, resources: Resources) -> None:
    """Publish the next review in place of one that cannot be taken.

    Two workers that ended at the same time may have passed their places on to the same review.
    """
    review = lookups.get_review(resources.database, review_id)
    if review:
        publish_next(review.ref, resources)
