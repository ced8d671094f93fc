"""What a webhook means to Redline, free of any forge's words.

A forge's JSON becomes one of these at the edge (`bot/forges/<forge>_webhook.py`); nothing else reads it.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestRef:
    """Name one pull request (a merge request on GitLab) on one forge."""

    forge: str
    repository: str
    number: int

    def __str__(self) -> str:
        return f"{self.forge}:{self.repository}#{self.number}"


class CommentKind(StrEnum):
    """Tell where a comment stands, since forges address the two differently."""

    CONVERSATION = "conversation"
    INLINE = "inline"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentRef:
    """Name one comment on a pull request."""

    kind: CommentKind
    id: str


class ChangeReason(StrEnum):
    """Tell why a pull request should be looked at without anybody asking."""

    OPENED = "opened"
    REOPENED = "reopened"
    READY = "ready"
    PUSHED = "pushed"
    RETARGETED = "retargeted"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestChanged:
    """A pull request has new code to review: it was opened, reopened, marked ready, pushed to or retargeted."""

    ref: PullRequestRef
    reason: ChangeReason
    head_sha: str
    base_ref: str
    author: str
    additions: int | None
    deletions: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestWithdrawn:
    """A pull request no longer wants a review: it was closed, merged or turned into a draft."""

    ref: PullRequestRef
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequested:
    """Somebody wrote `/review` at the start of a line of a comment.

    Whether that person may ask is not known here: the worker asks the forge. `head_sha` is empty where the
    forge's payload does not carry it.
    """

    ref: PullRequestRef
    comment: CommentRef
    requested_by: str
    full: bool
    head_sha: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventIgnored:
    """The event is valid and asks nothing of us; `reason` is a sentence for the person who looks it up."""

    reason: str


Event = PullRequestChanged | PullRequestWithdrawn | ReviewRequested | EventIgnored


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One webhook request as it arrived, with what is needed to find and replay it."""

    forge: str
    guid: str
    event: str
    action: str
    repository: str
    sender: str
    payload: bytes
    request_id: str
    received_at: datetime
