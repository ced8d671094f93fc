"""Comments on lines: list, create, reply, edit, delete."""

from flask import Response, jsonify, request

from deploy.sandbox.github import events, reviewing
from deploy.sandbox.github.errors import ApiError, invalid_request, not_found
from deploy.sandbox.github.outdated import find_standing
from deploy.sandbox.github.routes.reviews import check_place
from deploy.sandbox.github.shapes.accounts import Json
from deploy.sandbox.github.shapes.reviews import review_comment_json
from deploy.sandbox.github.state import Pull, Repository, ReviewComment, User, now
from deploy.sandbox.github.web import actor, allow, api_blueprint, body, core, page

blueprint = api_blueprint("review_comments", __name__)


@blueprint.get("/repos/<owner>/<repo>/pulls/<int:pull_number>/comments")
@allow("pull_requests:read")
def list_comments(repository: Repository, pull: Pull) -> Response:
    """List comments on lines, oldest first unless asked otherwise."""
    comments = [one for one in pull.review_comments if reviewing.is_visible(pull, one, actor().user)]
    if request.args.get("direction") == "desc":
        comments.reverse()
    return page(comments, lambda comment: _shape(repository, pull, comment))


@blueprint.post("/repos/<owner>/<repo>/pulls/<int:pull_number>/comments")
@allow("pull_requests:write", creates_content=True)
def create_comment(repository: Repository, pull: Pull) -> tuple[Response, int]:
    """Create one comment; unlike a review it may stand on a whole file."""
    wanted = body("body")
    if wanted.get("in_reply_to") is None:
        wanted = body("body", "commit_id", "path")
        if wanted.get("subject_type", "line") not in ("line", "file"):
            raise invalid_request(f'{wanted["subject_type"]} is not a member of ["line", "file"].')
        if wanted.get("subject_type") != "file" and not wanted.keys() & {"line", "position"}:
            raise invalid_request('No subschema in "oneOf" matched.\n"line" wasn\'t supplied.')
        check_place(wanted)
    comment = reviewing.create_review_comment(core().state, repository, pull, actor().user, wanted)
    return _created(repository, pull, comment), 201


@blueprint.post("/repos/<owner>/<repo>/pulls/<int:pull_number>/comments/<int:comment_id>/replies")
@allow("pull_requests:write", creates_content=True)
def reply(repository: Repository, pull: Pull, comment_id: int) -> tuple[Response, int]:
    """Answer in a thread."""
    comment = reviewing.reply(core().state, pull, actor().user, comment_id, body("body")["body"])
    return _created(repository, pull, comment), 201


@blueprint.get("/repos/<owner>/<repo>/pulls/comments/<int:comment_id>")
@allow("pull_requests:read")
def get_comment(repository: Repository, comment_id: int) -> Response:
    """Show a comment."""
    pull, comment = find_comment(repository, comment_id, actor().user)
    return jsonify(_shape(repository, pull, comment))


@blueprint.patch("/repos/<owner>/<repo>/pulls/comments/<int:comment_id>")
@allow("pull_requests:write")
def edit_comment(repository: Repository, comment_id: int) -> Response:
    """Replace a comment's text."""
    pull, comment = find_comment(repository, comment_id, actor().user)
    _may_change(comment.user)
    wanted = body("body")
    reviewing.check_length(wanted["body"], "PullRequestReviewComment")
    before, comment.body, comment.updated_at = comment.body, wanted["body"], now()
    changes = {"body": {"from": before}}
    events.review_comment(core(), repository, pull, comment, "edited", sender=actor().user, changes=changes)
    return jsonify(_shape(repository, pull, comment))


@blueprint.delete("/repos/<owner>/<repo>/pulls/comments/<int:comment_id>")
@allow("pull_requests:write")
def delete_comment(repository: Repository, comment_id: int) -> tuple[str, int]:
    """Delete a comment."""
    pull, comment = find_comment(repository, comment_id, actor().user)
    _may_change(comment.user)
    pull.review_comments.remove(comment)
    events.review_comment(core(), repository, pull, comment, "deleted", sender=actor().user)
    return "", 204


def find_comment(repository: Repository, comment_id: int, viewer: User) -> tuple[Pull, ReviewComment]:
    """Find a comment on a line and its pull request; raises ApiError 404."""
    for pull in repository.pulls:
        for comment in pull.review_comments:
            if comment.id == comment_id and reviewing.is_visible(pull, comment, viewer):
                return pull, comment
    raise not_found()


def _may_change(author: User) -> None:
    if author is not actor().user and actor().user.permission not in ("write", "admin"):
        raise ApiError(403, "Must have admin rights to Repository.")


def _created(repository: Repository, pull: Pull, comment: ReviewComment) -> Response:
    review = next(review for review in pull.reviews if review.id == comment.review_id)
    events.submitted_review(core(), repository, pull, review)
    return jsonify(_shape(repository, pull, comment))


def _shape(repository: Repository, pull: Pull, comment: ReviewComment) -> Json:
    standing = find_standing(repository, pull, comment)
    return review_comment_json(core().state, repository, pull, comment, standing)
