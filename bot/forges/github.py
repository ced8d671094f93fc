"""GitHub, as the `Forge` that a review needs."""

import threading
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from bot.events import CommentKind, CommentRef, PullRequestRef
from bot.findings import Place, Side
from bot.forges import github_review, github_status
from bot.forges.base import (
    MAX_FILE_BYTES,
    FetchedDiff,
    ForgeDenied,
    ForgeError,
    InlineComment,
    OwnComments,
    PostedComment,
    PostedReview,
    PullRequest,
    Status,
)
from bot.forges.github_auth import AppCredentials, Credentials, TokenCredentials
from bot.forges.github_client import Endpoint, GitHubClient, failure, object_in, understood
from bot.forges.github_diff import fetch_diff, fetch_diff_since
from bot.forges.github_files import fetch_file
from bot.forges.github_key import read_private_key
from bot.forges.github_transport import GitHubTransport
from bot.forges.payload import Fields
from bot.settings import Settings

_MAX_REMEMBERED = 1_000


class GitHubForge:
    """Implement `bot.forges.base.Forge` for GitHub.com and GitHub Enterprise Server; threads may share it."""

    def __init__(self, transport: GitHubTransport, credentials: Credentials) -> None:
        self._transport = transport
        self._credentials = credentials
        self._client = GitHubClient(transport, credentials)
        self._login = ""
        self._login_lock = threading.Lock()
        self._merge_bases: dict[tuple[str, str, str], str] = {}

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def own_login(self) -> str:
        """Give the login that our comments carry; asked once."""
        with self._login_lock:
            if not self._login:
                self._login = self._credentials.own_login()
            return self._login

    def get_pull_request(self, ref: PullRequestRef) -> PullRequest:
        """Read the pull request's present state.

        `base_sha` is the merge base, from which GitHub computes the diff; it is the tip of the target branch
        where GitHub cannot tell the merge base.
        """
        endpoint = _pull(ref)
        pull = self._client.read_object(endpoint)
        with understood(endpoint):
            url = pull.find_prose("html_url")
            author = pull.find_object("user")  # null once the account is gone
            head_sha = pull.get_object("head").get_sha("sha")
            base = pull.get_object("base")
            base_ref, base_tip = base.get_text("ref"), base.get_sha("sha")
            return PullRequest(
                ref=ref,
                title=pull.find_prose("title"),
                body=pull.find_prose("body"),
                author=author.find_text("login") or "ghost",
                author_is_bot=author.find_text("type") == "Bot"
                or author.find_text("login").endswith("[bot]"),
                url=url,
                changes_url=f"{url}/files" if url else "",
                base_ref=base_ref,
                base_sha=self._merge_base(ref, base_tip, head_sha),
                head_sha=head_sha,
                is_open=pull.find_text("state") == "open",
                is_draft=pull.get_flag("draft"),
                additions=pull.find_number("additions"),
                deletions=pull.find_number("deletions"),
            )

    def get_diff(self, pull_request: PullRequest) -> FetchedDiff:
        """Read the diff; what GitHub leaves out is compared here, or named as missing."""
        return fetch_diff(self._client, pull_request)

    def get_diff_since(self, ref: PullRequestRef, old_sha: str, new_sha: str) -> FetchedDiff | None:
        """Read the diff between two commits from GitHub's comparison, which is given up where it is cut."""
        return fetch_diff_since(self._client, ref, old_sha, new_sha)

    def get_file(
        self, ref: PullRequestRef, path: str, revision: str, *, max_bytes: int = MAX_FILE_BYTES
    ) -> bytes | None:
        """Read a file; for a link to a file GitHub gives the file."""
        return fetch_file(self._client, ref.repository, path, revision, max_bytes=max_bytes)

    def may_ask(self, ref: PullRequestRef, comment: CommentRef, login: str) -> bool:
        """Tell whether this person may push: GitHub answers that by login."""
        return self.may_write(ref.repository, login)

    def may_write(self, repository: str, login: str) -> bool:
        """Ask for the person's permission: `author_association` in payloads is not one."""
        endpoint = Endpoint(
            repository=repository,
            path=f"/collaborators/{quote(login, safe='')}/permission",
            what=f"the permission of {login} on {repository}",
            permission="metadata: read",
        )
        reply = self._client.ask(endpoint)
        if reply.status == 404:
            return False
        if reply.status >= 300:
            raise failure(reply, endpoint)
        with understood(endpoint):
            # "maintain" is reported as write and "triage" as read.
            return object_in(reply, endpoint).find_text("permission") in {"admin", "write"}

    def acknowledge(self, ref: PullRequestRef, comment: CommentRef) -> None:
        """Put the eyes on a comment."""
        self._react(ref, comment, "eyes")

    def decline(self, ref: PullRequestRef, comment: CommentRef) -> None:
        """Put the confused face on a comment."""
        self._react(ref, comment, "confused")

    def _react(self, ref: PullRequestRef, comment: CommentRef, content: str) -> None:
        """React to a comment; GitHub answers 200 if the reaction is there already."""
        part = "issues" if comment.kind is CommentKind.CONVERSATION else "pulls"
        endpoint = Endpoint(
            repository=ref.repository,
            path=f"/{part}/comments/{quote(comment.id, safe='')}/reactions",
            what=f"the reaction on a comment of {ref.repository}#{ref.number}",
            permission="issues: write" if part == "issues" else "pull requests: write",
        )
        self._client.write("POST", endpoint, {"content": content}, repeatable=True)

    def list_own_comments(self, ref: PullRequestRef) -> OwnComments:
        """List what we have posted; a pending review is not posted, and nobody else sees it."""
        login = self.own_login().lower()
        pull, conversation = _pull(ref), _conversation(ref)
        reviews = self._list_of(pull, "/reviews", login)
        with understood(pull):
            pending = {review.get_id("id") for review in reviews if review.find_text("state") == "PENDING"}
            posted = [review for review in reviews if review.get_id("id") not in pending]
            inline = [
                comment
                for comment in self._list_of(pull, "/comments", login)
                if not (
                    comment.has("pull_request_review_id")
                    and comment.get_id("pull_request_review_id") in pending
                )
            ]
            return OwnComments(
                inline=_posted(inline),
                reviews=_posted(posted),
                conversation=_posted(self._list_of(conversation, "", login)),
            )

    def suggestion_info(self, place: Place) -> str | None:
        """Name the block: GitHub puts it in place of the commented lines, which must be on the new side."""
        return "suggestion" if place.side is Side.NEW else None

    def post_review(
        self, ref: PullRequestRef, *, head_sha: str, body: str, comments: Sequence[InlineComment]
    ) -> PostedReview:
        """Post all comments in one review, sent once and stored as a whole."""
        review_id = github_review.post_review(
            self._client, ref, own_login=self.own_login, head_sha=head_sha, body=body, comments=comments
        )
        return PostedReview(id=review_id)

    def post_comment(self, ref: PullRequestRef, body: str) -> str:
        """Post in the conversation, sent once."""
        endpoint = _conversation(ref)
        answer = self._client.write("POST", endpoint, {"body": body})
        with understood(endpoint, unclear=True):
            return answer.get_id("id")

    def edit_comment(self, ref: PullRequestRef, comment_id: str, body: str) -> None:
        """Replace the text of a comment in the conversation."""
        endpoint = Endpoint(
            repository=ref.repository,
            path=f"/issues/comments/{quote(comment_id, safe='')}",
            what=f"the comment {comment_id} on {ref.repository}#{ref.number}",
            permission="issues: write",
        )
        self._client.write("PATCH", endpoint, {"body": body}, repeatable=True)

    def set_status(
        self, ref: PullRequestRef, head_sha: str, status: Status, status_id: str, *, reference: str
    ) -> str:
        """Set the mark on the commit, through the repository that the pull request goes to."""
        if self._credentials.is_app:
            return github_status.set_check_run(
                self._client,
                ref,
                head_sha,
                status,
                status_id,
                reference=reference,
                own_login=self.own_login,
            )
        return github_status.set_commit_status(self._client, ref, head_sha, status)

    def _merge_base(self, ref: PullRequestRef, base_tip: str, head_sha: str) -> str:
        """Ask where the branches parted; it never changes for two commits, so it is asked once."""
        key = (ref.repository, base_tip, head_sha)
        if key not in self._merge_bases:
            endpoint = Endpoint(
                repository=ref.repository,
                path=f"/compare/{base_tip}...{head_sha}",
                what=f"the merge base of {ref.repository}#{ref.number}",
                permission="contents: read",
            )
            try:
                answer = self._client.read_object(endpoint, params={"per_page": 1})
                with understood(endpoint):
                    sha = answer.get_object("merge_base_commit").get_sha("sha")
            except ForgeError:
                return base_tip
            if len(self._merge_bases) >= _MAX_REMEMBERED:
                self._merge_bases.clear()
            self._merge_bases[key] = sha
            return sha
        return self._merge_bases[key]

    def _list_of(self, parent: Endpoint, path: str, login: str) -> list[Fields]:
        endpoint = Endpoint(
            repository=parent.repository,
            path=f"{parent.path}{path}",
            what=f"the comments of {parent.what}" if path else parent.what,
            permission=parent.permission,
        )
        with understood(endpoint):
            return [
                item
                for item in self._client.read_list(endpoint)
                if item.find_object("user").find_text("login").lower() == login
            ]


def open_github(settings: Settings) -> GitHubForge:
    """Make the forge that the settings describe; raises ForgeDenied if there are no usable credentials."""
    transport = GitHubTransport(settings.github_api_url, seconds_between_writes=0.0)
    if settings.github_app_id and settings.github_private_key_file:
        private_key = read_private_key(settings.github_private_key_file)
        return GitHubForge(transport, AppCredentials(transport, settings.github_app_id, private_key))
    token = settings.github_token.get_secret_value().strip()
    if not token:
        raise ForgeDenied(
            "GitHub is not configured: set REDLINE_GITHUB_TOKEN, "
            "or REDLINE_GITHUB_APP_ID and REDLINE_GITHUB_PRIVATE_KEY_FILE."
        )
    return GitHubForge(transport, TokenCredentials(transport, token))


def github_is_configured(settings: Settings) -> bool:
    """Tell whether there are credentials to read from GitHub and post to it."""
    return bool(settings.github_token.get_secret_value().strip() or settings.github_app_id)


def _pull(ref: PullRequestRef) -> Endpoint:
    return Endpoint(
        repository=ref.repository,
        path=f"/pulls/{ref.number}",
        what=f"{ref.repository}#{ref.number}",
        permission="pull requests: read",
    )


def _conversation(ref: PullRequestRef) -> Endpoint:
    return Endpoint(
        repository=ref.repository,
        path=f"/issues/{ref.number}/comments",
        what=f"the conversation of {ref.repository}#{ref.number}",
        permission="issues: write",
    )


def _posted(items: Iterable[Fields]) -> tuple[PostedComment, ...]:
    return tuple(PostedComment(id=item.get_id("id"), body=item.find_prose("body")) for item in items)
