"""What the sandbox remembers: accounts, repositories, pull requests and everything said about them."""

import itertools
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from deploy.sandbox.git import GitRepository

LEVELS = ("none", "read", "write", "admin")


def now() -> datetime:
    """Return the present time in whole seconds, which is all that GitHub shows."""
    return datetime.now(UTC).replace(microsecond=0)


@dataclass(slots=True, kw_only=True)
class User:
    """An account; `permission` holds for every repository."""

    id: int
    login: str
    kind: str
    permission: str


@dataclass(slots=True, kw_only=True)
class GitHubApp:
    """A GitHub App, installed on every repository."""

    id: int
    slug: str
    public_key_pem: str
    permissions: dict[str, str]
    bot: User
    installation_id: int
    created_at: datetime


@dataclass(slots=True, kw_only=True)
class InstallationToken:
    """An installation's token; `repositories` is None if it is good for all."""

    token: str
    app: GitHubApp
    permissions: dict[str, str]
    expires_at: datetime
    repositories: frozenset[str] | None


@dataclass(slots=True, kw_only=True)
class Reaction:
    """One emoji of one user."""

    id: int
    user: User
    content: str
    created_at: datetime


@dataclass(slots=True, kw_only=True)
class Comment:
    """A comment in the conversation of an issue or pull request."""

    id: int
    number: int
    user: User
    app: GitHubApp | None
    body: str
    created_at: datetime
    updated_at: datetime
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class ReviewComment:
    """A comment on a line; line numbers are those at `original_commit_id` and never change."""

    id: int
    review_id: int
    number: int
    user: User
    body: str
    path: str
    subject_type: str
    line: int | None
    side: str
    start_line: int | None
    start_side: str | None
    position: int | None
    diff_hunk: str
    original_commit_id: str
    in_reply_to_id: int | None
    created_at: datetime
    updated_at: datetime
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Review:
    """A review; `submitted_at` is None while it is PENDING."""

    id: int
    user: User
    body: str
    state: str
    commit_id: str
    submitted_at: datetime | None


@dataclass(slots=True, kw_only=True)
class Issue:
    """A plain issue, and what a pull request has in common with it."""

    id: int
    number: int
    title: str
    body: str
    user: User
    created_at: datetime
    updated_at: datetime
    state: str = "open"
    closed_at: datetime | None = None
    labels: list[str] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Pull(Issue):
    """A pull request; `known_heads` are all it ever had, for a review may name any commit below them."""

    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str
    fork_owner: User | None
    draft: bool
    fork_deleted: bool = False
    merged_at: datetime | None = None
    merged_by: User | None = None
    merge_commit_sha: str | None = None
    known_heads: list[str] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    review_comments: list[ReviewComment] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class CheckRun:
    """A check run, as its App last described it."""

    id: int
    app: GitHubApp
    name: str
    head_sha: str
    status: str
    conclusion: str | None
    external_id: str
    details_url: str
    started_at: datetime | None
    completed_at: datetime | None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[dict[str, object]] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class CommitStatus:
    """A commit status; the newest of a context is the one that counts."""

    id: int
    sha: str
    creator: User
    context: str
    state: str
    description: str | None
    target_url: str | None
    created_at: datetime


@dataclass(slots=True, kw_only=True)
class Hook:
    """A webhook; `repository` is empty for the sandbox's own, which sees every repository."""

    id: int
    url: str
    secret: str
    content_type: str
    events: tuple[str, ...]
    repository: str
    created_at: datetime


@dataclass(slots=True, kw_only=True)
class Repository:
    """A repository, its git data and its pull requests."""

    id: int
    owner: User
    name: str
    default_branch: str
    git: GitRepository
    created_at: datetime
    issues: dict[int, Issue] = field(default_factory=dict)
    check_runs: dict[int, CheckRun] = field(default_factory=dict)
    statuses: list[CommitStatus] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        """Return owner/name."""
        return f"{self.owner.login}/{self.name}"

    @property
    def pulls(self) -> list[Pull]:
        """List the pull requests, oldest first."""
        return [issue for issue in self.issues.values() if isinstance(issue, Pull)]


@dataclass(slots=True)
class State:
    """Everything, behind one lock: a request sees and leaves a consistent state."""

    root: Path
    url: str = ""
    lock: threading.RLock = field(default_factory=threading.RLock)
    users: dict[str, User] = field(default_factory=dict)
    user_tokens: dict[str, User] = field(default_factory=dict)
    apps: dict[int, GitHubApp] = field(default_factory=dict)
    installation_tokens: dict[str, InstallationToken] = field(default_factory=dict)
    repositories: dict[str, Repository] = field(default_factory=dict)
    hooks: list[Hook] = field(default_factory=list)
    _ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1_000_001))

    @property
    def relative_root(self) -> str:
        """Return what the URL has behind the host: nothing, on GitHub."""
        return ""

    @property
    def api_url(self) -> str:
        """Return the base URL of the REST API, shaped as on GitHub Enterprise Server."""
        return f"{self.url}/api/v3"

    def next_id(self) -> int:
        """Draw from one sequence for all kinds of objects: an id taken for another kind is never found."""
        return next(self._ids)

    def user(self, login: str) -> User:
        """Find an account; raises KeyError with the logins that exist."""
        found = self.users.get(login.lower())
        if found is None:
            raise KeyError(
                f"no user {login!r} in the sandbox; there are {sorted(self.users)}: add_user() makes one"
            )
        return found

    def add_user(self, login: str, *, permission: str, kind: str) -> User:
        """Make an account."""
        user = User(id=self.next_id(), login=login, kind=kind, permission=permission)
        self.users[login.lower()] = user
        return user

    def repository(self, full_name: str) -> Repository:
        """Find a repository by owner/name; raises KeyError with those that exist."""
        found = self.repositories.get(full_name.lower())
        if found is None:
            raise KeyError(
                f"no repository {full_name!r} in the sandbox; there are {sorted(self.repositories)}"
            )
        return found

    def pull(self, full_name: str, number: int) -> Pull:
        """Find a pull request; raises KeyError."""
        issue = self.repository(full_name).issues.get(number)
        if not isinstance(issue, Pull):
            raise KeyError(f"no pull request {number} in {full_name}")
        return issue
