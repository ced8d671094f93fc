"""Draft notes, and how they are published: one after another, and not as one transaction.

https://docs.gitlab.com/api/draft_notes/
"""

from deploy.sandbox.gitlab.core import Core
from deploy.sandbox.gitlab.errors import ApiError, bad_request, not_found, server_error
from deploy.sandbox.gitlab.notes import check_body, create_note, find_thread, resolve
from deploy.sandbox.gitlab.positions import find_place
from deploy.sandbox.gitlab.state import DraftNote, MergeRequest, Place, Position, User


def create_draft(
    core: Core,
    merge_request: MergeRequest,
    user: User,
    body: str,
    *,
    position: Position | None,
    discussion_id: str | None,
    resolve_discussion: bool,
    commit_id: str | None,
) -> DraftNote:
    """Store a draft note; raises ApiError 400."""
    check_body(body)
    if discussion_id and not any(note.discussion_id == discussion_id for note in merge_request.notes):
        raise bad_request("Thread to reply to cannot be found")
    if position and core.options.bad_drafts == "refuse":
        find_place(merge_request, position, core.options.diff_limits)
    draft = DraftNote(
        id=core.state.next_id(),
        user=user,
        body=body,
        discussion_id=discussion_id,
        resolve_discussion=resolve_discussion,
        position=position,
        commit_id=commit_id,
    )
    merge_request.drafts.append(draft)
    return draft


def drafts_of(merge_request: MergeRequest, user: User) -> list[DraftNote]:
    """List a user's draft notes; nobody sees those of another."""
    return [draft for draft in merge_request.drafts if draft.user is user]


def find_draft(merge_request: MergeRequest, user: User, draft_id: int) -> DraftNote:
    """Find a draft note of a user; raises ApiError 404."""
    found = next((draft for draft in drafts_of(merge_request, user) if draft.id == draft_id), None)
    if found is None:
        raise not_found()
    return found


def place_of(core: Core, merge_request: MergeRequest, draft: DraftNote) -> Place | None:
    """Find where a draft note stands, or None if its position is wrong or it has none."""
    if draft.position is None:
        return None
    try:
        return find_place(merge_request, draft.position, core.options.diff_limits)
    except ApiError:
        return None


def publish_all(core: Core, merge_request: MergeRequest, user: User, summary: str | None) -> None:
    """Publish all draft notes of a user, then a summary.

    If that breaks half-way, the notes so far are there, and so are all the drafts.
    """
    drafts = drafts_of(merge_request, user)
    for number, draft in enumerate(drafts):
        if number == core.options.break_publishing_after:
            core.options.break_publishing_after = None
            raise server_error()
        _publish(core, merge_request, draft)
    merge_request.drafts = [draft for draft in merge_request.drafts if draft.user is not user]
    if summary:
        create_note(core, merge_request, user, summary)


def publish_one(core: Core, merge_request: MergeRequest, draft: DraftNote) -> None:
    """Publish one draft note."""
    _publish(core, merge_request, draft)
    merge_request.drafts.remove(draft)


def _publish(core: Core, merge_request: MergeRequest, draft: DraftNote) -> None:
    thread = find_thread(merge_request, draft.discussion_id) if draft.discussion_id else None
    try:
        create_note(
            core,
            merge_request,
            draft.user,
            draft.body,
            kind="DiscussionNote",
            thread=thread,
            position=draft.position,
        )
    except ApiError:
        if core.options.bad_drafts == "vanish":
            return
        raise server_error() from None
    if thread:
        answered = find_thread(merge_request, thread[0].discussion_id)
        resolve(core, merge_request, answered, draft.user, resolved=draft.resolve_discussion)
