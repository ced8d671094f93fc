"""Reviews: list, create, submit, dismiss, delete."""

from flask import Response, jsonify

from deploy.sandbox.github import events, reviewing
from deploy.sandbox.github.errors import invalid_request, not_found
from deploy.sandbox.github.outdated import find_standing
from deploy.sandbox.github.shapes.reviews import review_comment_json, review_json
from deploy.sandbox.github.state import Pull, Repository, Review
from deploy.sandbox.github.web import actor, allow, api_blueprint, body, core, page

EVENTS = ("APPROVE", "REQUEST_CHANGES", "COMMENT")

blueprint = api_blueprint("reviews", __name__)


@blueprint.get("/repos/<owner>/<repo>/pulls/<int:pull_number>/reviews")
@allow("pull_requests:read")
def list_reviews(repository: Repository, pull: Pull) -> Response:
    """List reviews, oldest first; pending ones only to their author."""
    shown = [review for review in pull.reviews if review.state != "PENDING" or review.user is actor().user]
    return page(shown, lambda review: review_json(core().state, repository, pull, review))


@blueprint.post("/repos/<owner>/<repo>/pulls/<int:pull_number>/reviews")
@allow("pull_requests:write", creates_content=True)
def create_review(repository: Repository, pull: Pull) -> Response:
    """Create a review with all its comments or not at all."""
    wanted = body()
    event = wanted.get("event")
    if event not in (None, "", *EVENTS):
        raise invalid_request(f"{event} is not a member of {_quoted(EVENTS)}.")
    comments = wanted.get("comments") or []
    for comment in comments:
        if not isinstance(comment, dict) or not {"path", "body"} <= comment.keys():
            raise invalid_request('"path" and "body" weren\'t supplied.')
        unknown = comment.keys() - {"path", "body", "position", "line", "side", "start_line", "start_side"}
        if unknown:
            raise invalid_request(f"{_quoted(sorted(unknown))} are not permitted keys.")
        check_place(comment)
    review = reviewing.create_review(
        core().state, repository, pull, actor().user, wanted, older_wording=core().older_review_errors
    )
    if review.state != "PENDING":
        events.submitted_review(core(), repository, pull, review)
    return _answer(repository, pull, review)


@blueprint.get("/repos/<owner>/<repo>/pulls/<int:pull_number>/reviews/<int:review_id>")
@allow("pull_requests:read")
def get_review(repository: Repository, pull: Pull, review_id: int) -> Response:
    """Show a review."""
    return _answer(repository, pull, _review(pull, review_id))


@blueprint.put("/repos/<owner>/<repo>/pulls/<int:pull_number>/reviews/<int:review_id>")
@allow("pull_requests:write")
def update_review(repository: Repository, pull: Pull, review_id: int) -> Response:
    """Replace a review's body."""
    review = _own_review(pull, review_id)
    wanted = body("body")
    reviewing.check_length(wanted["body"], "PullRequestReview")
    review.body = wanted["body"]
    return _answer(repository, pull, review)


@blueprint.delete("/repos/<owner>/<repo>/pulls/<int:pull_number>/reviews/<int:review_id>")
@allow("pull_requests:write")
def delete_review(repository: Repository, pull: Pull, review_id: int) -> Response:
    """Delete a pending review."""
    review = _own_review(pull, review_id)
    reviewing.delete_pending_review(pull, review)
    return _answer(repository, pull, review)


@blueprint.post("/repos/<owner>/<repo>/pulls/<int:pull_number>/reviews/<int:review_id>/events")
@allow("pull_requests:write", creates_content=True)
def submit_review(repository: Repository, pull: Pull, review_id: int) -> Response:
    """Publish a pending review."""
    review = _own_review(pull, review_id)
    wanted = body("event")
    if wanted["event"] not in EVENTS:
        raise invalid_request(f"{wanted['event']} is not a member of {_quoted(EVENTS)}.")
    reviewing.submit_review(pull, review, wanted)
    events.submitted_review(core(), repository, pull, review)
    return _answer(repository, pull, review)


@blueprint.put("/repos/<owner>/<repo>/pulls/<int:pull_number>/reviews/<int:review_id>/dismissals")
@allow("pull_requests:write")
def dismiss_review(repository: Repository, pull: Pull, review_id: int) -> Response:
    """Dismiss an approval or a request for changes."""
    body("message")
    review = _review(pull, review_id)
    reviewing.dismiss_review(review)
    events.review(core(), repository, pull, review, "dismissed", sender=actor().user)
    return _answer(repository, pull, review)


@blueprint.get("/repos/<owner>/<repo>/pulls/<int:pull_number>/reviews/<int:review_id>/comments")
@allow("pull_requests:read")
def list_comments_of_review(repository: Repository, pull: Pull, review_id: int) -> Response:
    """List the comments that came with a review."""
    _review(pull, review_id)
    comments = [comment for comment in pull.review_comments if comment.review_id == review_id]
    return page(
        comments,
        lambda comment: review_comment_json(
            core().state, repository, pull, comment, find_standing(repository, pull, comment)
        ),
    )


def check_place(comment: dict[str, object]) -> None:
    """Refuse values that do not fit the endpoint's schema, before any rule on the diff is asked."""
    for name in ("line", "start_line", "position"):
        value = comment.get(name, 0)
        if not isinstance(value, int) or isinstance(value, bool):
            raise invalid_request(f"For 'properties/{name}', {value!r} is not an integer.")
    for name in ("side", "start_side"):
        value = comment.get(name, "RIGHT")
        if not isinstance(value, str) or value.upper() not in ("LEFT", "RIGHT"):
            raise invalid_request(f"{value} is not a member of {_quoted(('LEFT', 'RIGHT'))}.")
    if not isinstance(comment["body"], str) or not isinstance(comment["path"], str):
        raise invalid_request("For 'properties/body', the value is not a string.")


def _review(pull: Pull, review_id: int) -> Review:
    review = next((review for review in pull.reviews if review.id == review_id), None)
    if review is None or (review.state == "PENDING" and review.user is not actor().user):
        raise not_found()
    return review


def _own_review(pull: Pull, review_id: int) -> Review:
    review = _review(pull, review_id)
    if review.user is not actor().user:
        raise not_found()
    return review


def _answer(repository: Repository, pull: Pull, review: Review) -> Response:
    return jsonify(review_json(core().state, repository, pull, review))


def _quoted(names: "tuple[str, ...] | list[str]") -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
