"""What becomes of a note: its rules, its commands, its thread."""

from dataclasses import dataclass, field

from deploy.sandbox.gitlab import acting, events
from deploy.sandbox.gitlab.core import Core
from deploy.sandbox.gitlab.errors import bad_request, forbidden, invalid_note, not_found
from deploy.sandbox.gitlab.positions import find_place
from deploy.sandbox.gitlab.quick_actions import extract
from deploy.sandbox.gitlab.state import MergeRequest, Note, Place, Position, User, now
from deploy.sandbox.gitlab.suggestions import find_suggestions

BODY_MAX_CHARACTERS = 1_000_000
MAINTAINER = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A stored note; or None for a note of commands only, with what they did."""

    note: Note | None
    done: list[str] = field(default_factory=list)


def create_note(
    core: Core,
    merge_request: MergeRequest,
    user: User,
    body: str,
    *,
    kind: str | None = None,
    thread: list[Note] | None = None,
    position: Position | None = None,
    internal: bool = False,
) -> Outcome:
    """Store a note, alone or as the answer in a thread, and execute its commands; raises ApiError 400."""
    check_body(body)
    place = None
    if position:
        place, kind = find_place(merge_request, position, core.options.diff_limits), "DiffNote"
    left, done = _act(core, merge_request, user, body)
    if not left:
        return Outcome(note=None, done=done)
    if thread:
        kind, position, place = _join(thread)
    moment = now()
    note = Note(
        id=core.state.next_id(),
        discussion_id=thread[0].discussion_id if thread else core.state.next_discussion_id(),
        kind=kind,
        user=user,
        body=left,
        created_at=moment,
        updated_at=moment,
        internal=internal,
        position=position,
        place=place,
    )
    if position:
        note.suggestions = find_suggestions(merge_request, position, left, core.state.next_id)
    merge_request.notes.append(note)
    merge_request.updated_at = moment
    events.note(core, merge_request, note, "create", user)
    return Outcome(note=note, done=done)


def edit_note(core: Core, merge_request: MergeRequest, note: Note, user: User, body: str) -> Outcome:
    """Replace a note's text; commands in it are executed too, and one of commands only deletes the note."""
    require_own(note, user)
    check_body(body)
    left, done = _act(core, merge_request, user, body)
    if not left:
        merge_request.notes.remove(note)
        return Outcome(note=None, done=done)
    note.body, note.updated_at = left, now()
    if note.position:
        note.suggestions = find_suggestions(merge_request, note.position, left, core.state.next_id)
    if core.options.has(16, 11):
        events.note(core, merge_request, note, "update", user)
    return Outcome(note=note, done=done)


def delete_note(merge_request: MergeRequest, note: Note, user: User) -> None:
    """Delete a note; raises ApiError 403."""
    require_own(note, user)
    merge_request.notes.remove(note)


def resolve(
    core: Core, merge_request: MergeRequest, notes: list[Note], user: User, *, resolved: bool
) -> None:
    """Resolve or reopen a thread, which sends an update of the merge request without any change in it."""
    if not notes[0].resolvable:
        raise bad_request("Note is not resolvable")
    if user.access_level < acting.DEVELOPER and user is not merge_request.user:
        raise forbidden()
    moment = now()
    for note in notes:
        note.resolved_at, note.resolved_by = (moment, user) if resolved else (None, None)
    events.merge_request(core, merge_request, "update", user)


def threads(merge_request: MergeRequest) -> list[list[Note]]:
    """Group the notes by thread, oldest thread first."""
    grouped: dict[str, list[Note]] = {}
    for note in merge_request.notes:
        grouped.setdefault(note.discussion_id, []).append(note)
    return list(grouped.values())


def find_thread(merge_request: MergeRequest, discussion_id: str) -> list[Note]:
    """Find the notes of a thread; raises ApiError 404."""
    notes = [note for note in merge_request.notes if note.discussion_id == discussion_id]
    if not notes:
        raise not_found("Discussion")
    return notes


def find_note(merge_request: MergeRequest, note_id: int) -> Note:
    """Find a note; raises ApiError 404."""
    found = next((note for note in merge_request.notes if note.id == note_id), None)
    if found is None:
        raise not_found("Note")
    return found


def require_own(note: Note, user: User) -> None:
    """Raise ApiError 403 unless the note is the user's, or the user a maintainer."""
    if note.user is not user and user.access_level < MAINTAINER:
        raise forbidden()


def check_body(body: str) -> None:
    """Refuse an empty or over-long text."""
    if not body.strip():
        raise invalid_note({"note": ["can't be blank"]})
    if len(body) > BODY_MAX_CHARACTERS:
        raise invalid_note({"note": [f"is too long (maximum is {BODY_MAX_CHARACTERS} characters)"]})


def _act(core: Core, merge_request: MergeRequest, user: User, body: str) -> tuple[str, list[str]]:
    left, commands = extract(body)
    done, failed = acting.execute(core, merge_request, user, commands)
    if not left and failed and not done:
        raise bad_request(", ".join(failed))
    return left, done + failed  # carriage returns and white space at the end are gone in any case


def _join(thread: list[Note]) -> tuple[str | None, Position | None, Place | None]:
    """Answer in a thread: the answer stands where its first note does, and a lone note becomes a thread."""
    first = thread[0]
    if first.system:
        raise bad_request("Discussion can not be replied to.")
    first.kind = first.kind or "DiscussionNote"
    return first.kind, first.position, first.place
