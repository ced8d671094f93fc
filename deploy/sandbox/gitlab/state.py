"""What the sandbox remembers: accounts, projects, merge requests and everything said about them."""

import hashlib
import itertools
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deploy.sandbox.git import GitRepository

# https://docs.gitlab.com/user/permissions/#default-roles
ACCESS_LEVELS = {"none": 0, "read": 20, "write": 30, "maintain": 40, "admin": 50}
DRAFT_PREFIX = "Draft: "


def now() -> datetime:
    """Return the present time in milliseconds, which is what GitLab shows."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@dataclass(slots=True, kw_only=True)
class User:
    """An account; `access_level` holds for every project, and 0 is no member."""

    id: int
    login: str
    kind: str
    access_level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An access token; the job token of a pipeline is one too, and good for little."""

    value: str
    user: User
    scopes: frozenset[str]
    is_job_token: bool = False


@dataclass(slots=True, kw_only=True)
class Award:
    """One emoji of one user."""

    id: int
    user: User
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a note stands, as it was sent; `data` has the keys of the API."""

    data: dict[str, Any]

    @property
    def kind(self) -> str:
        """Return text, image or file."""
        return str(self.data["position_type"])

    @property
    def old_line(self) -> int | None:
        """Return the line in the old file."""
        line: int | None = self.data.get("old_line")
        return line

    @property
    def new_line(self) -> int | None:
        """Return the line in the new file."""
        line: int | None = self.data.get("new_line")
        return line

    @property
    def old_path(self) -> str:
        """Return the path in the old tree."""
        return str(self.data.get("old_path") or self.data.get("new_path") or "")

    @property
    def path(self) -> str:
        """Return the path in the new tree."""
        return str(self.data.get("new_path") or self.data.get("old_path") or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A change that a note offers: lines `from_line` to `to_line` of the new file become `to_content`."""

    id: int
    from_line: int
    to_line: int
    from_content: str
    to_content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a position was found to be: the line's code and the diff down to it."""

    line_code: str | None
    diff_hunk: str


@dataclass(slots=True, kw_only=True)
class Note:
    """A comment; notes with the same `discussion_id` are a thread. `kind` is None, DiscussionNote or DiffNote."""

    id: int
    discussion_id: str
    kind: str | None
    user: User
    body: str
    created_at: datetime
    updated_at: datetime
    system: bool = False
    internal: bool = False
    position: Position | None = None
    place: Place | None = None
    resolved_by: User | None = None
    resolved_at: datetime | None = None
    awards: list[Award] = field(default_factory=list)
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def resolvable(self) -> bool:
        """Tell whether the note belongs to a thread that can be resolved."""
        return self.kind is not None and not self.system


@dataclass(slots=True, kw_only=True)
class DraftNote:
    """A note that only its author sees until it is published."""

    id: int
    user: User
    body: str
    discussion_id: str | None
    resolve_discussion: bool
    position: Position | None
    commit_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffVersion:
    """One state of a merge request's diff; it is complete from `ready_at` of the monotonic clock on."""

    id: int
    base_sha: str
    start_sha: str
    head_sha: str
    created_at: datetime
    ready_at: float

    @property
    def is_ready(self) -> bool:
        """Tell whether GitLab has computed the diff by now."""
        return time.monotonic() >= self.ready_at


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickAction:
    """A command that a note contained and that was executed with the rights of the note's author."""

    user: User
    name: str
    argument: str


@dataclass(slots=True, kw_only=True)
class MergeRequest:
    """A merge request; `source` is None once the fork is deleted."""

    id: int
    iid: int
    project: "Project"
    source: "Project | None"
    title: str
    description: str
    user: User
    created_at: datetime
    updated_at: datetime
    source_branch: str
    target_branch: str
    head_sha: str
    state: str = "opened"
    versions: list[DiffVersion] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    drafts: list[DraftNote] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    reviewers: list[User] = field(default_factory=list)
    assignees: list[User] = field(default_factory=list)
    approved_by: list[User] = field(default_factory=list)
    quick_actions: list[QuickAction] = field(default_factory=list)
    awards: list[Award] = field(default_factory=list)
    locked: bool = False
    merged_at: datetime | None = None
    merged_by: User | None = None
    merge_commit_sha: str | None = None
    closed_at: datetime | None = None
    closed_by: User | None = None

    @property
    def draft(self) -> bool:
        """Tell whether the title marks this as a draft, for that is all that does."""
        return self.title.lower().startswith(("draft:", "[draft]", "(draft)"))

    @property
    def version(self) -> DiffVersion | None:
        """Return the newest version of the diff that is complete."""
        return next((one for one in reversed(self.versions) if one.is_ready), None)


@dataclass(slots=True, kw_only=True)
class CommitStatus:
    """A commit status: an external job of a pipeline. It changes while it is pending or running."""

    id: int
    pipeline_id: int
    sha: str
    ref: str
    user: User
    name: str
    status: str
    description: str | None
    target_url: str | None
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None


@dataclass(slots=True, kw_only=True)
class Project:
    """A project; a fork shares the git repository of its parent, which holds the fork's branches for it."""

    id: int
    path_with_namespace: str
    namespace_id: int
    default_branch: str
    git: GitRepository
    created_at: datetime
    forked_from: "Project | None" = None
    merge_requests: dict[int, MergeRequest] = field(default_factory=dict)
    statuses: list[CommitStatus] = field(default_factory=list)
    status_changes: list[tuple[str, str, str, str]] = field(default_factory=list)
    branches_of_forks: set[str] = field(default_factory=set)

    @property
    def path(self) -> str:
        """Return the last part of the full path."""
        return self.path_with_namespace.rpartition("/")[2]

    @property
    def namespace(self) -> str:
        """Return the full path of the group."""
        return self.path_with_namespace.rpartition("/")[0]


@dataclass(slots=True, kw_only=True)
class Hook:
    """A project webhook that sees every project."""

    id: int
    url: str
    secret: str
    signing_token: str


@dataclass(slots=True)
class State:
    """Everything, behind one lock: a request sees and leaves a consistent state."""

    root: Path
    relative_root: str = ""
    url: str = ""
    advertised_url: str = ""
    lock: threading.RLock = field(default_factory=threading.RLock)
    users: dict[str, User] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    projects: dict[str, Project] = field(default_factory=dict)
    _ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1_001))

    @property
    def web_url(self) -> str:
        """Return the address that links name: what the administrator set, right or wrong."""
        return self.advertised_url or self.url

    @property
    def api_url(self) -> str:
        """Return the base URL of the REST API."""
        return f"{self.url}/api/v4"

    def next_id(self) -> int:
        """Draw from one sequence for all kinds of objects: an id taken for another kind is never found."""
        return next(self._ids)

    def next_discussion_id(self) -> str:
        """Draw the id of a thread, which looks like a SHA-1."""
        return hashlib.sha1(str(self.next_id()).encode(), usedforsecurity=False).hexdigest()

    def user(self, login: str) -> User:
        """Find an account; raises KeyError with the logins that exist."""
        found = self.users.get(login.lower())
        if found is None:
            raise KeyError(
                f"no user {login!r} in the sandbox; there are {sorted(self.users)}: add_user() makes one"
            )
        return found

    def add_user(self, login: str, *, kind: str) -> User:
        """Make an account that is no member yet."""
        user = User(id=self.next_id(), login=login, kind=kind, access_level=0)
        self.users[login.lower()] = user
        return user

    def project(self, path: str) -> Project:
        """Find a project by its full path; raises KeyError with those that exist."""
        found = self.projects.get(path.lower())
        if found is None:
            raise KeyError(f"no project {path!r} in the sandbox; there are {sorted(self.projects)}")
        return found

    def merge_request(self, path: str, iid: int) -> MergeRequest:
        """Find a merge request; raises KeyError."""
        found = self.project(path).merge_requests.get(iid)
        if found is None:
            raise KeyError(f"no merge request {iid} in {path}")
        return found
