"""The bot as a GitHub App: check runs in place of commit statuses."""

import pytest

from bot.db.tables import ReviewState
from tests.world import World, finding

pytestmark = pytest.mark.forge("github")


def test_a_check_run_is_opened_and_ends_with_what_was_found(app_world: World) -> None:
    app_world.llm.will_say([finding()])
    pull = app_world.open_pull_request()
    app_world.run()

    (run,) = pull.state.check_runs
    assert (run.status, run.conclusion) == ("completed", "success")
    assert pull.status == ("success", "1 finding (1 high) in 1 of 1 file")
    assert pull.inline == ["app.py:6 RIGHT"]
    assert pull.state.statuses == ()


def test_a_check_run_of_a_failed_review_ends_as_failed(app_world: World) -> None:
    pull = app_world.open_pull_request()
    app_world.llm.fail(404, times=99)
    app_world.run()

    (run,) = pull.state.check_runs
    assert (run.status, run.conclusion) == ("completed", "failure")
    assert pull.review.state is ReviewState.FAILED


def test_a_check_run_of_a_replaced_head_ends_as_neutral(app_world: World) -> None:
    pull = app_world.open_pull_request()

    def push_then_answer(_request: object) -> list[dict[str, object]]:
        if len(app_world.llm.requests) == 1:
            pull.push({"other.py": "X = 1\n"})
        return []

    app_world.llm.answer_with(push_then_answer)
    app_world.run()

    assert sorted(run.conclusion for run in pull.state.check_runs) == ["neutral", "success"]


def test_review_by_comment_works_with_an_app_too(app_world: World) -> None:
    pull = app_world.open_pull_request()
    app_world.run()
    app_world.llm.will_say([finding()])
    comment = pull.comment("@redline review")
    app_world.run()

    assert pull.state.reactions[comment] == [("redline-app[bot]", "eyes")]
    assert pull.inline == ["app.py:6 RIGHT"]


def test_tokens_that_expired_are_renewed(app_world: World) -> None:
    pull = app_world.open_pull_request()
    app_world.run()
    app_world.github.expire_tokens()
    app_world.llm.will_say([finding()])
    pull.comment("/review full")
    app_world.run()

    assert pull.inline == ["app.py:6 RIGHT"]


def test_a_crash_right_after_the_check_run_was_made_leaves_exactly_one_that_ends(app_world: World) -> None:
    app_world.llm.will_say([finding()])
    pull = app_world.open_pull_request()
    app_world.crash_after("set_status")
    app_world.expect_crash()
    assert [run.status for run in pull.state.check_runs] == ["in_progress"]
    assert pull.review.status_id == "", "its id was lost"
    app_world.sweep(after_s=app_world.settings.lease_s + 11)
    app_world.run()

    (run,) = pull.state.check_runs
    assert (run.status, run.conclusion) == ("completed", "success")


def test_a_check_run_whose_answer_was_lost_is_not_made_twice(app_world: World) -> None:
    pull = app_world.open_pull_request()
    app_world.github.fail("POST", r"/check-runs$", status=502, after_storing=True)
    app_world.run()

    (run,) = pull.state.check_runs
    assert (run.status, run.conclusion) == ("completed", "success")


def test_a_check_run_that_a_crash_left_ends_although_its_head_was_replaced(app_world: World) -> None:
    pull = app_world.open_pull_request()
    old_head = pull.state.head_sha
    app_world.crash_after("set_status")
    app_world.expect_crash()
    pull.push({"other.py": "X = 1\n"})
    app_world.sweep(after_s=app_world.settings.lease_s + 61)
    app_world.run()

    ends = {run.head_sha: (run.status, run.conclusion) for run in pull.state.check_runs}
    assert ends == {old_head: ("completed", "neutral"), pull.state.head_sha: ("completed", "success")}
    assert len(pull.state.check_runs) == 2


def test_two_reviews_of_one_head_have_a_check_run_each(app_world: World) -> None:
    pull = app_world.open_pull_request()
    app_world.run()
    pull.comment("/review")
    app_world.run()

    assert [run.external_id for run in pull.state.check_runs] == [
        str(review.review_id) for review in reversed(app_world.reviews())
    ]
