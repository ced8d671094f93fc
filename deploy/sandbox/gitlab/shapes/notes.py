"""JSON of notes, threads, draft notes and emoji."""

from collections.abc import Sequence

from deploy.sandbox.gitlab.core import Core
from deploy.sandbox.gitlab.shapes.accounts import Json, hook_timestamp, timestamp, user_json
from deploy.sandbox.gitlab.shapes.merge_requests import web_url
from deploy.sandbox.gitlab.state import Award, DraftNote, MergeRequest, Note, Place, Position, State

_POSITION_KEYS = ("base_sha", "start_sha", "head_sha", "old_path", "new_path", "position_type")


def note_json(state: State, merge_request: MergeRequest, note: Note) -> Json:
    """Shape a note."""
    shaped: Json = {
        "id": note.id,
        "type": note.kind,
        "body": note.body,
        "attachment": None,
        "author": user_json(state, note.user),
        "created_at": timestamp(note.created_at),
        "updated_at": timestamp(note.updated_at),
        "system": note.system,
        "noteable_id": merge_request.id,
        "noteable_type": "MergeRequest",
        "project_id": merge_request.project.id,
        "resolvable": note.resolvable,
        "confidential": note.internal,
        "internal": note.internal,
        "imported": False,
        "imported_from": "none",
        "noteable_iid": merge_request.iid,
        "commands_changes": {},
    }
    if note.position:
        shaped |= {"commit_id": None, "position": position_json(note.position)}
    if note.resolvable:
        shaped |= {
            "resolved": note.resolved_at is not None,
            "resolved_by": user_json(state, note.resolved_by) if note.resolved_by else None,
            "resolved_at": timestamp(note.resolved_at),
        }
    if note.kind == "DiffNote":
        shaped["suggestions"] = [
            {
                "id": one.id,
                "from_line": one.from_line,
                "to_line": one.to_line,
                "appliable": True,
                "applied": False,
                "from_content": one.from_content,
                "to_content": one.to_content,
            }
            for one in note.suggestions
        ]
    return shaped


def discussion_json(state: State, merge_request: MergeRequest, notes: Sequence[Note]) -> Json:
    """Shape a thread."""
    return {
        "id": notes[0].discussion_id,
        "individual_note": notes[0].kind is None,
        "notes": [note_json(state, merge_request, note) for note in notes],
    }


def draft_note_json(merge_request: MergeRequest, draft: DraftNote, place: Place | None) -> Json:
    """Shape a draft note."""
    return {
        "id": draft.id,
        "author_id": draft.user.id,
        "merge_request_id": merge_request.id,
        "resolve_discussion": draft.resolve_discussion,
        "discussion_id": draft.discussion_id,
        "note": draft.body,
        "commit_id": draft.commit_id,
        "line_code": place.line_code if place else None,
        "position": position_json(draft.position) if draft.position else None,
    }


def award_json(state: State, award: Award, awardable_id: int) -> Json:
    """Shape an emoji."""
    return {
        "id": award.id,
        "name": award.name,
        "user": user_json(state, award.user),
        "created_at": timestamp(award.created_at),
        "updated_at": timestamp(award.created_at),
        "awardable_id": awardable_id,
        "awardable_type": "Note",
        "url": None,
    }


def position_json(position: Position) -> Json:
    """Shape a position; each kind has its own keys."""
    shaped: Json = {name: position.data.get(name) for name in _POSITION_KEYS}
    if position.kind == "text":
        line_range = position.data.get("line_range")
        shaped |= {
            "old_line": position.old_line,
            "new_line": position.new_line,
            "line_range": dict(line_range) if line_range is not None else None,
        }
    elif position.kind == "image":
        shaped |= {name: position.data.get(name) for name in ("width", "height", "x", "y")}
    return shaped


def hook_note_json(core: Core, merge_request: MergeRequest, note: Note, action: str) -> Json:
    """Shape a note as webhooks do; the action is missing before 16.11."""
    position = position_json(note.position) if note.position else None
    shaped: Json = {
        "attachment": None,
        "author_id": note.user.id,
        "change_position": None,
        "commit_id": None,
        "created_at": hook_timestamp(note.created_at),
        "discussion_id": note.discussion_id,
        "id": note.id,
        "internal": note.internal,
        "line_code": note.place.line_code if note.place else None,
        "note": note.body,
        "noteable_id": merge_request.id,
        "noteable_type": "MergeRequest",
        "original_position": position,
        "position": position,
        "project_id": merge_request.project.id,
        "resolved_at": hook_timestamp(note.resolved_at),
        "resolved_by_id": note.resolved_by.id if note.resolved_by else None,
        "resolved_by_push": None,
        "st_diff": None,
        "system": note.system,
        "type": note.kind,
        "updated_at": hook_timestamp(note.updated_at),
        "updated_by_id": None,
        "description": note.body,
        "url": f"{web_url(core.state, merge_request)}#note_{note.id}",
    }
    return shaped | ({"action": action} if core.options.has(16, 11) else {})
