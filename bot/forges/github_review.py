"""Posting a review on GitHub: one request for all comments, stored as a whole or not at all.

https://docs.github.com/en/rest/pulls/reviews#create-a-review-for-a-pull-request
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from bot.events import PullRequestRef
from bot.findings import Side
from bot.forges.base import ForgeRejected, InlineComment, PlaceRejected
from bot.forges.github_client import Endpoint, GitHubClient, failure, object_in, understood
from bot.forges.github_errors import Reply

_SIDES = {Side.OLD: "LEFT", Side.NEW: "RIGHT"}
# How GitHub words it when a comment stands where it cannot: "Line could not be resolved", "Path could not be
# resolved", "... thread line must be part of the diff", "... start line must precede the end line",
# field pull_request_review_thread.line, "commit_id is not part of the pull request".
_PLACE = re.compile(
    r"\b(start[ _])?line\b|\bpath\b|diff hunk|\bdiff_hunk\b|\bposition\b|\b(start_)?side\b|\bcommit(_id)?\b",
    re.IGNORECASE,
)
_PENDING = "one pending review"


def post_review(
    client: GitHubClient,
    ref: PullRequestRef,
    *,
    own_login: Callable[[], str],
    head_sha: str,
    body: str,
    comments: Sequence[InlineComment],
) -> str:
    """Post the review and return its id.

    A review of our own that was left pending is deleted first if GitHub says that it stands in the way.
    Raises PlaceRejected, AnswerUnclear, or what any request may raise.
    """
    endpoint = _reviews(ref)
    payload = {
        "commit_id": head_sha,
        "event": "COMMENT",
        "body": body,
        "comments": [_comment_of(comment) for comment in comments],
    }
    reply = client.ask(endpoint, "POST", body=payload)
    if reply.status == 422 and _PENDING in reply.text:
        _delete_pending(client, ref, own_login())
        reply = client.ask(endpoint, "POST", body=payload)
    if reply.status == 422 and _is_about_a_place(reply):
        raise PlaceRejected(f"GitHub refused {endpoint.what} for the place of a comment ({reply.text}).")
    if reply.status >= 300:
        raise failure(reply, endpoint, unclear=True)
    answer = object_in(reply, endpoint, unclear=True)
    with understood(endpoint, unclear=True):
        return answer.get_id("id")


def _comment_of(comment: InlineComment) -> dict[str, Any]:
    place = comment.place
    try:
        place.path.encode()
    except UnicodeEncodeError:
        # JSON cannot carry the name, and GitHub would refuse all the other comments with this one.
        raise PlaceRejected(
            f"The file name {place.path!r} is not UTF-8: GitHub takes no comment there."
        ) from None
    fields: dict[str, Any] = {
        "path": place.path,
        "body": comment.body,
        "line": place.line,
        "side": _SIDES[place.side],
    }
    if place.start_line is not None and place.start_line > place.line:
        raise PlaceRejected(f"A comment on {place.path} starts on line {place.start_line}, after it ends.")
    # A range of one line is refused: "start line must precede the end line".
    if place.start_line is not None and place.start_line < place.line:
        fields |= {"start_line": place.start_line, "start_side": _SIDES[place.side]}
    return fields


def _is_about_a_place(reply: Reply) -> bool:
    """Tell by the complaints, whose wording is all there is: GitHub does not say which comment it means."""
    return any(_PLACE.search(complaint) for complaint in reply.complaints or (reply.message,))


def _delete_pending(client: GitHubClient, ref: PullRequestRef, own_login: str) -> None:
    endpoint = _reviews(ref)
    found = 0
    for review in client.read_list(endpoint):
        with understood(endpoint):
            is_ours = review.find_object("user").find_text("login").lower() == own_login.lower()
            if not (is_ours and review.find_text("state") == "PENDING"):
                continue
            review_id = review.get_id("id")
        found += 1
        pending = Endpoint(
            repository=ref.repository,
            path=f"{endpoint.path}/{review_id}",
            what=f"the pending review {review_id} of {ref.repository}#{ref.number}",
            permission=endpoint.permission,
        )
        client.write("DELETE", pending)
    if not found:
        raise ForgeRejected(
            f"GitHub says that {own_login} has a pending review on {ref}, and lists none to delete."
        )


def _reviews(ref: PullRequestRef) -> Endpoint:
    return Endpoint(
        repository=ref.repository,
        path=f"/pulls/{ref.number}/reviews",
        what=f"the review of {ref.repository}#{ref.number}",
        permission="pull requests: write",
    )
