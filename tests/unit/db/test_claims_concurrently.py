"""bot.db.claims under contention: eight workers, every message delivered twice, on both databases."""

import random
import threading
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from bot.db.claims import ClaimedReview, ClaimRefusal, ClaimRefused, claim, finish
from bot.db.engine import open_database
from bot.db.handover import hand_on
from bot.db.lookups import list_reviews
from bot.db.reviews import enqueue, supersede_older
from bot.db.tables import ReviewState
from bot.events import PullRequestRef
from tests.unit.db.builders import NEWER, PR, after, claimed_review, new_review, queue_review, read

THREADS = 8
LIMIT = 2
REPOSITORIES = 3
REVIEWS = 60
PULL_REQUESTS = 4


@pytest.fixture
def workers(database_url):
    """Give a database for each worker, as separate processes have: the threads of one would take turns."""
    opened = [open_database(database_url) for _ in range(THREADS)]
    yield opened
    for each in opened:
        each.close()


class Runs:
    """Counts who runs, as the workers themselves see it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.started = Counter()
        self.running = defaultdict(int)
        self.most = defaultdict(int)

    def begin(self, claimed):
        with self.lock:
            self.started[claimed.review_id] += 1
            for shared in (claimed.ref.repository, claimed.ref):
                self.running[shared] += 1
                self.most[type(shared)] = max(self.most[type(shared)], self.running[shared])

    def end(self, claimed):
        with self.lock:
            for shared in (claimed.ref.repository, claimed.ref):
                self.running[shared] -= 1


def test_b8_every_review_runs_once_within_the_limits_of_repository_and_pull_request(database, workers):
    queued = []
    for n in range(REVIEWS):
        ref = replace(PR, repository=f"team/{n % REPOSITORIES}", number=n // REPOSITORIES % PULL_REQUESTS)
        queued.append(queue_review(database, new_review(ref=ref, head_sha=f"{n:040}")).review_id)
    runs = Runs()

    def deliver(database, review_id):
        while review_id is not None:
            repository = read(database, review_id).ref.repository
            claimed = claim(database, review_id, lease_s=60, repository_limit=LIMIT, now=after(0))
            if claimed == ClaimRefused(reason=ClaimRefusal.REPOSITORY_BUSY):
                # Not to be tried again: the repository's running workers pull the next one.
                return
            if isinstance(claimed, ClaimedReview):
                runs.begin(claimed)
                threading.Event().wait(0.02)
                runs.end(claimed)
                assert finish(
                    database, claimed, state=ReviewState.DONE, reason="", now=after(1), latency=None
                )
            following = hand_on(database, "github", repository, after(1))
            review_id = following[0] if following else None

    messages = queued * 2
    random.Random(1).shuffle(messages)
    with ThreadPoolExecutor(THREADS) as pool:
        deliveries = [
            pool.submit(deliver, workers[n % len(workers)], message) for n, message in enumerate(messages)
        ]
        for done in deliveries:
            done.result()
    assert runs.started == dict.fromkeys(queued, 1)
    assert runs.most[str] <= LIMIT
    assert runs.most[PullRequestRef] == 1
    assert {review.state for review in list_reviews(database)} == {ReviewState.DONE}


def test_eight_workers_at_once_get_exactly_as_many_places_as_there_are(database, workers):
    """All look at the same moment: without a lock around counting and taking, all would see a free place."""
    queued = [queue_review(database, new_review(ref=replace(PR, number=n))).review_id for n in range(THREADS)]
    start = threading.Barrier(THREADS)

    def take(worker, review_id):
        start.wait()
        return claim(worker, review_id, lease_s=60, repository_limit=LIMIT, now=after(0))

    with ThreadPoolExecutor(THREADS) as pool:
        outcomes = list(pool.map(take, workers, queued))
    assert sum(isinstance(outcome, ClaimedReview) for outcome in outcomes) == LIMIT


def test_eight_workers_at_once_get_one_review_of_a_pull_request(database, workers):
    queued = [queue_review(database, new_review(head_sha=f"{n:040}")).review_id for n in range(THREADS)]
    start = threading.Barrier(THREADS)

    def take(worker, review_id):
        start.wait()
        return claim(worker, review_id, lease_s=60, repository_limit=THREADS, now=after(0))

    with ThreadPoolExecutor(THREADS) as pool:
        outcomes = list(pool.map(take, workers, queued))
    refusal = ClaimRefused(reason=ClaimRefusal.PULL_REQUEST_BUSY)
    assert sum(isinstance(outcome, ClaimedReview) for outcome in outcomes) == 1
    assert outcomes.count(refusal) == THREADS - 1


def test_either_finish_or_supersede_wins_never_both(database):
    for n in range(20):
        ref = replace(PR, number=n)
        claimed = claimed_review(database, new_review(ref=ref))
        start = threading.Barrier(2)

        def supersede(ref=ref, start=start):
            start.wait()
            with database.transaction() as connection:
                enqueue(connection, new_review(ref=ref, head_sha=NEWER))
                return supersede_older(connection, ref, NEWER, after(5))

        def end(claimed=claimed, start=start):
            start.wait()
            return finish(database, claimed, state=ReviewState.DONE, reason="", now=after(5), latency=None)

        with ThreadPoolExecutor(2) as pool:
            superseded, finished = pool.submit(supersede), pool.submit(end)
        assert finished.result() != bool(superseded.result())
        expected = ReviewState.DONE if finished.result() else ReviewState.SUPERSEDED
        assert read(database, claimed.review_id).state is expected
