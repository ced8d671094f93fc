"""Something breaks on the way; nothing is lost, nothing is said twice, and the author sees the end."""

import threading
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from bot.db.tables import ReviewState
from tests.world import World, finding


@pytest.mark.parametrize("method", ["get_diff", "post_review", "post_comment", "set_status"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_that_dies_is_made_up_for_without_repeating_anything(
    world: World, when: str, method: str
) -> None:
    world.llm.answer_with(lambda _request: [finding()])
    pull = world.open_pull_request()
    getattr(world, f"crash_{when}")(method)
    world.expect_crash()
    world.sweep(after_s=world.settings.lease_s + 11)
    world.run()

    assert pull.inline == ["app.py:6 RIGHT"]
    assert pull.published == 1
    assert pull.summary.startswith("**1 finding")
    assert "already stand" not in pull.summary, "its own comments are no earlier review's"
    assert pull.status[0] == "success"
    assert len(world.latency()) == 1


def test_posting_again_does_not_ask_the_model_again(world: World) -> None:
    world.llm.answer_with(lambda _request: [finding()])
    pull = world.open_pull_request()
    world.crash_before("post_review")
    world.expect_crash()
    world.sweep(after_s=world.settings.lease_s + 11)
    world.run()

    assert len(world.llm.requests) == 1
    assert pull.inline == ["app.py:6 RIGHT"]


@pytest.mark.parametrize("fault", [{"status": 502}, {"drop_connection": True}])
def test_an_unclear_answer_leads_to_a_look_never_to_a_second_comment(
    world: World, fault: dict[str, object]
) -> None:
    world.llm.answer_with(lambda _request: [finding()])
    pull = world.open_pull_request()
    world.host.fail("review", after_storing=True, **fault)
    world.host.fail("comment", after_storing=True, **fault)
    world.run()

    assert pull.inline == ["app.py:6 RIGHT"]
    assert pull.published == 1
    assert pull.summary


def test_a_review_that_was_not_stored_is_posted_later(world: World) -> None:
    world.llm.answer_with(lambda _request: [finding()])
    pull = world.open_pull_request()
    world.host.fail("review", status=502)
    world.run()
    assert pull.review.state is ReviewState.QUEUED
    assert "Next try at" in pull.status[1]

    world.sweep(after_s=60)
    world.run()
    assert pull.inline == ["app.py:6 RIGHT"]
    assert len(world.llm.requests) == 1


def test_an_engine_that_is_down_is_waited_for(world: World) -> None:
    world.llm.will_say([finding()])
    pull = world.open_pull_request()
    world.llm.fail(503, times=2)
    world.run()

    assert pull.inline == ["app.py:6 RIGHT"]


@pytest.mark.settings(llm_deadline_s=1.0)
def test_an_engine_that_stays_down_ends_in_a_visible_failure(world: World) -> None:
    """Case F1: never "no issues"."""
    pull = world.open_pull_request()
    world.llm.stop()
    for _ in range(world.settings.max_attempts):
        world.run()
        world.sweep(after_s=1000)
    world.run()

    assert pull.review.state is ReviewState.FAILED
    assert pull.summary.startswith("**The review could not be finished.**")
    assert "engine" in pull.summary
    assert "`/review`" in pull.summary
    assert f"reference {pull.review.review_id}" in pull.summary
    assert pull.status[0] == "failure"
    assert [row.outcome for row in world.latency()] == ["failed"]


def test_an_answer_that_cannot_be_read_is_not_an_empty_one(world: World) -> None:
    """Cases F2 and F6: asked once more, then said."""
    world.llm.answer_with(lambda _request: "I think the code is fine, well done!")
    pull = world.open_pull_request()
    world.run()

    assert len(world.llm.requests) == 2
    assert pull.summary.startswith("**Partly reviewed: 1 file could not be read to the end**")
    assert pull.state.conversation
    assert pull.status[0] != "failure"


def test_a_wrong_model_name_fails_at_once_and_says_what_to_change(world: World) -> None:
    pull = world.open_pull_request()
    world.llm.fail(404, times=99)
    world.run()

    assert pull.review.state is ReviewState.FAILED
    assert pull.review.attempt == 1
    assert "REDLINE_LLM_" in pull.review.reason


def test_a_missing_permission_is_named(world: World) -> None:
    """Case J1: a clear error, no storm of retries."""
    pull = world.open_pull_request()
    world.host.deny("pull request", times=99)
    world.run()

    assert pull.review.state is ReviewState.FAILED
    assert world.host.read_permission in pull.review.reason.lower()
    assert pull.review.attempt == 1


def test_what_an_attempt_wrote_and_did_not_publish_is_removed(world: World) -> None:
    """Case B7."""
    world.llm.will_say([finding()])
    pull = world.open_pull_request()
    world.host.leave_unpublished(pull.number)
    world.run()

    assert pull.inline == ["app.py:6 RIGHT"]
    assert pull.published == 1
    assert "left over" not in str(pull.state)


def test_a_rate_limit_is_waited_for(world: World) -> None:
    """Case J3: one wait, bounded, no loop."""
    world.llm.answer_with(lambda _request: [finding()])
    pull = world.open_pull_request()
    world.host.limit("review", retry_after_s=600)
    world.run()
    assert pull.review.state is ReviewState.QUEUED
    assert pull.review.not_before is not None
    assert pull.review.not_before > world.now() + timedelta(seconds=500)

    world.sweep(after_s=700)
    world.run()
    assert pull.inline == ["app.py:6 RIGHT"]


def test_a_message_that_the_broker_lost_is_published_again(world: World) -> None:
    world.llm.will_say([finding()])
    world.broker_is_down = True
    pull = world.open_pull_request()
    assert world.queue == []
    world.broker_is_down = False
    world.sweep(after_s=30)
    world.run()

    assert pull.inline == ["app.py:6 RIGHT"]


def test_a_lost_message_of_a_review_that_was_handed_a_place_is_made_up_for_soon(world: World) -> None:
    world.open_pull_request()
    following = world.open_pull_request()
    world.sweep(after_s=11)
    assert following.review.published_at is not None
    world.queue = world.queue[:1]  # the other's messages found the repository busy
    world.broker_is_down = True
    world.run()
    world.broker_is_down = False
    world.sweep(after_s=11)
    world.run()

    assert following.review.state is ReviewState.DONE


def test_a_message_that_comes_twice_is_worked_on_once(world: World) -> None:
    """Case B8."""
    pull = world.open_pull_request()
    world.queue *= 2
    world.run()

    assert len(world.llm.requests) == 1
    assert pull.review.state is ReviewState.DONE


def test_a_delivery_that_comes_twice_is_one_review(world: World) -> None:
    """Case B1."""
    pull = world.open_pull_request()
    world.sandbox.redeliver(world.sandbox.deliveries[-1].guid)
    world.run()

    assert len(world.reviews()) == 1
    assert len(pull.state.conversation) == 1


def test_an_end_that_could_not_be_shown_is_shown_later(world: World) -> None:
    pull = world.open_pull_request()

    def lose_the_status_then_answer(_request: object) -> list[dict[str, object]]:
        world.host.fail("status", status=502)
        return []

    world.llm.answer_with(lose_the_status_then_answer)
    world.run()
    assert pull.review.state is ReviewState.DONE
    assert pull.review.told_at is None
    assert pull.status[0] == "pending"

    world.sweep(after_s=60)
    assert pull.review.told_at is not None
    assert pull.status[0] == "success"


def test_a_forge_that_stays_away_is_asked_ever_less_often(world: World) -> None:
    pull = world.open_pull_request()

    def lose_the_forge_then_answer(_request: object) -> list[dict[str, object]]:
        world.host.fail("status", status=502, times=9)
        return []

    world.llm.answer_with(lose_the_forge_then_answer)
    world.run()
    asked = []
    for minute in range(1, 61):
        before = len(world.sandbox.requests)
        world.sweep(after_s=60)
        asked += [minute] * (len(world.sandbox.requests) > before)
    pauses = [later - earlier for earlier, later in pairwise(asked)]
    assert len(asked) in (5, 6)
    assert pauses == sorted(pauses)
    assert pauses[-1] >= 8
    assert pull.review.told_at is None

    for _ in range(5):
        world.sweep(after_s=3700)
    assert pull.review.told_at is not None
    assert pull.status[0] == "success"


def test_a_forge_that_asks_to_wait_is_not_asked_before(world: World) -> None:
    pull = world.open_pull_request()

    def limit_then_answer(_request: object) -> list[dict[str, object]]:
        world.host.limit("status", retry_after_s=600)
        return []

    world.llm.answer_with(limit_then_answer)
    world.run()
    before = len(world.sandbox.requests)
    world.sweep(after_s=500)
    assert len(world.sandbox.requests) == before
    world.sweep(after_s=200)
    assert pull.review.told_at is not None


def test_what_a_failed_review_cost_is_in_its_latency_row(world: World) -> None:
    pull = world.open_pull_request()
    world.host.deny("comments")
    world.run()
    assert pull.review.state is ReviewState.FAILED

    (row,) = world.latency()
    assert (row.outcome, row.llm_calls, row.chunks) == ("failed", 1, 1)
    assert row.prompt_tokens > 0
    assert row.completion_tokens > 0
    assert row.model == world.llm.model
    assert row.ttft_ms
    assert row.llm_ms
    assert row.ttft_ms <= row.llm_ms <= row.total_ms  # type: ignore[operator] # a failed review has a total


def test_a_review_that_kills_its_workers_has_its_latency_row_too(world: World) -> None:
    world.llm.answer_with(lambda _request: [finding()])
    pull = world.open_pull_request()
    for _ in range(world.settings.max_attempts):
        world.crash_before("post_review")
        world.expect_crash()
        world.sweep(after_s=world.settings.lease_s + 11)
    assert pull.review.state is ReviewState.FAILED

    (row,) = world.latency()
    assert (row.outcome, row.llm_calls) == ("failed", 1)
    assert row.prompt_tokens > 0
    assert row.total_ms
    assert row.total_ms > row.wait_ms  # type: ignore[operator] # it was claimed
    world.sweep(after_s=61)
    assert pull.status[0] == "failure"


def test_a_reaction_that_is_refused_does_not_cost_the_review(world: World) -> None:
    world.llm.will_say([finding()])
    pull = world.open_pull_request(draft=True)
    world.host.deny("reaction")
    pull.comment("/review")
    world.run()

    assert pull.inline == ["app.py:6 RIGHT"]


def test_an_old_failure_does_not_replace_a_newer_summary(world: World) -> None:
    pull = world.open_pull_request()
    world.llm.fail(404)
    world.host.fail("comments", status=502, times=3)
    world.step()
    assert pull.review.state is ReviewState.FAILED
    assert pull.review.told_at is None
    pull.comment("/review")
    world.run()
    world.sweep(after_s=120)
    world.run()

    assert pull.summary.startswith("**No issues found")


def test_a_status_whose_answer_was_lost_still_ends(world: World) -> None:
    pull = world.open_pull_request()
    world.host.fail("status", status=502, after_storing=True)
    world.run()

    assert pull.status[0] == "success"


@pytest.mark.settings(llm_deadline_s=2.0)
def test_an_engine_that_is_too_slow_for_a_part_is_asked_again_later(world: World) -> None:
    pull = world.open_pull_request(
        {"long.py": "".join(f"value_{n} = compute({n}) + 1\n" for n in range(900))}
    )
    world.llm.hang(after_chunks=0)
    world.run()
    assert pull.review.state is ReviewState.QUEUED
    assert "did not" in pull.review.reason or "within" in pull.review.reason

    world.sweep(after_s=60)
    world.run()
    assert pull.summary.startswith("**No issues found in 1 of 1 file**")


@pytest.mark.parametrize(
    "stall",
    [
        pytest.param(lambda world: world.llm.loading(10_000), id="the engine is loading"),
        pytest.param(lambda world: world.llm.hang(after_chunks=2), id="the model hangs"),
    ],
)
def test_a_worker_that_is_to_stop_waits_for_no_engine(world: World, stall: Callable[[World], None]) -> None:
    pull = world.open_pull_request()
    stall(world)
    threading.Timer(0.3, world.resources.stopping.set).start()
    world.step()
    assert pull.review.state is ReviewState.QUEUED
    assert pull.review.attempt == 0, "being stopped is not a try"

    world.llm.loading(-10_000)
    world.resources.stopping.clear()
    world.run()
    assert pull.review.state is ReviewState.DONE
