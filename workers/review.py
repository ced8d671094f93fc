"""One review as a job: claim it, run it, publish it, end it. The row in the database decides every step."""

import time
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from bot.broker import HIGH, LOW
from bot.db import claims, findings, llm_calls, lookups, reviews
from bot.db.claims import ClaimedReview, ClaimRefusal, ClaimRefused, HeadOutcome
from bot.db.engine import DatabaseUnavailable
from bot.db.tables import ReviewState
from bot.diff.parse import DiffSyntaxError
from bot.events import PullRequestRef
from bot.forges.base import Forge, ForgeError, ForgeUnavailable, PullRequest, Status
from bot.llm.base import LlmCancelled, LlmDeadlineExceeded, LlmError, LlmUnavailable
from bot.review import render
from bot.review.observer import Observer
from bot.review.pipeline import run_review
from bot.review.publish import publish_review
from bot.review.result import (
    LlmCall,
    Published,
    ReviewRequest,
    ReviewRequeued,
    ReviewResult,
    ReviewSkipped,
    ReviewSuperseded,
    options_from,
)
from workers.conclude import conclude
from workers.lease import kept_lease
from workers.measure import call_record, latency_record
from workers.resources import Resources

log = structlog.get_logger(__name__)

# A retry waits 15 s, then 30 s, 1 min, 2 min ... but never longer than ten minutes.
_FIRST_RETRY_S = 15.0
_LONGEST_RETRY_S = 600.0
_STATUS_EVERY_S = 5.0


def perform_review(review_id: int, resources: Resources) -> None:
    """Do one review, if it is still to be done: claim → run → publish → finish."""
    claimed = claims.claim(
        resources.database,
        review_id,
        lease_s=resources.settings.lease_s,
        repository_limit=resources.settings.repository_concurrency,
        now=resources.now(),
    )
    if isinstance(claimed, ClaimRefused):
        log.info("review not claimed", review=review_id, reason=claimed.reason)
        if claimed.reason in (ClaimRefusal.NOT_QUEUED, ClaimRefusal.PULL_REQUEST_BUSY):
            _pass_on_place(review_id, resources)
        return
    with structlog.contextvars.bound_contextvars(review=review_id, pull_request=str(claimed.ref)):
        try:
            _Job(claimed=claimed, resources=resources).run()
        finally:
            _publish_next_of_repository(claimed.ref, resources)


def _pass_on_place(review_id: int, resources: Resources) -> None:
    # Two workers that ended at the same time may have passed their places on to the same review.
    review = lookups.get_review(resources.database, review_id)
    if review:
        _publish_next_of_repository(review.ref, resources)


def _publish_next_of_repository(ref: PullRequestRef, resources: Resources) -> None:
    # A message that found its repository busy was dropped, so whoever makes room passes the place on.
    following = lookups.next_queued_of_repository(
        resources.database, ref.forge, ref.repository, resources.now()
    )
    if following:
        resources.publish(*following)


@dataclass(slots=True, kw_only=True)
class _Job:
    claimed: ClaimedReview
    resources: Resources
    started: float = field(default_factory=time.monotonic)
    status_at: float = 0.0
    status_id: str = ""
    head_sha: str = ""
    queue: str = ""
    observer: Observer = field(init=False)

    def __post_init__(self) -> None:
        self.status_id = self.claimed.status_id
        self.head_sha = self.claimed.head_sha
        self.queue = self.claimed.queue
        self.observer = Observer(
            on_head=self.on_head, on_size=self.on_size, on_progress=self.on_progress, on_call=self.on_call
        )

    @property
    def is_final_attempt(self) -> bool:
        return self.claimed.attempt >= self.resources.settings.max_attempts

    @property
    def request(self) -> ReviewRequest:
        return ReviewRequest(
            ref=self.claimed.ref,
            reference=str(self.claimed.review_id),
            head_sha=self.claimed.head_sha,
            comment=self.claimed.comment,
            requested_by=self.claimed.requested_by,
            final_attempt=self.is_final_attempt,
        )

    def wait_ms(self) -> float:
        return (self.claimed.claimed_at - self.claimed.received_at).total_seconds() * 1000

    def elapsed_ms(self) -> float:
        return self.wait_ms() + (time.monotonic() - self.started) * 1000

    def run(self) -> None:
        """Run the review to a final state, or give it back to the queue."""
        database, settings = self.resources.database, self.resources.settings
        try:
            with kept_lease(
                database,
                self.claimed,
                lease_s=settings.lease_s,
                cancelled=self.observer.cancelled,
                stopping=self.resources.stopping,
                now=self.resources.now,
            ):
                forge = self.resources.forge_of(self.claimed.ref.forge)
                result = self.result(forge)
                published = self.publish(forge, result)
            self.finish(ReviewState.DONE, "", result, published)
        except ReviewRequeued:
            pass
        except ReviewSkipped as skipped:
            self.finish(ReviewState.SKIPPED, str(skipped))
        except ReviewSuperseded as superseded:
            self.review_head(superseded)
        except LlmCancelled:
            self.called_off()
        except (ForgeUnavailable, LlmUnavailable, LlmDeadlineExceeded, DatabaseUnavailable) as error:
            self.retry(error)
        except (ForgeError, LlmError, DiffSyntaxError) as error:
            log.warning("review failed", reason=str(error))
            self.finish(ReviewState.FAILED, str(error))
        except Exception as error:
            log.exception("review broke", error=repr(error))
            self.finish(
                ReviewState.FAILED, "An internal error stopped the review; the log has its traceback."
            )
            raise

    def result(self, forge: Forge) -> ReviewResult:
        """Give the stored result of an earlier attempt, or ask the model and store what it said."""
        if self.claimed.result:
            stored = findings.load_findings(self.resources.database, self.claimed.review_id)
            return ReviewResult.from_json(self.claimed.result, tuple(each.finding for each in stored))
        self.refuse_too_many_requests()
        result = run_review(
            self.request,
            forge=forge,
            llm=self.resources.llm,
            options=options_from(self.resources.settings),
            observer=self.observer,
        )
        kept = findings.save_result(self.resources.database, self.claimed, result.to_json(), result.findings)
        if not kept:
            raise LlmCancelled("the review was called off while the model was answering")
        return result

    def publish(self, forge: Forge, result: ReviewResult) -> Published:
        database = self.resources.database
        published = publish_review(
            self.request,
            result,
            forge=forge,
            queue=self.queue,
            elapsed_ms=self.elapsed_ms,
            known=findings.posted_fingerprints(database, self.claimed.ref),
            before_write=self.check_row,
        )
        findings.mark_posted(database, self.claimed, published.comment_ids, published.review_id)
        claims.set_summary_ref(database, self.claimed, published.summary_id)
        return published

    def finish(
        self,
        state: ReviewState,
        reason: str,
        result: ReviewResult | None = None,
        published: Published | None = None,
    ) -> None:
        """End the review with its latency row, then show the end to its author."""
        latency = latency_record(
            self.claimed,
            state=state,
            queue=self.queue,
            head_sha=self.head_sha,
            result=result,
            published=published,
            wait_ms=self.wait_ms(),
            total_ms=self.elapsed_ms(),
            now=self.resources.now(),
        )
        ended = claims.finish(
            self.resources.database,
            self.claimed,
            state=state,
            reason=reason,
            now=self.resources.now(),
            latency=latency,
        )
        log.info("review ended", state=state, reason=reason, kept=ended, total_ms=round(self.elapsed_ms()))
        conclude(self.claimed.review_id, self.resources)

    def review_head(self, superseded: ReviewSuperseded) -> None:
        """See to it that the head on the forge is reviewed, whether its webhook came late, early or not at all."""
        if self.claimed.comment:
            # Whoever asked wants an answer, so the same request reads the new head.
            self.end_mark(str(superseded))
            self.give_back(str(superseded), drop_result=True)
            return
        self.finish(ReviewState.SUPERSEDED, str(superseded))
        newest = reviews.NewReview(
            ref=self.claimed.ref,
            head_sha=superseded.head_sha,
            trigger=reviews.TRIGGER_AUTO,
            queue=HIGH,
            estimated_tokens=0,
            requested_by="",
            comment=None,
            full=False,
            received_at=self.resources.now(),
        )
        with self.resources.database.transaction() as connection:
            enqueued = reviews.enqueue(connection, newest)
        if enqueued.outcome in (reviews.EnqueueOutcome.QUEUED, reviews.EnqueueOutcome.REQUEUED):
            self.resources.publish(enqueued.review_id, HIGH)

    def give_back(self, reason: str, *, drop_result: bool = False) -> bool:
        """Put the review back into its queue at once, without counting this as a try."""
        given_back = claims.requeue(
            self.resources.database,
            self.claimed,
            now=self.resources.now(),
            reason=reason,
            count_attempt=False,
            drop_result=drop_result,
        )
        if given_back:
            self.resources.publish(self.claimed.review_id, self.claimed.queue)
        return given_back

    def called_off(self) -> None:
        """Give the review back if this process is stopping; else its end is in the row already."""
        if self.resources.stopping.is_set() and self.give_back("The worker was stopped."):
            return
        conclude(self.claimed.review_id, self.resources)

    def retry(self, error: Exception) -> None:
        """Give the review back for later, or end it as failed after the last attempt."""
        log.warning("review interrupted", reason=str(error), attempt=self.claimed.attempt)
        if self.is_final_attempt:
            self.finish(ReviewState.FAILED, str(error))
            return
        wanted_s = getattr(error, "retry_after_s", None) or 0.0
        backoff_s = min(_FIRST_RETRY_S * 2 ** (self.claimed.attempt - 1), _LONGEST_RETRY_S)
        now = self.resources.now()
        retry_at = now + timedelta(seconds=max(backoff_s, wanted_s))
        given_back = claims.requeue(
            self.resources.database,
            self.claimed,
            now=now,
            reason=str(error),
            not_before=retry_at,
            queue=self.queue,
        )
        if given_back:
            self.set_status(render.status_retrying(str(error), retry_at))
        else:
            conclude(self.claimed.review_id, self.resources)

    def refuse_too_many_requests(self) -> None:
        if not self.claimed.comment:
            return
        limit = self.resources.settings.reviews_per_hour
        since = self.resources.now() - timedelta(hours=1)
        if lookups.count_requested_since(self.resources.database, self.claimed.ref, since) > limit:
            raise ReviewSkipped(
                f"more than {limit} reviews were asked for on this pull request within an hour"
            )

    def on_head(self, pull_request: PullRequest) -> None:
        if self.claimed.head_sha not in ("", pull_request.head_sha):
            self.end_mark(f"the head moved to {pull_request.head_sha[:7]}")
        self.head_sha = pull_request.head_sha
        outcome = claims.set_head(
            self.resources.database, self.claimed, pull_request.head_sha, pull_request.base_sha
        )
        if outcome is HeadOutcome.LOST:
            raise LlmCancelled("the review was called off while it was starting")
        if outcome is HeadOutcome.TAKEN:
            raise ReviewSkipped("this head is under review already")
        self.set_status(render.status_reading(0, 1))

    def on_size(self, estimated_tokens: int) -> None:
        self.check_claim()
        is_low = estimated_tokens > self.resources.settings.low_queue_tokens
        # One that was known to be long and is here all the same has waited too long in `low`: it stays.
        is_news = self.claimed.estimated_tokens <= self.resources.settings.low_queue_tokens
        if is_low and is_news and self.claimed.queue == HIGH:
            moved = claims.requeue(
                self.resources.database,
                self.claimed,
                now=self.resources.now(),
                reason=f"The cleaned diff has an estimated {estimated_tokens} tokens.",
                queue=LOW,
                estimated_tokens=estimated_tokens,
                count_attempt=False,
            )
            if not moved:
                raise LlmCancelled("the review was called off before it was moved")
            self.set_status(render.status_queued(LOW, estimated_tokens))
            self.resources.publish(self.claimed.review_id, LOW)
            raise ReviewRequeued("moved to the queue low")
        # The other way round it would only wait a second time; it keeps its place and is counted as what it is.
        self.queue = LOW if is_low else HIGH

    def on_progress(self, done: int, chunks: int) -> None:
        self.check_claim()
        if time.monotonic() - self.status_at >= _STATUS_EVERY_S:
            self.check_row()
            self.set_status(render.status_reading(done, chunks))

    def on_call(self, call: LlmCall) -> None:
        llm_calls.record_llm_call(
            self.resources.database,
            self.claimed.review_id,
            call_record(call, self.claimed.attempt, self.resources.now()),
        )

    def check_claim(self) -> None:
        if self.observer.cancelled.is_set():
            raise LlmCancelled("the review was called off")

    def end_mark(self, reason: str) -> None:
        """End the mark on a head that this review leaves for another."""
        if self.status_id:
            self.set_status(render.status_ended(reason))
            self.status_id = ""
            claims.set_status_id(self.resources.database, self.claimed, "")

    def check_row(self) -> None:
        """Stop if the review is not ours any more: somebody else may be writing on the pull request already."""
        self.check_claim()
        if not claims.is_current(self.resources.database, self.claimed):
            raise LlmCancelled("the review was called off")

    def set_status(self, status: Status) -> None:
        """Set the mark on the commit; that it could not be set must not cost the review."""
        self.status_at = time.monotonic()
        if not self.head_sha:
            return
        try:
            forge = self.resources.forge_of(self.claimed.ref.forge)
            status_id = forge.set_status(self.claimed.ref, self.head_sha, status, self.status_id)
        except ForgeError as error:
            log.warning("status not set", error=str(error))
            return
        if status_id != self.status_id:
            self.status_id = status_id
            claims.set_status_id(self.resources.database, self.claimed, status_id)
