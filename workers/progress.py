"""What a running review tells on its way: it is stored and shown, and stops the review that is ours no more."""

from dataclasses import dataclass, field

from bot.broker import HIGH, LOW
from bot.db import claims, llm_calls
from bot.db.claims import ClaimedReview, HeadOutcome
from bot.forges.base import PullRequest
from bot.llm.base import LlmCancelled
from bot.review import render
from bot.review.observer import Observer
from bot.review.result import LlmCall, ReviewRequeued, ReviewSkipped
from workers.mark import Mark
from workers.measure import call_record
from workers.resources import Resources


@dataclass(slots=True, kw_only=True)
class Progress:
    """Follow one review; `queue` is the one that it turns out to belong to."""

    claimed: ClaimedReview
    resources: Resources
    mark: Mark
    queue: str = field(init=False)
    observer: Observer = field(init=False)

    def __post_init__(self) -> None:
        self.queue = self.claimed.queue
        self.observer = Observer(
            on_head=self._on_head, on_size=self._on_size, on_progress=self._on_progress, on_call=self._on_call
        )

    def check_claim(self) -> None:
        """Stop if the review was called off, as far as this process knows; raises LlmCancelled."""
        if self.observer.cancelled.is_set():
            raise LlmCancelled("the review was called off")

    def check_row(self) -> None:
        """Stop if the review is not ours any more: somebody else may be writing on the pull request already."""
        self.check_claim()
        if not claims.is_current(self.resources.database, self.claimed):
            raise LlmCancelled("the review was called off")

    def _on_head(self, pull_request: PullRequest) -> None:
        self.mark.move_to(pull_request.head_sha)
        outcome = claims.set_head(
            self.resources.database, self.claimed, pull_request.head_sha, pull_request.base_sha
        )
        if outcome is HeadOutcome.LOST:
            raise LlmCancelled("the review was called off while it was starting")
        if outcome is HeadOutcome.TAKEN:
            raise ReviewSkipped("this head is under review already")
        self.mark.set(render.status_reading(0, 1))

    def _on_size(self, estimated_tokens: int) -> None:
        self.check_claim()
        is_low = estimated_tokens > self.resources.settings.low_queue_tokens
        # One that was known to be long and is here all the same has waited too long in `low`: it stays.
        is_news = self.claimed.estimated_tokens <= self.resources.settings.low_queue_tokens
        if is_low and is_news and self.claimed.queue == HIGH:
            self._move_to_low(estimated_tokens)
        # The other way round it would only wait a second time; it keeps its place and is counted as what it is.
        self.queue = LOW if is_low else HIGH

    def _move_to_low(self, estimated_tokens: int) -> None:
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
        self.mark.set(render.status_queued(LOW, estimated_tokens))
        self.resources.publish(self.claimed.review_id, LOW)
        raise ReviewRequeued("moved to the queue low")

    def _on_progress(self, done: int, chunks: int) -> None:
        self.check_claim()
        if self.mark.is_due():
            self.check_row()
            self.mark.set(render.status_reading(done, chunks))

    def _on_call(self, call: LlmCall) -> None:
        llm_calls.record_llm_call(
            self.resources.database,
            self.claimed.review_id,
            call_record(call, self.claimed.attempt, self.resources.now()),
        )
