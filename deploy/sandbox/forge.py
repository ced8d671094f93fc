"""What every sandbox forge can do, for tests, benches and demos that run on any of them.

Names are those of GitHub where the forges differ: a pull request is a merge request on GitLab, a repository a
project. States, statuses and reactions keep the forge's own words.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from deploy.sandbox.git import FileContent
from deploy.sandbox.outbox import Delivery
from deploy.sandbox.recording import RecordedRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineComment:
    """A comment on a line, at the place it was made; `is_outdated` if the line has left the diff.

    `diff_hunk` ends with the commented line. `subject_type` is "line", or says what it is about instead.
    """

    id: int
    user: str
    path: str
    subject_type: str
    line: int | None
    side: str
    start_line: int | None
    start_side: str | None
    body: str
    diff_hunk: str
    commit_id: str
    in_reply_to_id: int | None
    is_outdated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationComment:
    """A comment on no line."""

    id: int
    body: str
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedReview:
    """A review, on forges that have such a thing."""

    id: int
    body: str
    state: str
    commit_id: str
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullState:
    """Everything about a pull request; `statuses` are (sha, name, state, description), oldest first.

    `reactions` are {comment id: [(user, emoji)]}.
    """

    title: str
    state: str
    draft: bool
    head_sha: str
    base_sha: str
    comments: Sequence[InlineComment]
    reviews: tuple[PostedReview, ...]
    conversation: tuple[ConversationComment, ...]
    reactions: dict[int, list[tuple[str, str]]]
    statuses: tuple[tuple[str, str, str, str], ...]


class ForgeSandbox(Protocol):
    """A forge of one's own on loopback, with the people ada (write), grace (read) and mallory (no access)."""

    # Where webhooks go; "" sends none.
    webhook_url: str

    # Running it

    def start(self, port: int = 0, host: str = "127.0.0.1") -> None:
        """Listen on a port, a free one if it is 0, and begin to send webhooks."""

    def stop(self) -> None:
        """Stop to listen and to send; what it remembers can still be read."""

    @property
    def url(self) -> str:
        """Return where the pages are."""

    @property
    def api_url(self) -> str:
        """Return the REST API's base URL."""

    def pull_url(self, full_name: str, number: int) -> str:
        """Return the page of a pull request."""

    def add_user(
        self, login: str, permission: str = "write", kind: str = "User", token: str | None = None
    ) -> None:
        """Make an account, or change one that exists; `permission` is none, read, write or admin."""

    # Code

    def create_repository(
        self, full_name: str, files: Mapping[str, FileContent] | None = None, default_branch: str = "main"
    ) -> None:
        """Make a repository with a first commit."""

    def commit(
        self,
        full_name: str,
        branch: str,
        files: Mapping[str, FileContent],
        *,
        message: str = "Change files",
        start: str | None = None,
        renames: Mapping[str, str] | None = None,
        author: str = "ada",
    ) -> str:
        """Push one commit and return its SHA; None as content deletes a file."""

    def force_push(self, full_name: str, branch: str, to: str, author: str = "ada") -> None:
        """Point a branch at any commit."""

    def import_branch(
        self,
        full_name: str,
        source: Path,
        base_revision: str,
        head_revision: str,
        *,
        base: str = "base",
        head: str = "head",
    ) -> None:
        """Fetch two revisions of a local git repository as the branches `base` and `head`."""

    def git_path(self, full_name: str) -> Path:
        """Return where the bare repository lies."""

    # Pull requests

    def open_pull_request(
        self,
        full_name: str,
        head: str,
        base: str = "main",
        *,
        title: str = "Change",
        body: str = "",
        author: str = "ada",
        draft: bool = False,
        fork_owner: str | None = None,
    ) -> int:
        """Open a pull request and return its number; with `fork_owner` it comes from that account's fork."""

    def close(self, full_name: str, number: int, author: str = "ada") -> None:
        """Close without merging."""

    def reopen(self, full_name: str, number: int, author: str = "ada") -> None:
        """Open again."""

    def mark_ready(self, full_name: str, number: int, author: str = "ada") -> None:
        """Turn a draft into one that asks for review."""

    def convert_to_draft(self, full_name: str, number: int, author: str = "ada") -> None:
        """Turn into a draft."""

    def retarget(self, full_name: str, number: int, base: str, author: str = "ada") -> None:
        """Change the branch to be merged into."""

    def retitle(self, full_name: str, number: int, title: str, author: str = "ada") -> None:
        """Change the title."""

    def merge(self, full_name: str, number: int, author: str = "ada") -> str:
        """Merge and return the merge commit's SHA."""

    def delete_fork(self, full_name: str, number: int) -> None:
        """Delete the fork that a pull request came from."""

    def pull(self, full_name: str, number: int) -> PullState:
        """Take a picture of a pull request as it is now."""

    # Talking

    def comment(self, full_name: str, number: int, body: str, author: str = "ada") -> int:
        """Write in the conversation and return the comment's id."""

    def comment_on_line(
        self,
        full_name: str,
        number: int,
        path: str,
        line: int,
        body: str,
        *,
        side: str = "RIGHT",
        author: str = "ada",
    ) -> int:
        """Write on a line that the diff shows and return the comment's id."""

    def reply(self, full_name: str, number: int, comment_id: int, body: str, author: str = "ada") -> int:
        """Answer a comment on a line, in its thread, and return the answer's id."""

    def edit_comment(self, full_name: str, number: int, comment_id: int, body: str) -> None:
        """Change a comment's text as its author."""

    def delete_comment(self, full_name: str, number: int, comment_id: int) -> None:
        """Delete a comment, as a maintainer would."""

    # Trouble

    def fail(
        self,
        method: str,
        path_regex: str,
        *,
        times: int = 1,
        status: int | None = 502,
        body: object = None,
        headers: dict[str, str] | None = None,
        after_storing: bool = False,
        delay_s: float = 0.0,
        drop_connection: bool = False,
    ) -> None:
        """Answer the next `times` matching requests wrongly."""

    def limit_content(self, per_minute: int | None, retry_after_s: int | None = 60) -> None:
        """Refuse more than `per_minute` new comments; None lifts the limit."""

    def exhaust_rate_limit(self, reset_at: float) -> None:
        """Refuse everything until that Unix time."""

    @property
    def requests(self) -> list[RecordedRequest]:
        """Return every request to the API so far."""

    @property
    def observers(self) -> list[Callable[[RecordedRequest], object]]:
        """Return the functions that are called with each request; append to it."""

    # Webhooks

    @property
    def deliveries(self) -> list[Delivery]:
        """Return every webhook sent or about to be sent."""

    def redeliver(self, guid: str) -> None:
        """Send a webhook again under its key."""

    def wait_for_webhooks(self, timeout: float = 10.0) -> None:
        """Return when all webhooks were answered; raises TimeoutError."""

    def ping(self) -> None:
        """Send what the forge sends to try a webhook out."""
