"""Whether a review should happen at all, decided by what the forge says now."""

from contextlib import suppress

from bot.forges.base import Forge, ForgeError, PullRequest
from bot.review.result import ReviewRequest, ReviewSkipped, ReviewSuperseded


def check(request: ReviewRequest, forge: Forge) -> PullRequest:
    """Read the pull request and decide whether to go on.

    Raises ReviewSkipped with the reason for the admin, ReviewSuperseded if the head has moved, and ForgeError.
    """
    # By the permission check alone: what the payload says of an author's association is no authorization.
    if request.comment and not forge.may_ask(request.ref, request.comment, request.requested_by):
        raise ReviewSkipped(f"{request.requested_by} has no write access to {request.ref.repository}")
    pull_request = forge.get_pull_request(request.ref)
    refusal = request.refusal or ("" if pull_request.is_open else "the pull request is closed")
    if request.comment:
        answer = forge.decline if refusal else forge.acknowledge
        # A courtesy: that it failed, or that the comment is gone, must not cost the review.
        with suppress(ForgeError):
            answer(request.ref, request.comment)
    if refusal:
        raise ReviewSkipped(refusal)
    if not request.comment:
        # A person may ask for a draft; nobody asked for this one.
        if pull_request.is_draft:
            raise ReviewSkipped("the pull request is a draft")
        if request.head_sha and pull_request.head_sha != request.head_sha:
            raise ReviewSuperseded(
                f"the head moved to {pull_request.head_sha[:7]}", head_sha=pull_request.head_sha
            )
    return pull_request
