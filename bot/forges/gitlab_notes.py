"""Notes: what people and we write on a merge request, and the quick actions that must not be in ours.

https://docs.gitlab.com/api/notes/#merge-requests
"""

import re
from collections.abc import Callable

from bot.events import CommentRef, PullRequestRef
from bot.forges.base import ForgeRejected, OwnComments, PostedComment
from bot.forges.gitlab_client import Endpoint, GitLabClient, failure, object_in, understood
from bot.forges.payload import Fields

# https://docs.gitlab.com/api/access_requests/#valid-access-levels
DEVELOPER = 30

_ZERO_WIDTH_SPACE = "\u200b"
_COMMAND = re.compile(r"(^|[\n\r])(?=/)")


def harmless(body: str) -> str:
    """Break every line that could be a quick action: GitLab would do it, with our rights, and drop the line.

    Also inside code: a fence of four backticks, or one that is never closed, does not hide a command.
    https://docs.gitlab.com/user/project/quick_actions/
    """
    return _COMMAND.sub(rf"\1{_ZERO_WIDTH_SPACE}", body)


def merge_request_of(ref: PullRequestRef) -> Endpoint:
    """Name a merge request's address."""
    return Endpoint(
        project=ref.repository,
        path=f"/merge_requests/{ref.number}",
        what=f"{ref.repository}!{ref.number}",
    )


def notes_of(ref: PullRequestRef) -> Endpoint:
    """Name the address of a merge request's notes."""
    return merge_request_of(ref).below("/notes", f"the notes of {ref.repository}!{ref.number}", "Developer")


def note_of(ref: PullRequestRef, note_id: str) -> Endpoint:
    """Name one note's address; raises ForgeRejected for an id that is none."""
    if not (note_id.isascii() and note_id.isdigit()):
        raise ForgeRejected(f"{note_id!r} is not the id of a note on {ref.repository}!{ref.number}.")
    return notes_of(ref).below(f"/{note_id}", f"the note {note_id} on {ref.repository}!{ref.number}")


def list_own_notes(client: GitLabClient, ref: PullRequestRef, own_id: str) -> OwnComments:
    """List our notes, oldest first, those under lines apart from those in the merge request's main thread."""
    endpoint = notes_of(ref)
    # Old versions know no filter and list GitLab's own notes as well.
    listed = client.read_list(
        endpoint, params={"sort": "asc", "order_by": "created_at", "activity_filter": "only_comments"}
    )
    with understood(endpoint):
        own = [
            note
            for note in listed
            if note.find_object("author").data.get("id") == int(own_id) and not note.get_flag("system")
        ]
        inline = tuple(_posted(note) for note in own if _is_inline(note))
        conversation = tuple(_posted(note) for note in own if not _is_inline(note))
    return OwnComments(inline=inline, reviews=(), conversation=conversation)


def post_note(client: GitLabClient, ref: PullRequestRef, body: str) -> str:
    """Post in the main thread, sent once, and return the note's id."""
    endpoint = notes_of(ref)
    reply = client.write("POST", endpoint, {"body": harmless(body)})
    if reply.status == 202:  # nothing but quick actions, done and not stored
        raise ForgeRejected(f"GitLab took {endpoint.what} for quick actions and stored no note.")
    with understood(endpoint, unclear=True):
        return object_in(reply, endpoint, unclear=True).get_id("id")


def edit_note(client: GitLabClient, ref: PullRequestRef, note_id: str, body: str) -> None:
    """Replace the text of a note."""
    client.write("PUT", note_of(ref, note_id), {"body": harmless(body)}, repeatable=True)


def award(client: GitLabClient, ref: PullRequestRef, comment: CommentRef, name: str) -> None:
    """Put an emoji on a note; that it is there already is an error to GitLab and none to us."""
    what = f"the reaction on a note of {ref.repository}!{ref.number}"
    endpoint = note_of(ref, comment.id).below("/award_emoji", what)
    reply = client.ask(endpoint, "POST", body={"name": name}, repeatable=True)
    is_there = reply.status in {400, 404} and "already been taken" in reply.text
    if reply.status >= 300 and not is_there:
        raise failure(reply, endpoint)


def may_push(
    client: GitLabClient, ref: PullRequestRef, comment: CommentRef, own_id: Callable[[], str]
) -> bool:
    """Tell whether a note's author is at least a Developer of the project, by inheritance too.

    The author is read from the note itself: members are asked for by id, which a name does not give.
    https://docs.gitlab.com/api/project_members/
    """
    note = note_of(ref, comment.id)
    reply = client.ask(note)
    if reply.status == 404:
        return False  # deleted since: nobody is asking any more
    if reply.status >= 300:
        raise failure(reply, note)
    with understood(note):
        author = object_in(reply, note).get_object("author").get_id("id")
    if author == own_id():
        return False
    member = Endpoint(
        project=ref.repository,
        path=f"/members/all/{author}",
        what=f"the membership of the user {author} in {ref.repository}",
    )
    reply = client.ask(member)
    if reply.status == 404:
        return False
    if reply.status >= 300:
        raise failure(reply, member)
    with understood(member):
        return object_in(reply, member).get_number("access_level") >= DEVELOPER


def _is_inline(note: Fields) -> bool:
    return note.find_text("type") == "DiffNote"


def _posted(note: Fields) -> PostedComment:
    return PostedComment(id=note.get_id("id"), body=note.find_prose("body"))
