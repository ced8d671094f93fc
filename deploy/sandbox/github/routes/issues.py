"""Issues and the conversation of pull requests, labels included."""

from flask import Response, jsonify, request

from deploy.sandbox.github import events
from deploy.sandbox.github.errors import ApiError, not_found
from deploy.sandbox.github.reviewing import check_length
from deploy.sandbox.github.shapes.pulls import comment_json, issue_json, label_json
from deploy.sandbox.github.state import Comment, Issue, Repository, now
from deploy.sandbox.github.web import actor, allow, api_blueprint, body, core, page

READ = "issues:read|pull_requests:read"
WRITE = "issues:write|pull_requests:write"

blueprint = api_blueprint("issues", __name__)


@blueprint.get("/repos/<owner>/<repo>/issues/<int:issue_number>")
@allow(READ)
def get_issue(repository: Repository, issue_number: int) -> Response:
    """Show an issue; every pull request is one too."""
    return jsonify(issue_json(core().state, repository, find_issue(repository, issue_number)))


@blueprint.get("/repos/<owner>/<repo>/issues/<int:issue_number>/comments")
@allow(READ)
def list_comments(repository: Repository, issue_number: int) -> Response:
    """List the conversation, oldest first."""
    comments = find_issue(repository, issue_number).comments
    return page(comments, lambda comment: comment_json(core().state, repository, comment))


@blueprint.post("/repos/<owner>/<repo>/issues/<int:issue_number>/comments")
@allow(WRITE, creates_content=True)
def create_comment(repository: Repository, issue_number: int) -> tuple[Response, int]:
    """Add to the conversation."""
    issue = find_issue(repository, issue_number)
    text = body("body")["body"]
    check_length(text, "Issue")
    moment = now()
    comment = Comment(
        id=core().state.next_id(),
        number=issue.number,
        user=actor().user,
        app=actor().app,
        body=text,
        created_at=moment,
        updated_at=moment,
    )
    issue.comments.append(comment)
    events.issue_comment(core(), repository, comment, "created", actor().user)
    return jsonify(comment_json(core().state, repository, comment)), 201


@blueprint.get("/repos/<owner>/<repo>/issues/comments/<int:comment_id>")
@allow(READ)
def get_comment(repository: Repository, comment_id: int) -> Response:
    """Show a comment of the conversation."""
    return jsonify(comment_json(core().state, repository, find_comment(repository, comment_id)))


@blueprint.patch("/repos/<owner>/<repo>/issues/comments/<int:comment_id>")
@allow(WRITE)
def edit_comment(repository: Repository, comment_id: int) -> Response:
    """Replace a comment's text."""
    comment = find_comment(repository, comment_id)
    _may_change(comment)
    text = body("body")["body"]
    check_length(text, "Issue")
    before, comment.body, comment.updated_at = comment.body, text, now()
    changes = {"body": {"from": before}}
    events.issue_comment(core(), repository, comment, "edited", actor().user, changes=changes)
    return jsonify(comment_json(core().state, repository, comment))


@blueprint.delete("/repos/<owner>/<repo>/issues/comments/<int:comment_id>")
@allow(WRITE)
def delete_comment(repository: Repository, comment_id: int) -> tuple[str, int]:
    """Delete a comment."""
    comment = find_comment(repository, comment_id)
    _may_change(comment)
    repository.issues[comment.number].comments.remove(comment)
    events.issue_comment(core(), repository, comment, "deleted", actor().user)
    return "", 204


@blueprint.route("/repos/<owner>/<repo>/issues/<int:issue_number>/labels", methods=["GET", "POST"])
@allow(WRITE)
def labels(repository: Repository, issue_number: int) -> Response:
    """List labels, or add some."""
    issue = find_issue(repository, issue_number)
    if request.method == "POST":
        issue.labels += [name for name in body("labels")["labels"] if name not in issue.labels]
    return jsonify([label_json(core().state, repository, name) for name in issue.labels])


def find_issue(repository: Repository, number: int) -> Issue:
    """Find an issue or pull request; raises ApiError 404."""
    if number not in repository.issues:
        raise not_found()
    return repository.issues[number]


def find_comment(repository: Repository, comment_id: int) -> Comment:
    """Find a comment of any conversation; raises ApiError 404."""
    comments = (comment for issue in repository.issues.values() for comment in issue.comments)
    found = next((comment for comment in comments if comment.id == comment_id), None)
    if found is None:
        raise not_found()
    return found


def _may_change(comment: Comment) -> None:
    if comment.user is not actor().user and actor().user.permission not in ("write", "admin"):
        raise ApiError(403, "Must have admin rights to Repository.")
