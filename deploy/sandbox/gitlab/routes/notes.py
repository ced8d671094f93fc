"""Notes, threads and emoji of merge requests."""

from flask import Response, jsonify, request

from deploy.sandbox.gitlab import notes
from deploy.sandbox.gitlab.auth import REPORTER
from deploy.sandbox.gitlab.errors import invalid_note, invalid_params, not_found
from deploy.sandbox.gitlab.notes import Outcome
from deploy.sandbox.gitlab.positions import parse_position
from deploy.sandbox.gitlab.shapes.notes import award_json, discussion_json, note_json
from deploy.sandbox.gitlab.state import Award, MergeRequest, Note, now
from deploy.sandbox.gitlab.web import allow, api_blueprint, core, flag, page, params, text_param, user

blueprint = api_blueprint("notes", __name__)

_ONE = "/projects/<project_id>/merge_requests/<int:iid>"
_NOTE = f"{_ONE}/notes/<int:note_id>"
_THREAD = f"{_ONE}/discussions/<discussion_id>"
_THREAD_NOTE = f"{_THREAD}/notes/<int:note_id>"


@blueprint.get(f"{_ONE}/notes")
@allow(REPORTER, job_token=True)
def list_notes(merge_request: MergeRequest) -> Response:
    """List all notes, those of threads and of the system too; newest first."""
    key = "updated_at" if request.args.get("order_by") == "updated_at" else "created_at"
    newest_first = request.args.get("sort", "desc") == "desc"
    only = {"only_comments": False, "only_activity": True}.get(request.args.get("activity_filter", ""))
    found = [note for note in merge_request.notes if only is None or note.system == only]
    found.sort(key=lambda note: (getattr(note, key), note.id), reverse=newest_first)
    return page(found, lambda note: note_json(core().state, merge_request, note))


@blueprint.post(f"{_ONE}/notes")
@allow(REPORTER)
def create_note(merge_request: MergeRequest) -> tuple[Response, int]:
    """Add a note; one of commands only is answered 202 without an id."""
    core().limits.count_note(user().login)
    given = params("body")
    internal = flag(given.get("internal") or given.get("confidential"))
    return _answer(
        merge_request,
        notes.create_note(core(), merge_request, user(), text_param(given, "body"), internal=internal),
        201,
    )


@blueprint.get(_NOTE)
@allow(REPORTER, job_token=True)
def get_note(merge_request: MergeRequest, note_id: int) -> Response:
    """Show a note."""
    return jsonify(note_json(core().state, merge_request, notes.find_note(merge_request, note_id)))


@blueprint.put(_NOTE)
@allow(REPORTER)
def update_note(merge_request: MergeRequest, note_id: int) -> tuple[Response, int]:
    """Replace a note's text."""
    return _edit(merge_request, notes.find_note(merge_request, note_id), text_param(params("body"), "body"))


@blueprint.delete(_NOTE)
@blueprint.delete(_THREAD_NOTE)
@allow(REPORTER)
def delete_note(merge_request: MergeRequest, note_id: int, discussion_id: str = "") -> Response:
    """Delete a note."""
    notes.delete_note(merge_request, _find(merge_request, discussion_id, note_id), user())
    return no_content()


@blueprint.get(f"{_ONE}/discussions")
@allow(REPORTER)
def list_discussions(merge_request: MergeRequest) -> Response:
    """List threads and lone notes, oldest first."""
    return page(notes.threads(merge_request), lambda one: discussion_json(core().state, merge_request, one))


@blueprint.post(f"{_ONE}/discussions")
@allow(REPORTER)
def create_discussion(merge_request: MergeRequest) -> tuple[Response, int]:
    """Begin a thread, on a line if there is a position."""
    given = params("body")
    position = given.get("position")
    outcome = notes.create_note(
        core(),
        merge_request,
        user(),
        text_param(given, "body"),
        kind="DiscussionNote",
        position=parse_position(position, core().options) if position is not None else None,
    )
    if outcome.note is None:  # unlike /notes, this endpoint has no answer for commands
        raise invalid_note({"commands_only": outcome.done})
    return jsonify(discussion_json(core().state, merge_request, [outcome.note])), 201


@blueprint.get(_THREAD)
@allow(REPORTER)
def get_discussion(merge_request: MergeRequest, discussion_id: str) -> Response:
    """Show a thread."""
    thread = notes.find_thread(merge_request, discussion_id)
    return jsonify(discussion_json(core().state, merge_request, thread))


@blueprint.put(_THREAD)
@allow(REPORTER)
def resolve_discussion(merge_request: MergeRequest, discussion_id: str) -> Response:
    """Resolve or reopen a thread."""
    thread = notes.find_thread(merge_request, discussion_id)
    resolved = flag(params("resolved")["resolved"])
    notes.resolve(core(), merge_request, thread, user(), resolved=resolved)
    return jsonify(discussion_json(core().state, merge_request, thread))


@blueprint.post(f"{_THREAD}/notes")
@allow(REPORTER)
def reply(merge_request: MergeRequest, discussion_id: str) -> tuple[Response, int]:
    """Answer in a thread."""
    thread = notes.find_thread(merge_request, discussion_id)
    body = text_param(params("body"), "body")
    outcome = notes.create_note(core(), merge_request, user(), body, thread=thread)
    if outcome.note is None:
        raise invalid_note({"commands_only": outcome.done})
    return _answer(merge_request, outcome, 201)


@blueprint.get(_THREAD_NOTE)
@allow(REPORTER)
def get_discussion_note(merge_request: MergeRequest, discussion_id: str, note_id: int) -> Response:
    """Show a note of a thread."""
    return jsonify(note_json(core().state, merge_request, _find(merge_request, discussion_id, note_id)))


@blueprint.put(_THREAD_NOTE)
@allow(REPORTER)
def update_discussion_note(
    merge_request: MergeRequest, discussion_id: str, note_id: int
) -> tuple[Response, int]:
    """Replace the text of a note, or resolve it."""
    note, given = _find(merge_request, discussion_id, note_id), params()
    if ("body" in given) == ("resolved" in given):
        problem = (
            "are mutually exclusive" if "body" in given else "are missing, exactly one parameter must be"
        )
        raise invalid_params(f"body, resolved {problem}{'' if 'body' in given else ' provided'}")
    if "body" in given:
        return _edit(merge_request, note, text_param(given, "body"))
    notes.resolve(core(), merge_request, [note], user(), resolved=flag(given["resolved"]))
    return jsonify(note_json(core().state, merge_request, note)), 200


@blueprint.get(f"{_NOTE}/award_emoji")
@allow(REPORTER)
def list_awards(merge_request: MergeRequest, note_id: int) -> Response:
    """List the emoji on a note."""
    note = notes.find_note(merge_request, note_id)
    return page(note.awards, lambda award: award_json(core().state, award, note.id))


@blueprint.post(f"{_NOTE}/award_emoji")
@allow(REPORTER)
def create_award(merge_request: MergeRequest, note_id: int) -> tuple[Response, int]:
    """Put an emoji on a note; a second time it is not found any more."""
    note, name = notes.find_note(merge_request, note_id), text_param(params("name"), "name")
    if any(award.user is user() and award.name == name for award in note.awards):
        raise not_found('Award Emoji {:name=>["has already been taken"]}')
    award = Award(id=core().state.next_id(), user=user(), name=name, created_at=now())
    note.awards.append(award)
    return jsonify(award_json(core().state, award, note.id)), 201


def no_content() -> Response:
    """Answer 204 without a body and without a type, as GitLab does: some clients would parse it else."""
    response = Response(status=204)
    del response.headers["Content-Type"]
    return response


def _edit(merge_request: MergeRequest, note: Note, body: str) -> tuple[Response, int]:
    return _answer(merge_request, notes.edit_note(core(), merge_request, note, user(), body), 200)


def _answer(merge_request: MergeRequest, outcome: Outcome, status: int) -> tuple[Response, int]:
    if outcome.note is None:
        return jsonify({"commands_changes": {}, "summary": outcome.done}), 202
    return jsonify(note_json(core().state, merge_request, outcome.note)), status


def _find(merge_request: MergeRequest, discussion_id: str, note_id: int) -> Note:
    note = notes.find_note(merge_request, note_id)
    if discussion_id and note.discussion_id != discussion_id:
        raise not_found("Note")
    return note
