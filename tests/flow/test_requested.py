"""Somebody writes `/review`."""

import pytest

from bot.db.tables import ReviewState
from tests.world import World, finding


def test_review_acknowledges_and_reviews_the_same_head_again(world: World) -> None:
    """Case B10: a first review exists, and asking again reviews again."""
    pull = world.open_pull_request()
    world.run()
    world.llm.will_say([finding()])
    comment = pull.comment("/review")
    world.run()

    assert pull.state.reactions[comment] == [("redline-bot", "eyes")]
    assert pull.inline == ["app.py:6 RIGHT"]
    assert [each.trigger for each in world.reviews()] == [f"comment:conversation:{comment}", "auto"]


def test_review_under_a_line_works_too(world: World) -> None:
    world.llm.will_say([finding()])
    pull = world.open_pull_request()
    world.run()
    first = pull.state.comments[0].id
    reply = pull.reply(first, "/review")
    world.run()

    assert pull.state.reactions[reply] == [("redline-bot", "eyes")]
    assert len(world.reviews()) == 2
    assert pull.inline == ["app.py:6 RIGHT"], "the same finding is not posted twice"


@pytest.mark.parametrize("login", ["grace", "mallory"])
def test_people_without_write_access_may_not_ask(world: World, login: str) -> None:
    """Case M3."""
    pull = world.open_pull_request()
    world.run()
    asked = len(world.llm.requests)
    comment = pull.comment("/review", author=login)
    world.run()

    assert len(world.llm.requests) == asked
    assert pull.review.state is ReviewState.SKIPPED
    assert f"{login} has no write access" in pull.review.reason
    assert comment not in pull.state.reactions or pull.state.reactions[comment] == []


@pytest.mark.parametrize(
    "body", ["please /review", "/reviewer ada", "/review https://evil.example/x.git", "> /review"]
)
def test_only_the_exact_command_at_the_start_of_a_line_counts(world: World, body: str) -> None:
    """Case M1."""
    pull = world.open_pull_request()
    world.run()
    pull.comment(body)
    world.run()

    assert len(world.reviews()) == 1


def test_a_draft_can_be_asked_for(world: World) -> None:
    world.llm.will_say([finding()])
    pull = world.open_pull_request(draft=True)
    pull.comment("/review")
    world.run()

    assert pull.inline == ["app.py:6 RIGHT"]


def test_own_comments_are_not_answered(world: World) -> None:
    """Case B9."""
    pull = world.open_pull_request()
    world.run()
    before = len(world.reviews())
    pull.comment("/review\n\n<!-- redline:summary=1 -->")
    world.run()

    assert len(world.reviews()) == before


def test_asking_is_capped_per_hour(world: World) -> None:
    """Case M3: the cap counts what was taken on; who asks once more sees that it was not."""
    pull = world.open_pull_request()
    comments = [pull.comment("/review") for _ in range(world.settings.reviews_per_hour + 2)]
    world.run()

    states = [review.state for review in world.reviews() if review.comment]
    assert states.count(ReviewState.DONE) == world.settings.reviews_per_hour
    assert states.count(ReviewState.SKIPPED) == 2
    signs = [pull.state.reactions[comment] for comment in comments]
    assert signs[:-2] == [[("redline-bot", "eyes")]] * world.settings.reviews_per_hour
    assert signs[-2:] == [[("redline-bot", "confused")]] * 2


def test_a_stranger_gets_no_sign_even_when_too_many_have_asked(world: World) -> None:
    pull = world.open_pull_request()
    for _ in range(world.settings.reviews_per_hour):
        pull.comment("/review")
    world.run()
    comment = pull.comment("/review", author="mallory")
    world.run()

    assert "mallory has no write access" in pull.review.reason
    assert not pull.state.reactions.get(comment)


def test_asking_on_a_closed_pull_request_is_answered_with_one_sign(world: World) -> None:
    pull = world.open_pull_request()
    world.run()
    pull.close()
    asked = len(world.llm.requests)
    comment = pull.comment("/review")
    world.run()

    assert pull.review.state is ReviewState.SKIPPED
    assert pull.state.reactions[comment] == [("redline-bot", "confused")]
    assert len(world.llm.requests) == asked
