"""Emoji reactions on comments and issues."""

from flask import Response, jsonify

from deploy.sandbox.github.errors import invalid_request
from deploy.sandbox.github.routes import issues, review_comments
from deploy.sandbox.github.shapes.pulls import REACTIONS, reaction_json
from deploy.sandbox.github.state import Reaction, Repository, now
from deploy.sandbox.github.web import actor, allow, api_blueprint, body, core, page

blueprint = api_blueprint("reactions", __name__)


@blueprint.get("/repos/<owner>/<repo>/issues/comments/<int:comment_id>/reactions")
@allow(issues.READ)
def list_of_comment(repository: Repository, comment_id: int) -> Response:
    """List reactions to a comment of the conversation."""
    return _list(issues.find_comment(repository, comment_id).reactions)


@blueprint.post("/repos/<owner>/<repo>/issues/comments/<int:comment_id>/reactions")
@allow(issues.WRITE)
def add_to_comment(repository: Repository, comment_id: int) -> tuple[Response, int]:
    """React to a comment of the conversation."""
    return _add(issues.find_comment(repository, comment_id).reactions)


@blueprint.get("/repos/<owner>/<repo>/issues/<int:issue_number>/reactions")
@allow(issues.READ)
def list_of_issue(repository: Repository, issue_number: int) -> Response:
    """List reactions to an issue or pull request."""
    return _list(issues.find_issue(repository, issue_number).reactions)


@blueprint.post("/repos/<owner>/<repo>/issues/<int:issue_number>/reactions")
@allow(issues.WRITE)
def add_to_issue(repository: Repository, issue_number: int) -> tuple[Response, int]:
    """React to an issue or pull request."""
    return _add(issues.find_issue(repository, issue_number).reactions)


@blueprint.get("/repos/<owner>/<repo>/pulls/comments/<int:comment_id>/reactions")
@allow("pull_requests:read")
def list_of_review_comment(repository: Repository, comment_id: int) -> Response:
    """List reactions to a comment on a line."""
    return _list(review_comments.find_comment(repository, comment_id, actor().user)[1].reactions)


@blueprint.post("/repos/<owner>/<repo>/pulls/comments/<int:comment_id>/reactions")
@allow("pull_requests:write")
def add_to_review_comment(repository: Repository, comment_id: int) -> tuple[Response, int]:
    """React to a comment on a line."""
    return _add(review_comments.find_comment(repository, comment_id, actor().user)[1].reactions)


def _list(reactions: list[Reaction]) -> Response:
    return page(reactions, lambda reaction: reaction_json(core().state, reaction))


def _add(reactions: list[Reaction]) -> tuple[Response, int]:
    content = body("content")["content"]
    if content not in REACTIONS:
        raise invalid_request(f"{content} is not a member of {list(REACTIONS)}.")
    for reaction in reactions:
        if reaction.user is actor().user and reaction.content == content:
            return jsonify(reaction_json(core().state, reaction)), 200
    reaction = Reaction(id=core().state.next_id(), user=actor().user, content=content, created_at=now())
    reactions.append(reaction)
    return jsonify(reaction_json(core().state, reaction)), 201
