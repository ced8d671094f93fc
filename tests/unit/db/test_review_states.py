"""The state machine of a review, driven at random and compared with a model of a few lines."""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bot.db.claims import ClaimedReview, ClaimRefusal, claim, finish, is_current, renew_lease, requeue
from bot.db.engine import open_database
from bot.db.handover import hand_on
from bot.db.lookups import list_reviews
from bot.db.migrate import migrate
from bot.db.reviews import enqueue, supersede_older, withdraw
from bot.db.sweeping import due_for_publish, expire_leases, mark_told, untold
from bot.db.tables import ReviewState
from bot.events import PullRequestRef
from tests.unit.db.builders import after, new_review

LIMIT = 2
LEASE_S = 10
MAX_ATTEMPTS = 3
FINAL = (ReviewState.DONE, ReviewState.SKIPPED, ReviewState.FAILED, ReviewState.SUPERSEDED)
# More pull requests in the first repository than may run there at once, and one with the same number elsewhere.
REFS = [
    PullRequestRef(forge="github", repository=repository, number=number)
    for repository, number in (("team/0", 0), ("team/0", 1), ("team/0", 2), ("team/1", 0))
]
refs = st.sampled_from(REFS)
heads = st.sampled_from(["a" * 40, "b" * 40])


@dataclass
class Expected:
    """What the model knows of one review."""

    ref: PullRequestRef
    head: str
    state: ReviewState = ReviewState.QUEUED
    attempt: int = 0
    lease_until: int = 0
    not_before: int = 0
    claims: list[ClaimedReview] = field(default_factory=list)

    @property
    def is_unfinished(self):
        return self.state in (ReviewState.QUEUED, ReviewState.RUNNING)


class Reviews(RuleBasedStateMachine):
    template: Path

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "redline.db"
        shutil.copyfile(self.template, path)
        self.database = open_database(f"sqlite:///{path}")
        self.model: dict[int, Expected] = {}
        self.now = 0
        self.requests = 0

    def teardown(self):
        self.database.close()
        self.folder.cleanup()

    @initialize()
    def begin(self):
        assert list_reviews(self.database) == []

    @rule(seconds=st.integers(1, 15))
    def time_passes(self, seconds):
        self.now += seconds

    @rule(ref=refs, head=heads)
    def push(self, ref, head):
        with self.database.transaction() as connection:
            enqueued = enqueue(connection, new_review(ref=ref, head_sha=head, received_at=after(self.now)))
            supersede_older(connection, ref, head, after(self.now))
        before = self.model.get(enqueued.review_id)
        outcomes = {"queued": "already_queued", "running": "already_running", "done": "already_reviewed"}
        expected = "queued" if before is None else outcomes.get(before.state, "requeued")
        assert enqueued.outcome == expected
        if before is None:
            self.model[enqueued.review_id] = Expected(ref=ref, head=head)
        elif expected == "requeued":
            before.state, before.attempt, before.not_before = ReviewState.QUEUED, 0, 0
        for other in self.model.values():
            if other.ref == ref and other.is_unfinished and other.head not in ("", head):
                other.state = ReviewState.SUPERSEDED

    @rule(ref=refs)
    def request(self, ref):
        self.requests += 1
        with self.database.transaction() as connection:
            enqueued = enqueue(
                connection, new_review(ref=ref, comment_id=str(self.requests), received_at=after(self.now))
            )
        assert enqueued.outcome == "queued"
        self.model[enqueued.review_id] = Expected(ref=ref, head="")

    @rule(ref=refs)
    def close(self, ref):
        with self.database.transaction() as connection:
            ended = withdraw(connection, ref, "closed", after(self.now))
        affected = [each for each in self.model.values() if each.ref == ref and each.is_unfinished]
        assert ended == len(affected)
        for each in affected:
            each.state = ReviewState.SKIPPED

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def deliver_message(self, data):
        self.deliver(data.draw(st.sampled_from(sorted(self.model))))

    @rule()
    def deliver_all_that_is_due(self):
        for review_id, _ in due_for_publish(self.database, after(self.now), 900):
            self.deliver(review_id)

    def deliver(self, review_id):
        expected = self.model[review_id]
        outcome = claim(
            self.database, review_id, lease_s=LEASE_S, repository_limit=LIMIT, now=after(self.now)
        )
        running = [
            each.ref
            for each in self.model.values()
            if each.state is ReviewState.RUNNING and each.ref.repository == expected.ref.repository
        ]
        if expected.state is not ReviewState.QUEUED:
            assert outcome.reason is ClaimRefusal.NOT_QUEUED
        elif expected.not_before > self.now:
            assert outcome.reason is ClaimRefusal.NOT_DUE
        elif expected.ref in running:
            assert outcome.reason is ClaimRefusal.PULL_REQUEST_BUSY
        elif len(running) >= LIMIT:
            assert outcome.reason is ClaimRefusal.REPOSITORY_BUSY
        else:
            expected.state = ReviewState.RUNNING
            expected.attempt += 1
            expected.lease_until = self.now + LEASE_S
            expected.claims.append(outcome)
            assert outcome.attempt == expected.attempt

    def draw_claim(self, data):
        """Draw any claim that was ever made, and whether it should still hold."""
        review_id = data.draw(st.sampled_from(sorted(key for key, each in self.model.items() if each.claims)))
        expected = self.model[review_id]
        claimed = data.draw(st.sampled_from(expected.claims))
        holds = expected.state is ReviewState.RUNNING and claimed is expected.claims[-1]
        assert is_current(self.database, claimed) == holds
        return expected, claimed, holds

    @precondition(lambda self: any(each.claims for each in self.model.values()))
    @rule(data=st.data(), state=st.sampled_from(FINAL))
    def worker_finishes(self, data, state):
        expected, claimed, holds = self.draw_claim(data)
        ended = finish(self.database, claimed, state=state, reason="", now=after(self.now), latency=None)
        assert ended == holds
        if holds:
            expected.state = state

    @precondition(lambda self: any(each.claims for each in self.model.values()))
    @rule(data=st.data(), wait_s=st.integers(0, 20), counts=st.booleans())
    def worker_gives_back(self, data, wait_s, counts):
        expected, claimed, holds = self.draw_claim(data)
        not_before = self.now + wait_s
        given_back = requeue(
            self.database,
            claimed,
            now=after(self.now),
            reason="",
            not_before=after(not_before),
            count_attempt=counts,
        )
        assert given_back == holds
        if holds:
            expected.state, expected.not_before = ReviewState.QUEUED, not_before
            expected.attempt -= not counts

    @precondition(lambda self: any(each.claims for each in self.model.values()))
    @rule(data=st.data())
    def worker_renews(self, data):
        expected, claimed, holds = self.draw_claim(data)
        assert renew_lease(self.database, claimed, after(self.now), LEASE_S) == holds
        if holds:
            expected.lease_until = self.now + LEASE_S

    @rule()
    def sweep(self):
        expired = expire_leases(self.database, after(self.now), MAX_ATTEMPTS)
        for review_id, expected in self.model.items():
            if expected.state is ReviewState.RUNNING and expected.lease_until < self.now:
                failed = expected.attempt >= MAX_ATTEMPTS
                assert review_id in (expired.failed if failed else expired.requeued)
                expected.state = ReviewState.FAILED if failed else ReviewState.QUEUED
                expected.not_before = 0
        mark_told(self.database, untold(self.database, after(self.now), 5), after(self.now))

    @invariant()
    def rows_are_as_the_model_says(self):
        rows = {row.review_id: row for row in list_reviews(self.database)}
        assert {key: (row.state, row.attempt) for key, row in rows.items()} == {
            key: (each.state, each.attempt) for key, each in self.model.items()
        }
        for row in rows.values():
            assert (row.lease_until is not None) == (row.state is ReviewState.RUNNING)
            assert (row.finished_at is not None) == (row.state in FINAL)
            assert row.told_at is None or row.state in FINAL

    @invariant()
    def waiting_reviews_are_published_when_due(self):
        due = {review_id for review_id, _ in due_for_publish(self.database, after(self.now), 900)}
        assert due == {
            key
            for key, each in self.model.items()
            if each.state is ReviewState.QUEUED and each.not_before <= self.now
        }

    @invariant()
    def one_review_of_a_pull_request_runs_and_the_next_is_of_another(self):
        busy = [each.ref for each in self.model.values() if each.state is ReviewState.RUNNING]
        assert len(busy) == len(set(busy))
        for repository in ("team/0", "team/1"):
            eligible = {
                key
                for key, each in self.model.items()
                if each.ref.repository == repository
                and each.state is ReviewState.QUEUED
                and each.not_before <= self.now
                and each.ref not in busy
            }
            following = hand_on(self.database, "github", repository, after(self.now))
            assert (following[0] in eligible) if following else not eligible


@pytest.fixture(autouse=True)
def _template(tmp_path):
    Reviews.template = tmp_path / "template.db"
    migrate(f"sqlite:///{Reviews.template}")


TestReviews = Reviews.TestCase
TestReviews.settings = settings(
    max_examples=12, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
