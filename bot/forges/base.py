"""The `Forge` seam: what the review needs of GitHub or GitLab, in neither's words."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bot.events import CommentRef, PullRequestRef
from bot.findings import Place, Side

MAX_FILE_BYTES = 10_000_000


class ForgeError(Exception):
    """Something went wrong between us and the forge; the text is a sentence that may be shown to people."""


class ForgeUnavailable(ForgeError):
    """The forge did not answer, answered with a server error, or asks us to wait: try again later.

    `retry_after_s` is the forge's own wish in seconds, if it stated one.
    """

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ForgeDenied(ForgeError):
    """The token or App may not do this; the text names the permission that is missing."""


class ForgeMissing(ForgeError):
    """The repository, pull request or comment does not exist, or the token may not see it."""


class ForgeRejected(ForgeError):
    """The forge refused what we sent and would refuse it again."""


class FileTooLarge(ForgeRejected):
    """The file is larger than the caller wants to have."""


class PlaceRejected(ForgeRejected):
    """The forge refused a review because of where a comment stands; nothing of it was stored."""


class AnswerUnclear(ForgeUnavailable):
    """A write was sent and no clear answer came: it may or may not have happened. Read before writing again."""


class BadPayload(Exception):
    """A webhook's body is not what its forge documents; the text is a sentence that names the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request as it is on the forge now; `changes_url` is where people see its diff."""

    ref: PullRequestRef
    title: str
    body: str
    author: str
    author_is_bot: bool
    url: str
    changes_url: str = ""
    base_ref: str
    base_sha: str
    head_sha: str
    is_open: bool
    is_draft: bool
    additions: int | None
    deletions: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFile:
    """A changed file whose text the forge would not give, and why, as a phrase."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindSpot:
    """Lines of a file that are in the diff, and under which the forge takes no comment all the same.

    Without ranges that is the whole file.
    """

    path: str
    old_lines: range | None = None
    new_lines: range | None = None

    def hides(self, place: Place) -> bool:
        """Tell whether a comment at this place would begin or end here."""
        lines = self.old_lines if place.side is Side.OLD else self.new_lines
        if place.path != self.path or lines is None:
            return place.path == self.path
        return place.line in lines or place.start_line in lines


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedDiff:
    """A diff as git writes it, the files that are absent from it, and the blind spots."""

    data: bytes
    missing: tuple[MissingFile, ...] = ()
    blind_spots: tuple[BlindSpot, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineComment:
    """One comment to be posted under a line of the diff."""

    place: Place
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedReview:
    """A review that was posted; `refused` are those of its comments whose place the forge did not accept.

    `id` is "" where a forge has no such thing.
    """

    id: str = ""
    refused: tuple[InlineComment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedComment:
    """A comment of our own that stands on the forge."""

    id: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnComments:
    """Everything that we have posted on a pull request so far.

    `inline` are comments under lines, `reviews` the bodies of the reviews that carried them (empty where a
    forge has no such thing), `conversation` those in the pull request's main thread.
    """

    inline: tuple[PostedComment, ...]
    reviews: tuple[PostedComment, ...]
    conversation: tuple[PostedComment, ...]


class StatusState(StrEnum):
    """State of the mark that we set on a commit."""

    PENDING = "pending"
    SUCCESS = "success"
    NEUTRAL = "neutral"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The mark on a commit that tells how its review is going; `description` is at most a line."""

    state: StatusState
    description: str


class Forge(Protocol):
    """What a review needs of a forge. Every method raises only `ForgeError` and its kinds."""

    def get_pull_request(self, ref: PullRequestRef) -> PullRequest:
        """Read the pull request's present state."""

    def get_diff(self, pull_request: PullRequest) -> FetchedDiff:
        """Read the diff from the merge base to the head, falling back to slower ways before giving up on a file."""

    def get_diff_since(self, ref: PullRequestRef, old_sha: str, new_sha: str) -> FetchedDiff | None:
        """Read the diff between two commits; None if the old one is no ancestor of the new one, or the forge
        cannot give the diff as a whole.

        Files whose changes are unknown are among the missing.
        """

    def get_file(
        self, ref: PullRequestRef, path: str, revision: str, *, max_bytes: int = MAX_FILE_BYTES
    ) -> bytes | None:
        """Read a file at a commit or at the tip of a branch; None if it is not there or is not a plain file.

        Raises FileTooLarge above `max_bytes`.
        """

    def may_ask(self, ref: PullRequestRef, comment: CommentRef, login: str) -> bool:
        """Tell whether `login`, who wrote the comment, may push to the repository, by the forge's permission check."""

    def acknowledge(self, ref: PullRequestRef, comment: CommentRef) -> None:
        """Put an eyes reaction on a comment that we act on; doing it twice is harmless."""

    def decline(self, ref: PullRequestRef, comment: CommentRef) -> None:
        """Put a confused reaction on a comment that we do not act on; doing it twice is harmless."""

    def list_own_comments(self, ref: PullRequestRef) -> OwnComments:
        """List what our own account has posted on the pull request."""

    def suggestion_info(self, place: Place) -> str | None:
        """Give the info string of a code block that people can commit in place of these lines; None for no such."""

    def post_review(
        self, ref: PullRequestRef, *, head_sha: str, body: str, comments: Sequence[InlineComment]
    ) -> PostedReview:
        """Post all comments at once against `head_sha`; `body` is for forges that show one above them.

        Raises PlaceRejected if the forge took none of them for the place of one, AnswerUnclear if some may have
        been stored.
        """

    def post_comment(self, ref: PullRequestRef, body: str) -> str:
        """Post in the pull request's main thread and return the comment's id; AnswerUnclear if it may be stored."""

    def edit_comment(self, ref: PullRequestRef, comment_id: str, body: str) -> None:
        """Replace the text of a comment in the main thread; ForgeMissing if somebody deleted it."""

    def set_status(
        self, ref: PullRequestRef, head_sha: str, status: Status, status_id: str, *, reference: str
    ) -> str:
        """Set the mark on a commit and return its id, to be passed the next time ("" the first time).

        A review has one mark per commit: where its id was lost, by a crash or an unclear answer, the mark is
        found by `reference`, the review's own.
        """
