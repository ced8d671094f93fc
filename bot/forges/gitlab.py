"""GitLab, as the `Forge` that a review needs."""

import threading
from collections.abc import Sequence

from bot.events import CommentRef, PullRequestRef
from bot.findings import Place
from bot.forges import gitlab_notes, gitlab_position, gitlab_review, gitlab_status
from bot.forges.base import (
    MAX_FILE_BYTES,
    FetchedDiff,
    ForgeDenied,
    InlineComment,
    OwnComments,
    PostedReview,
    PullRequest,
    Status,
)
from bot.forges.gitlab_client import Endpoint, GitLabClient, understood
from bot.forges.gitlab_diff import fetch_diff, fetch_diff_since
from bot.forges.gitlab_files import fetch_file
from bot.forges.gitlab_names import is_bot_name
from bot.forges.gitlab_notes import merge_request_of
from bot.forges.gitlab_transport import GitLabTransport
from bot.forges.gitlab_versions import READY_PAUSES_S, wait_for
from bot.forges.gitlab_webhook import is_draft
from bot.forges.payload import Fields
from bot.settings import Settings


class GitLabForge:
    """Implement `bot.forges.base.Forge` for GitLab.com and self-managed GitLab; threads may share it.

    `ready_pauses_s` are the pauses between looks at a merge request whose diff GitLab has not made yet.
    """

    def __init__(
        self, transport: GitLabTransport, *, ready_pauses_s: Sequence[float] = READY_PAUSES_S
    ) -> None:
        self._transport = transport
        self._client = GitLabClient(transport)
        self._ready_pauses_s = ready_pauses_s
        self._id = ""
        self._id_lock = threading.Lock()

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def own_id(self) -> str:
        """Give the id of the account that our notes carry; asked once."""
        with self._id_lock:
            if not self._id:
                endpoint = Endpoint(project="", path="/user", what="the token's account", role="Guest")
                user = self._client.read_object(endpoint)
                with understood(endpoint):
                    self._id = user.get_id("id")
            return self._id

    def get_pull_request(self, ref: PullRequestRef) -> PullRequest:
        """Read the merge request's present state; `base_sha` is the merge base, from which GitLab computes the diff.

        GitLab makes that a moment after the merge request: an open one is waited for.
        """
        endpoint = merge_request_of(ref)

        def read() -> Fields | None:
            found = self._client.read_object(endpoint)
            is_ready = found.has("diff_refs") or found.data.get("state") != "opened"
            return found if is_ready else None

        merge_request = wait_for(read, endpoint.what, self._ready_pauses_s)
        with understood(endpoint):
            author = merge_request.find_object("author").find_text("username")
            refs = merge_request.find_object("diff_refs")
            url = merge_request.find_prose("web_url")
            return PullRequest(
                ref=ref,
                title=merge_request.find_prose("title"),
                body=merge_request.find_prose("description"),
                author=author or "ghost",
                author_is_bot=is_bot_name(author),
                url=url,
                changes_url=f"{url}/diffs" if url else "",
                base_ref=merge_request.get_text("target_branch"),
                base_sha=refs.get_sha("base_sha") if refs.has("base_sha") else "",
                head_sha=refs.get_sha("head_sha") if refs.has("head_sha") else merge_request.get_sha("sha"),
                is_open=merge_request.find_text("state") == "opened",
                is_draft=is_draft(merge_request),
                additions=None,
                deletions=None,
            )

    def get_diff(self, pull_request: PullRequest) -> FetchedDiff:
        """Read the diff; what GitLab leaves out is compared here, or named as missing."""
        return fetch_diff(
            self._client,
            merge_request_of(pull_request.ref),
            pull_request,
            ready_pauses_s=self._ready_pauses_s,
        )

    def get_diff_since(self, ref: PullRequestRef, old_sha: str, new_sha: str) -> FetchedDiff | None:
        """Read the diff between two commits from GitLab's comparison, which is given up where it is cut."""
        return fetch_diff_since(self._client, ref, old_sha, new_sha)

    def get_file(
        self, ref: PullRequestRef, path: str, revision: str, *, max_bytes: int = MAX_FILE_BYTES
    ) -> bytes | None:
        """Read a file; for a link GitLab gives its target's name."""
        return fetch_file(self._client, ref.repository, path, revision, max_bytes=max_bytes)

    def may_ask(self, ref: PullRequestRef, comment: CommentRef, login: str) -> bool:
        """Ask for the access level of the note's author."""
        return gitlab_notes.may_push(self._client, ref, comment, self.own_id)

    def acknowledge(self, ref: PullRequestRef, comment: CommentRef) -> None:
        """Put the eyes on a note."""
        gitlab_notes.award(self._client, ref, comment, "eyes")

    def decline(self, ref: PullRequestRef, comment: CommentRef) -> None:
        """Put the confused face on a note."""
        gitlab_notes.award(self._client, ref, comment, "confused")

    def list_own_comments(self, ref: PullRequestRef) -> OwnComments:
        """List our notes; drafts are not posted, and nobody else sees them."""
        return gitlab_notes.list_own_notes(self._client, ref, self.own_id())

    def suggestion_info(self, place: Place) -> str | None:
        """Name the block by how many lines above and below the commented one it replaces."""
        return gitlab_position.suggestion_info(place)

    def post_review(
        self, ref: PullRequestRef, *, head_sha: str, body: str, comments: Sequence[InlineComment]
    ) -> PostedReview:
        """Post all comments together; the body is not shown, since the summary says the same beside it."""
        return gitlab_review.post_review(
            self._client, ref, own_id=self.own_id, head_sha=head_sha, comments=comments
        )

    def post_comment(self, ref: PullRequestRef, body: str) -> str:
        """Post in the merge request's main thread, sent once."""
        return gitlab_notes.post_note(self._client, ref, body)

    def edit_comment(self, ref: PullRequestRef, comment_id: str, body: str) -> None:
        """Replace the text of a note."""
        gitlab_notes.edit_note(self._client, ref, comment_id, body)

    def set_status(
        self, ref: PullRequestRef, head_sha: str, status: Status, status_id: str, *, reference: str
    ) -> str:
        """Set the status of the commit in the project that the merge request goes to."""
        return gitlab_status.set_commit_status(self._client, ref, head_sha, status, status_id)


def open_gitlab(settings: Settings) -> GitLabForge:
    """Make the forge that the settings describe; raises ForgeDenied if there is no token."""
    token = settings.gitlab_token.get_secret_value().strip()
    if not token:
        raise ForgeDenied("GitLab is not configured: set REDLINE_GITLAB_TOKEN.")
    return GitLabForge(GitLabTransport(settings.gitlab_url, token, ca_file=settings.gitlab_ca_file))
