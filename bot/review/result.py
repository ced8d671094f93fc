"""What one review is asked to do and what came of it, as plain data that can be stored and read back."""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from pydantic import TypeAdapter

from bot.events import CommentRef, PullRequestRef
from bot.findings import Finding, Severity
from bot.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequest:
    """One review to be made.

    `reference` is what an admin can look the review up by. `comment` and `requested_by` are set when a
    person asked for it, `refusal` if even one who may ask does not get it now. `final_attempt` tells that a
    partial result is better than another try. `last` is what the last finished review of the pull request gave,
    None if everything is to be read, whatever has been read before; `known` are the fingerprints of the findings
    that were ever posted there.
    """

    ref: PullRequestRef
    reference: str
    head_sha: str = ""
    comment: CommentRef | None = None
    requested_by: str = ""
    refusal: str = ""
    final_attempt: bool = True
    last: "ReviewResult | None" = None
    known: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOptions:
    """What shapes a review: the operator's settings, and within their limits the repository's own file.

    `deadline_s` bounds one question to the engine, retries included. `ignore` are globs of files.
    """

    language: str = "English"
    max_comments: int = 20
    low_queue_tokens: int = 4000
    deadline_s: float = 120.0
    concurrency: int = 4
    chunk_tokens: int = 4000
    answer_tokens: int = 1024
    ignore: tuple[str, ...] = ()
    minimum_severity: Severity = Severity.LOW
    guidelines: str = ""


def options_from(settings: Settings) -> ReviewOptions:
    """Pick the settings that shape a review."""
    return ReviewOptions(
        language=settings.review_language,
        max_comments=settings.max_comments,
        low_queue_tokens=settings.low_queue_tokens,
        deadline_s=settings.llm_deadline_s,
        concurrency=settings.llm_concurrency,
        chunk_tokens=settings.llm_chunk_tokens,
        answer_tokens=settings.llm_answer_tokens,
    )


class FileState(StrEnum):
    """How far one changed file got."""

    REVIEWED = "reviewed"
    READ_BEFORE = "read before"
    SKIPPED = "skipped"
    UNAVAILABLE = "unavailable"
    FAILED = "failed"


_COMPLETE = frozenset((FileState.REVIEWED, FileState.READ_BEFORE, FileState.SKIPPED))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCoverage:
    """Tell what became of one changed file; `reason` is empty only for files that were read to the end."""

    path: str
    state: FileState
    reason: str = ""

    @property
    def is_complete(self) -> bool:
        """Tell whether nothing of the file is left to be read."""
        return self.state in _COMPLETE


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmCall:
    """One request to the engine: what it cost, or why it failed. Times in milliseconds."""

    chunk: int
    model: str
    priority: int
    outcome: str
    error: str = ""
    finish_reason: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    ttft_ms: float | None = None
    total_ms: float = 0.0
    tokens_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewResult:
    """Everything that is known after the model has answered, and all that publishing needs.

    Times are milliseconds on a monotonic clock. `ttft_ms` and `tokens_per_s` describe the engine:
    time to first token of the first call, and completion tokens over generation time of all calls.
    `dropped` counts remarks that were unusable: without evidence, empty advice, or malformed, and
    `below_minimum` findings that are less severe than `minimum_severity`, which the repository asks for.
    `notes` are sentences about what the repository's own file says in vain.

    `since_sha` is the head from which on this review has read, "" if it has read everything. `earlier` are then
    the findings of reviews before it that have no line, and so stand nowhere but in the summary.
    """

    head_sha: str
    base_sha: str
    findings: tuple[Finding, ...]
    coverage: tuple[FileCoverage, ...]
    base_ref: str = ""
    since_sha: str = ""
    earlier: tuple[Finding, ...] = ()
    minimum_severity: Severity = Severity.LOW
    below_minimum: int = 0
    notes: tuple[str, ...] = ()
    model: str = ""
    estimated_tokens: int = 0
    chunks: int = 0
    llm_calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    truncated: bool = False
    dropped: int = 0
    fetch_ms: float = 0.0
    clean_ms: float = 0.0
    ttft_ms: float | None = None
    llm_ms: float = 0.0
    tokens_per_s: float | None = None

    def count(self, state: FileState) -> int:
        """Count the files in one state."""
        return sum(1 for file in self.coverage if file.state is state)

    @property
    def is_complete(self) -> bool:
        """Tell whether every file was reviewed to its end, now or before, or skipped by rule."""
        return all(file.is_complete for file in self.coverage)

    @property
    def placed(self) -> tuple[Finding, ...]:
        """Give the findings that stand on a line."""
        return tuple(finding for finding in self.findings if finding.place)

    @property
    def unplaced(self) -> tuple[Finding, ...]:
        """Give the findings that could not be put on a line."""
        return tuple(finding for finding in self.findings if not finding.place)

    def to_json(self) -> str:
        """Write everything but the findings, which are rows of their own."""
        return _STORED.dump_json(replace(self, findings=())).decode()

    @classmethod
    def from_json(cls, text: str, findings: tuple[Finding, ...]) -> "ReviewResult":
        """Read back what `to_json` wrote and put the findings in."""
        return replace(_STORED.validate_json(text), findings=findings)


_STORED: TypeAdapter[ReviewResult] = TypeAdapter(ReviewResult)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What publishing left on the forge: ids of the review and summary, and of each finding's inline comment.

    `posted` counts the inline comments that this run added.
    """

    review_id: str = ""
    summary_id: str = ""
    comment_ids: dict[str, str] = field(default_factory=dict)
    posted: int = 0
    publish_ms: float = 0.0


class ReviewStopped(Exception):
    """The review ends here without a result; the text is a sentence that may be shown to people."""


class ReviewSkipped(ReviewStopped):
    """There is nothing to do: the pull request is closed, a draft, or the person may not ask."""


class ReviewSuperseded(ReviewStopped):
    """Another head is on the forge, so this one is no longer worth finishing; `head_sha` is that head."""

    def __init__(self, message: str, *, head_sha: str) -> None:
        super().__init__(message)
        self.head_sha = head_sha


class ReviewRequeued(ReviewStopped):
    """The review belongs to the other queue and was given back."""
