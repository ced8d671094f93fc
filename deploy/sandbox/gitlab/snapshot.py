"""A picture of a merge request for tests to look at."""

from dataclasses import dataclass

from deploy.sandbox.forge import ConversationComment, InlineComment, PullState
from deploy.sandbox.gitlab.standing import is_outdated
from deploy.sandbox.gitlab.state import MergeRequest, Note, Position, Suggestion


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLabInlineComment(InlineComment):
    """A note on a line, file or image; `side` is LEFT for a removed line, else RIGHT.

    `in_reply_to_id` is the first note of its thread, if that is another one.
    """

    discussion_id: str
    old_path: str
    old_line: int | None
    new_line: int | None
    line_code: str | None
    is_resolved: bool
    suggestions: tuple[Suggestion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedAction:
    """A quick action that a note contained."""

    user: str
    name: str
    argument: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLabPullState(PullState):
    """Everything about a merge request; `drafts` are (user, text). There are never any reviews."""

    comments: tuple[GitLabInlineComment, ...]
    drafts: tuple[tuple[str, str], ...]
    quick_actions: tuple[ExecutedAction, ...]
    approved_by: tuple[str, ...]


def snapshot(merge_request: MergeRequest) -> GitLabPullState:
    """Copy what there is to know of a merge request; system notes are left out."""
    project, source = merge_request.project, merge_request.source
    heads = {version.head_sha for version in merge_request.versions}
    notes = [note for note in merge_request.notes if not note.system]
    tops = {note.discussion_id: note.id for note in reversed(merge_request.notes)}
    changes = project.status_changes + (source.status_changes if source and source is not project else [])
    return GitLabPullState(
        title=merge_request.title,
        state=merge_request.state,
        draft=merge_request.draft,
        head_sha=merge_request.head_sha,
        base_sha=merge_request.versions[-1].start_sha,
        comments=tuple(
            _inline(merge_request, note, note.position, tops[note.discussion_id])
            for note in notes
            if note.position is not None
        ),
        reviews=(),
        conversation=tuple(
            ConversationComment(id=note.id, body=note.body, user=note.user.login)
            for note in notes
            if note.position is None
        ),
        reactions={
            note.id: [(award.user.login, award.name) for award in note.awards]
            for note in notes
            if note.awards
        },
        statuses=tuple(change for change in changes if change[0] in heads),
        drafts=tuple((draft.user.login, draft.body) for draft in merge_request.drafts),
        quick_actions=tuple(
            ExecutedAction(user=one.user.login, name=one.name, argument=one.argument)
            for one in merge_request.quick_actions
        ),
        approved_by=tuple(user.login for user in merge_request.approved_by),
    )


def _inline(merge_request: MergeRequest, note: Note, position: Position, top: int) -> GitLabInlineComment:
    line, side = _numbered(position.old_line, position.new_line)
    start = ((position.data.get("line_range") or {}).get("start")) or {}
    start_line, start_side = _numbered(start.get("old_line"), start.get("new_line"))
    is_range = start_line is not None and (start_line, start_side) != (line, side)
    return GitLabInlineComment(
        id=note.id,
        discussion_id=note.discussion_id,
        user=note.user.login,
        path=position.path,
        old_path=position.old_path,
        subject_type="line" if position.kind == "text" else position.kind,
        line=line,
        side=side,
        start_line=start_line if is_range else None,
        start_side=start_side if is_range else None,
        old_line=position.old_line,
        new_line=position.new_line,
        line_code=note.place.line_code if note.place else None,
        body=note.body,
        diff_hunk=note.place.diff_hunk if note.place else "",
        commit_id=position.data["head_sha"],
        in_reply_to_id=top if top != note.id else None,
        is_outdated=is_outdated(merge_request, position),
        is_resolved=note.resolved_at is not None,
        suggestions=note.suggestions,
    )


def _numbered(old_line: int | None, new_line: int | None) -> tuple[int | None, str]:
    """Name a line by one number and a side: an unchanged one by its place in the new file."""
    return (new_line, "RIGHT") if new_line is not None or old_line is None else (old_line, "LEFT")
