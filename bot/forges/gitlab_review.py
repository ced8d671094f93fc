"""Posting a review on GitLab: draft notes that nobody sees, published together with one notification.

Publishing is one note after the other and no transaction: where it breaks, some notes stand and all drafts are
still there, so that publishing those again would post twice. Notes are looked for by their hidden last lines,
and only what is missing is published again.

https://docs.gitlab.com/api/draft_notes/
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from bot.events import PullRequestRef
from bot.forges.base import (
    AnswerUnclear,
    ForgeError,
    ForgeMissing,
    ForgeUnavailable,
    InlineComment,
    PlaceRejected,
    PostedReview,
)
from bot.forges.gitlab_client import Endpoint, GitLabClient, failure, object_in, objects_in, understood
from bot.forges.gitlab_notes import harmless, list_own_notes, merge_request_of
from bot.forges.gitlab_position import position_of
from bot.forges.gitlab_versions import Version, read_newest_version
from bot.forges.webhook import MARKER

# How GitLab words it when a comment stands where it cannot: "line_code can't be blank", "must be a valid line
# code", "position is incomplete", "position[base_sha] is missing".
_ABOUT_A_PLACE = ("line_code", "line code", "position")
_LOOK_AGAIN_S = 1.0


def post_review(
    client: GitLabClient,
    ref: PullRequestRef,
    *,
    own_id: Callable[[], str],
    head_sha: str,
    comments: Sequence[InlineComment],
) -> PostedReview:
    """Post the comments on the newest version, which must be of `head_sha`.

    Drafts that an attempt of our own has left behind are deleted first. Raises PlaceRejected if the head has
    moved, AnswerUnclear if some comments may stand, or what any request may raise.
    """
    merge_request = merge_request_of(ref)
    version = read_newest_version(client, merge_request, merge_request.what)
    if version is None or version.head_sha != head_sha:
        raise PlaceRejected(f"{merge_request.what} has another head than {head_sha[:7]} by now.")
    drafts = merge_request.below("/draft_notes", f"the review of {merge_request.what}", "Developer")
    posting = _Posting(client=client, ref=ref, drafts=drafts, own_id=own_id())
    has_others = posting.delete_own_drafts()
    drafted, refused = posting.draft(comments, version)
    if not drafted:
        return PostedReview(refused=refused)
    # Whoever lends us an account may have drafts too, which are not ours to publish.
    left = drafted if has_others else posting.publish_together(drafted)
    broken = posting.publish_each(left) if left else ()
    vanished = posting.find_vanished([comment for comment in drafted.values() if comment not in broken])
    return PostedReview(refused=(*refused, *broken, *vanished))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Posting:
    client: GitLabClient
    ref: PullRequestRef
    drafts: Endpoint
    own_id: str

    def delete_own_drafts(self) -> bool:
        """Delete the drafts that carry our marker; tell whether the account has others."""
        while True:  # what does not fit into one list moves up
            listed = objects_in(self.client.read(self.drafts), self.drafts)
            with understood(self.drafts):
                ours = [draft.get_id("id") for draft in listed if MARKER in draft.find_prose("note")]
            if not ours:
                return bool(listed)
            for draft_id in ours:
                self._delete(draft_id)

    def draft(
        self, comments: Sequence[InlineComment], version: Version
    ) -> tuple[dict[str, InlineComment], tuple[InlineComment, ...]]:
        """Write the comments where nobody sees them yet; give them by id, and those whose place is refused."""
        drafted: dict[str, InlineComment] = {}
        refused: list[InlineComment] = []
        for comment in comments:
            body = {"note": harmless(comment.body), "position": position_of(comment.place, version)}
            reply = self.client.ask(self.drafts, "POST", body=body)
            if reply.status == 400 and any(word in reply.text.lower() for word in _ABOUT_A_PLACE):
                refused.append(comment)
                continue
            if reply.status >= 300:
                raise failure(reply, self.drafts, unclear=True)
            with understood(self.drafts, unclear=True):
                drafted[object_in(reply, self.drafts, unclear=True).get_id("id")] = comment
        return drafted, tuple(refused)

    def publish_together(self, drafted: Mapping[str, InlineComment]) -> dict[str, InlineComment]:
        """Publish all drafts of the account; give those that are left because GitLab broke half-way."""
        if self._is_published("POST", "/bulk_publish", drafted.values()):
            return {}
        missing = self._find_missing(drafted.values())
        left = {draft_id: comment for draft_id, comment in drafted.items() if comment in missing}
        for draft_id in drafted.keys() - left.keys():
            self._delete(draft_id)
        return left

    def publish_each(self, drafted: Mapping[str, InlineComment]) -> tuple[InlineComment, ...]:
        """Publish drafts one by one; give the comments that GitLab breaks at, while it takes others."""
        broken = {
            draft_id: comment
            for draft_id, comment in drafted.items()
            if not self._is_published("PUT", f"/{draft_id}/publish", [comment])
        }
        missing = self._find_missing(broken.values()) if broken else ()
        if len(missing) == len(drafted):
            raise ForgeUnavailable(f"GitLab failed to publish {self.drafts.what}.")
        for draft_id in broken:
            self._delete(draft_id)
        return missing

    def find_vanished(self, published: Collection[InlineComment]) -> tuple[InlineComment, ...]:
        """List comments that do not stand: a draft whose place GitLab does not find vanishes without a word."""
        missing = self._find_missing(published)
        if missing:
            time.sleep(_LOOK_AGAIN_S)
            missing = self._find_missing(missing)
        return missing

    def _is_published(self, verb: str, path: str, expected: Collection[InlineComment]) -> bool:
        """Send the request to publish; False if GitLab broke at it, and has stopped.

        After any other error it may still be at it: raises AnswerUnclear unless all that is expected stands.
        """
        endpoint = self.drafts.below(path, self.drafts.what)
        try:
            reply = self.client.ask(endpoint, verb)
            if reply.status >= 300 and reply.status != 500:
                raise failure(reply, endpoint, unclear=True)
        except AnswerUnclear as error:
            try:
                missing = self._find_missing(expected)
            except ForgeError:
                raise error from None
            if missing:
                raise
            return True
        return reply.status != 500

    def _find_missing(self, expected: Collection[InlineComment]) -> tuple[InlineComment, ...]:
        own = list_own_notes(self.client, self.ref, self.own_id)
        standing = {_last_line(note.body) for note in own.inline + own.conversation}
        return tuple(comment for comment in expected if _last_line(comment.body) not in standing)

    def _delete(self, draft_id: str) -> None:
        with suppress(ForgeMissing):
            self.client.write("DELETE", self.drafts.below(f"/{draft_id}", self.drafts.what), repeatable=True)


def _last_line(body: str) -> str:
    """Give the line by which a comment is known again: our markers are there, and GitLab keeps them as they are."""
    return body.rstrip().rpartition("\n")[2].strip()
