"""One review as a job: claim it, run it, publish it, finish it. The row in the database decides every step."""

import time
from dataclasses import dataclass, field, replace
from datetime import timedelta

import structlog

from bot.broker import HIGH
from bot.db import claims, findings, lookups, reviews
from bot.db.claims import ClaimedReview, ClaimRefusal, ClaimRefused
from bot.db.engine import DatabaseUnavailable
from bot.db.latency import LatencyRecord
from bot.db.tables import ReviewState
from bot.diff.parse import DiffSyntaxError
from bot.forges.base import Forge, ForgeError, ForgeUnavailable
from bot.llm.base import LlmCancelled, LlmDeadlineExceeded, LlmError, LlmUnavailable
from bot.review import render
from bot.review.pipeline import run_review
from bot.review.publish import publish_review
from bot.review.result import (
    Published,
    ReviewRequest,
    ReviewRequeued,
    ReviewResult,
    ReviewSkipped,
    ReviewSuperseded,
    options_from,
)
from workers.conclude import conclude
from workers.handover import pass_on, publish_next
from workers.lease import kept_lease
from workers.mark import Mark
from workers.measure import latency_record
from workers.progress import Progress
from workers.resources import Resources
from workers.retry import give_back, retry_later

log = structlog.get_logger(__name__)


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
            pass_on(review_id, resources)
        return
    with structlog.contextvars.bound_contextvars(review=review_id, pull_request=str(claimed.ref)):
        try:
            _Job(claimed=claimed, resources=resources).perform()
        finally:
            publish_next(claimed.ref, resources)


@dataclass(slots=True, kw_only=True)
class _Job:
    claimed: ClaimedReview
    resources: Resources
    started: float = field(default_factory=time.monotonic)
    mark: Mark = field(init=False)
    progress: Progress = field(init=False)

    def __post_init__(self) -> None:
        self.mark = Mark(claimed=self.claimed, resources=self.resources)
        self.progress = Progress(claimed=self.claimed, resources=self.resources, mark=self.mark)

    def perform(self) -> None:
        """Bring the review to a final state, or give it back to the queue."""
        try:
            with kept_lease(
                self.resources.database,
                self.claimed,
                lease_s=self.resources.settings.lease_s,
                cancelled=self.progress.observer.cancelled,
                stopping=self.resources.stopping,
                now=self.resources.now,
            ):
                forge = self.resources.forge_of(self.claimed.ref.forge)
                result = self.run(forge)
                published = self.publish(forge, result)
            self.finish_done(result, published)
        except ReviewRequeued:
            pass
        except ReviewSkipped as skipped:
            self.finish(ReviewState.SKIPPED, str(skipped))
        except ReviewSuperseded as superseded:
            self.review_head(superseded)
        except LlmCancelled:
            self.leave()
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

    def request(self, refusal: str = "") -> ReviewRequest:
        return ReviewRequest(
            ref=self.claimed.ref,
            reference=str(self.claimed.review_id),
            head_sha=self.claimed.head_sha,
            comment=self.claimed.comment,
            requested_by=self.claimed.requested_by,
            refusal=refusal,
            final_attempt=self.is_final_attempt,
        )

    def run(self, forge: Forge) -> ReviewResult:
        """Give the stored result of an earlier attempt, or ask the model and store what it said."""
        database = self.resources.database
        if self.claimed.result:
            stored = findings.load_findings(database, self.claimed.review_id)
            return ReviewResult.from_json(self.claimed.result, tuple(each.finding for each in stored))
        request = replace(
            self.request(self.refuse_too_many()),
            last=self.last_result(),
            known=frozenset(findings.posted_fingerprints(database, self.claimed.ref)),
        )
        result = run_review(
            request,
            forge=forge,
            llm=self.resources.llm,
            options=options_from(self.resources.settings),
            observer=self.progress.observer,
        )
        if not findings.save_result(database, self.claimed, result.to_json(), result.findings):
            raise LlmCancelled("the review was called off while the model was answering")
        return result

    def last_result(self) -> ReviewResult | None:
        """Give what the last finished review gave; None if it failed, is forgotten, or everything is asked for."""
        database = self.resources.database
        last = lookups.last_finished(database, self.claimed.ref, self.claimed.review_id)
        if self.claimed.full or last is None or last.state is not ReviewState.DONE or not last.result:
            return None
        stored = findings.load_findings(database, last.review_id)
        return ReviewResult.from_json(last.result, tuple(each.finding for each in stored))

    def refuse_too_many(self) -> str:
        """Say why this request is one too many within an hour; "" if it is not."""
        if not self.claimed.comment:
            return ""
        limit = self.resources.settings.reviews_per_hour
        since = self.resources.now() - timedelta(hours=1)
        if lookups.count_requested_since(self.resources.database, self.claimed.ref, since) <= limit:
            return ""
        return f"more than {limit} reviews were asked for on this pull request within an hour"

    def publish(self, forge: Forge, result: ReviewResult) -> Published:
        """Post the result and store what the forge calls it."""
        database = self.resources.database
        published = publish_review(
            self.request(),
            result,
            forge=forge,
            queue=self.progress.queue,
            elapsed_ms=self.elapsed_ms,
            known=findings.posted_fingerprints(database, self.claimed.ref),
            before_write=self.progress.check_row,
        )
        findings.mark_posted(database, self.claimed, published.comment_ids, published.review_id)
        claims.set_summary_ref(database, self.claimed, published.summary_id)
        return published

    def finish_done(self, result: ReviewResult, published: Published) -> None:
        latency = latency_record(
            self.claimed,
            queue=self.progress.queue,
            result=result,
            published=published,
            wait_ms=self.wait_ms(),
            total_ms=self.elapsed_ms(),
            now=self.resources.now(),
        )
        self.finish(ReviewState.DONE, "", latency)

    def finish(self, state: ReviewState, reason: str, latency: LatencyRecord | None = None) -> None:
        """End the review, then show the end to its author."""
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
            self.mark.end(str(superseded))
            give_back(self.claimed, self.resources, str(superseded), drop_result=True)
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

    def leave(self) -> None:
        """Give the review back if this process is stopping; else its end is in the row already."""
        is_stopping = self.resources.stopping.is_set()
        if not (is_stopping and give_back(self.claimed, self.resources, "The worker was stopped.")):
            conclude(self.claimed.review_id, self.resources)

    def retry(self, error: Exception) -> None:
        """Give the review back for later, or end it as failed after the last attempt."""
        log.warning("review interrupted", reason=str(error), attempt=self.claimed.attempt)
        if self.is_final_attempt:
            self.finish(ReviewState.FAILED, str(error))
            return
        retry_at = retry_later(self.claimed, self.resources, error, queue=self.progress.queue)
        if retry_at:
            self.mark.set(render.status_retrying(str(error), retry_at))
        else:
            conclude(self.claimed.review_id, self.resources)

    @property
    def is_final_attempt(self) -> bool:
        return self.claimed.attempt >= self.resources.settings.max_attempts

    def wait_ms(self) -> float:
        return (self.claimed.claimed_at - self.claimed.received_at).total_seconds() * 1000

    def elapsed_ms(self) -> float:
        return self.wait_ms() + (time.monotonic() - self.started) * 1000
