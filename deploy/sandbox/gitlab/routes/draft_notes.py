"""Draft notes of merge requests."""

from flask import Response, jsonify

from deploy.sandbox.gitlab import drafts
from deploy.sandbox.gitlab.auth import REPORTER
from deploy.sandbox.gitlab.errors import bad_request, invalid_params
from deploy.sandbox.gitlab.positions import parse_position
from deploy.sandbox.gitlab.routes.notes import no_content
from deploy.sandbox.gitlab.shapes.notes import draft_note_json
from deploy.sandbox.gitlab.state import DraftNote, MergeRequest
from deploy.sandbox.gitlab.web import allow, api_blueprint, core, flag, params, text_param, user

blueprint = api_blueprint("draft_notes", __name__)

_ALL = "/projects/<project_id>/merge_requests/<int:iid>/draft_notes"
_ONE = f"{_ALL}/<int:draft_id>"
_REVIEWER_STATES = ("requested_changes", "reviewed")


@blueprint.get(_ALL)
@allow(REPORTER)
def list_drafts(merge_request: MergeRequest) -> Response:
    """List the sender's own draft notes, all at once: this list has no pages."""
    return jsonify([_shape(merge_request, draft) for draft in drafts.drafts_of(merge_request, user())])


@blueprint.post(_ALL)
@allow(REPORTER)
def create_draft(merge_request: MergeRequest) -> tuple[Response, int]:
    """Add a draft note."""
    given = params("note")
    position = given.get("position")
    draft = drafts.create_draft(
        core(),
        merge_request,
        user(),
        text_param(given, "note"),
        position=parse_position(position, core().options) if position is not None else None,
        discussion_id=given.get("in_reply_to_discussion_id"),
        resolve_discussion=flag(given.get("resolve_discussion")),
        commit_id=given.get("commit_id"),
    )
    return jsonify(_shape(merge_request, draft)), 201


@blueprint.get(_ONE)
@allow(REPORTER)
def get_draft(merge_request: MergeRequest, draft_id: int) -> Response:
    """Show a draft note."""
    return jsonify(_shape(merge_request, drafts.find_draft(merge_request, user(), draft_id)))


@blueprint.put(_ONE)
@allow(REPORTER)
def update_draft(merge_request: MergeRequest, draft_id: int) -> Response:
    """Change a draft note."""
    draft, given = drafts.find_draft(merge_request, user(), draft_id), params()
    if not given.get("note"):
        raise bad_request("Missing params to modify")
    draft.body = text_param(given, "note")
    position = given.get("position")
    draft.position = parse_position(position, core().options) if position is not None else None
    return jsonify(_shape(merge_request, draft))


@blueprint.delete(_ONE)
@allow(REPORTER)
def delete_draft(merge_request: MergeRequest, draft_id: int) -> Response:
    """Delete a draft note."""
    merge_request.drafts.remove(drafts.find_draft(merge_request, user(), draft_id))
    return no_content()


@blueprint.put(f"{_ONE}/publish")
@allow(REPORTER)
def publish_draft(merge_request: MergeRequest, draft_id: int) -> Response:
    """Publish one draft note."""
    drafts.publish_one(core(), merge_request, drafts.find_draft(merge_request, user(), draft_id))
    return no_content()


@blueprint.post(f"{_ALL}/bulk_publish")
@allow(REPORTER)
def publish_drafts(merge_request: MergeRequest) -> Response:
    """Publish all draft notes of the sender; since 19.0 with a summary."""
    given = params()
    if given.get("reviewer_state") not in (None, *_REVIEWER_STATES):
        raise invalid_params("reviewer_state does not have a valid value")
    summary = given.get("note") if core().options.has(19, 0) else None
    drafts.publish_all(core(), merge_request, user(), summary)
    return no_content()


def _shape(merge_request: MergeRequest, draft: DraftNote) -> dict[str, object]:
    return draft_note_json(merge_request, draft, drafts.place_of(core(), merge_request, draft))
