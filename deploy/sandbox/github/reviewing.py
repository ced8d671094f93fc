"""Reviews and their comments: create, submit, reply, delete, under GitHub's rules.

Functions check everything before they store anything. Each returns what it stored; telling the webhooks is
the caller's business.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from deploy.sandbox.github.anchors import Anchor, AnchorError, field_errors, find_anchor, sentence
from deploy.sandbox.github.errors import ApiError, invalid, not_found, unprocessable
from deploy.sandbox.github.state import Pull, Repository, Review, ReviewComment, State, User, now

# Seen in error answers; the reference does not name it.
BODY_MAX_CHARACTERS = 65_536
_STATE_OF_EVENT = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}
_TOO_LONG = f"is too long (maximum is {BODY_MAX_CHARACTERS} characters)"
_ONE_PENDING = "User can only have one pending review per pull request"


def create_review(
    state: State,
    repository: Repository,
    pull: Pull,
    user: User,
    wanted: Mapping[str, Any],
    *,
    older_wording: bool,
) -> Review:
    """Store a review with all its comments, or nothing; pending if `event` is missing."""
    event = wanted.get("event") or None
    comments: Sequence[Mapping[str, Any]] = wanted.get("comments") or ()
    body = wanted.get("body") or ""
    _check_event(pull, user, event, body, has_comments=bool(comments))
    if find_pending(pull, user):
        raise unprocessable(_ONE_PENDING)
    commit = known_commit(repository, pull, wanted.get("commit_id"))
    if commit is None:
        raise unprocessable("The commit_id is not part of the pull request")
    if any(len(comment["body"]) > BODY_MAX_CHARACTERS for comment in comments):
        raise unprocessable(f"Pull request review comments body {_TOO_LONG}")
    try:
        anchors = [find_anchor(repository, pull, commit, comment) for comment in comments]
    except AnchorError as refused:
        raise unprocessable(sentence(refused.problem, older_wording=older_wording)) from None
    review = _store_review(state, pull, user, body=body, event=event, commit=commit)
    for comment, anchor in zip(comments, anchors, strict=True):
        _store_comment(state, pull, review, anchor, body=comment["body"], commit=commit)
    return review


def submit_review(pull: Pull, review: Review, wanted: Mapping[str, Any]) -> None:
    """Publish a pending review."""
    if review.state != "PENDING":
        raise unprocessable("Can not submit a review that has already been submitted")
    body = wanted.get("body") or review.body
    has_comments = any(comment.review_id == review.id for comment in pull.review_comments)
    _check_event(pull, review.user, wanted["event"], body, has_comments=has_comments)
    review.body, review.state, review.submitted_at = body, _STATE_OF_EVENT[wanted["event"]], now()


def delete_pending_review(pull: Pull, review: Review) -> None:
    """Drop a pending review and its comments."""
    if review.state != "PENDING":
        raise unprocessable("Can not delete a non-pending pull request review")
    pull.reviews.remove(review)
    pull.review_comments = [comment for comment in pull.review_comments if comment.review_id != review.id]


def dismiss_review(review: Review) -> None:
    """Take back an approval or a request for changes."""
    if review.state not in ("APPROVED", "CHANGES_REQUESTED"):
        raise unprocessable(f"Can not dismiss a {review.state.lower()} pull request review")
    review.state = "DISMISSED"


def create_review_comment(
    state: State, repository: Repository, pull: Pull, user: User, wanted: Mapping[str, Any]
) -> ReviewComment:
    """Store a single comment, inside a review of its own, as POST /comments does."""
    if wanted.get("in_reply_to") is not None:
        return reply(state, pull, user, wanted["in_reply_to"], wanted["body"])
    check_length(wanted["body"], "PullRequestReviewComment")
    _refuse_if_pending(pull, user)
    commit = known_commit(repository, pull, wanted.get("commit_id"))
    if commit is None:
        raise invalid("PullRequestReviewComment", "commit_id", code="invalid")
    try:
        anchor = find_anchor(repository, pull, commit, wanted)
    except AnchorError as refused:
        raise ApiError(422, "Validation Failed", errors=field_errors(refused.problem)) from None
    review = _store_review(state, pull, user, body="", event="COMMENT", commit=commit)
    return _store_comment(state, pull, review, anchor, body=wanted["body"], commit=commit)


def reply(state: State, pull: Pull, user: User, comment_id: int, body: str) -> ReviewComment:
    """Answer in a thread; only its first comment may be named."""
    top = next((comment for comment in pull.review_comments if comment.id == comment_id), None)
    if top is None:
        raise not_found()
    if top.in_reply_to_id is not None:
        raise invalid("PullRequestReviewComment", "in_reply_to", "in_reply_to must be a top-level comment")
    check_length(body, "PullRequestReviewComment")
    _refuse_if_pending(pull, user)
    review = _store_review(state, pull, user, body="", event="COMMENT", commit=pull.head_sha)
    anchor = Anchor(
        path=top.path,
        subject_type=top.subject_type,
        line=top.line,
        side=top.side,
        start_line=top.start_line,
        start_side=top.start_side,
        position=top.position,
        diff_hunk=top.diff_hunk,
    )
    return _store_comment(
        state, pull, review, anchor, body=body, commit=top.original_commit_id, in_reply_to=top.id
    )


def check_length(body: str, resource: str) -> None:
    """Refuse an empty or over-long body."""
    if not body:
        raise invalid(resource, "body", "body can't be blank")
    if len(body) > BODY_MAX_CHARACTERS:
        raise invalid(resource, "body", f"body {_TOO_LONG}")


def find_pending(pull: Pull, user: User) -> Review | None:
    """Find a user's pending review."""
    return next((one for one in pull.reviews if one.user is user and one.state == "PENDING"), None)


def is_visible(pull: Pull, comment: ReviewComment, viewer: User | None) -> bool:
    """Tell whether a viewer may see a comment: those of a pending review only its author."""
    review = next((one for one in pull.reviews if one.id == comment.review_id), None)
    return review is None or review.state != "PENDING" or review.user is viewer


def known_commit(repository: Repository, pull: Pull, commit_id: str | None) -> str | None:
    """Resolve the commit a review names: the head by default, else any commit the pull request ever had."""
    if not commit_id or commit_id == pull.head_sha:
        return pull.head_sha
    sha = repository.git.resolve(commit_id)
    if sha != commit_id or not any(repository.git.is_ancestor(sha, head) for head in pull.known_heads):
        return None
    return None if repository.git.is_ancestor(sha, pull.base_sha) else sha


def _check_event(pull: Pull, user: User, event: str | None, body: str, *, has_comments: bool) -> None:
    if len(body) > BODY_MAX_CHARACTERS:
        raise unprocessable(f"Body {_TOO_LONG}")
    if event in ("APPROVE", "REQUEST_CHANGES") and pull.user is user:
        verb = "approve" if event == "APPROVE" else "request changes on"
        raise unprocessable(f"Can not {verb} your own pull request")
    if not body and (event == "REQUEST_CHANGES" or (event == "COMMENT" and not has_comments)):
        raise unprocessable("Body can't be blank")


def _refuse_if_pending(pull: Pull, user: User) -> None:
    if find_pending(pull, user):
        raise invalid("PullRequestReview", "user_id", f"user_id {_ONE_PENDING.removeprefix('User ')}")


def _store_review(
    state: State, pull: Pull, user: User, *, body: str, event: str | None, commit: str
) -> Review:
    review = Review(
        id=state.next_id(),
        user=user,
        body=body,
        commit_id=commit,
        state=_STATE_OF_EVENT[event] if event else "PENDING",
        submitted_at=now() if event else None,
    )
    pull.reviews.append(review)
    pull.updated_at = now()
    return review


def _store_comment(
    state: State,
    pull: Pull,
    review: Review,
    anchor: Anchor,
    *,
    body: str,
    commit: str,
    in_reply_to: int | None = None,
) -> ReviewComment:
    moment = now()
    comment = ReviewComment(
        id=state.next_id(),
        review_id=review.id,
        number=pull.number,
        user=review.user,
        body=body,
        path=anchor.path,
        subject_type=anchor.subject_type,
        line=anchor.line,
        side=anchor.side,
        start_line=anchor.start_line,
        start_side=anchor.start_side,
        position=anchor.position,
        diff_hunk=anchor.diff_hunk,
        original_commit_id=commit,
        in_reply_to_id=in_reply_to,
        created_at=moment,
        updated_at=moment,
    )
    pull.review_comments.append(comment)
    return comment
