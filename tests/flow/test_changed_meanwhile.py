"""The pull request changes while its review waits or runs."""

from bot.db.tables import ReviewState
from tests.llm_server import ChatRequest
from tests.world import UNSAFE_APP, World, finding


def test_a_push_replaces_the_review_that_waits(world: World) -> None:
    world.llm.answer_with(lambda _request: [finding()])
    pull = world.open_pull_request()
    head = pull.push({"app.py": UNSAFE_APP + "\n\nX = 1\n"})
    world.run()

    assert [(each.state, each.head_sha == head) for each in world.reviews()] == [
        (ReviewState.DONE, True),
        (ReviewState.SUPERSEDED, False),
    ]
    assert len(world.llm.requests) == 1
    assert {each.commit_id for each in pull.state.comments} == {head}


def test_a_push_while_the_model_runs_ends_the_old_review(world: World) -> None:
    """Case A14."""
    pull = world.open_pull_request()

    def push_then_answer(_request: object) -> list[dict[str, object]]:
        if len(world.llm.requests) == 1:
            pull.push({"app.py": UNSAFE_APP + "\n\nX = 1\n"})
        return [finding()]

    world.llm.answer_with(push_then_answer)
    old_head = pull.state.head_sha
    world.run()

    assert [each.state for each in world.reviews()] == [ReviewState.DONE, ReviewState.SUPERSEDED]
    assert {each.commit_id for each in pull.state.comments} == {pull.state.head_sha}
    ends = {sha: state for sha, _context, state, _description in pull.state.statuses}
    assert ends[old_head] == "success", "the mark on the old head is closed"


def test_the_same_finding_is_not_posted_again_after_a_push(world: World) -> None:
    """Case B3: known by path, code and category, not by line number."""

    def find_it(request: ChatRequest) -> list[dict[str, object]]:
        lines = [line for line in ("1R6", "1R8") if f"{line} +    return" in request.prompt]
        return [finding(line=line) for line in lines]

    world.llm.answer_with(find_it)
    pull = world.open_pull_request()
    world.run()
    pull.push({"app.py": "# The loader.\n# It loads.\n" + UNSAFE_APP})
    world.run()
    pull.comment("/review full")
    world.run()

    assert len(pull.state.comments) == 1
    assert "1 of them already stands" in pull.summary
    assert len(pull.state.conversation) == 2, "the summary was edited, not posted again"


def test_a_finding_is_not_posted_again_after_somebody_deleted_it(world: World) -> None:
    world.llm.answer_with(lambda _request: [finding()])
    pull = world.open_pull_request()
    world.run()
    world.host.delete_inline_comment(pull.number, pull.state.comments[0].id)
    pull.comment("/review")
    world.run()

    assert not pull.state.comments


def test_closing_ends_what_waits(world: World) -> None:
    pull = world.open_pull_request()
    pull.close()
    world.run()

    assert world.llm.requests == []
    assert pull.review.state is ReviewState.SKIPPED
    assert not pull.state.conversation


def test_turning_into_a_draft_ends_what_waits_and_ready_starts_again(world: World) -> None:
    pull = world.open_pull_request()
    pull.convert_to_draft()
    world.run()
    assert pull.review.state is ReviewState.SKIPPED

    world.llm.will_say([finding()])
    pull.mark_ready()
    world.run()
    assert pull.inline == ["app.py:6 RIGHT"]


def test_reopening_does_not_repeat_a_review_of_the_same_head(world: World) -> None:
    pull = world.open_pull_request()
    world.run()
    pull.close()
    pull.reopen()
    world.run()

    assert len(world.llm.requests) == 1
    assert world.deliveries()[0].outcome == "already_reviewed"


def test_retargeting_reviews_the_other_diff(world: World) -> None:
    world.commit("next", {"other.py": "Y = 2\n"}, start="main")
    pull = world.open_pull_request()
    world.run()
    pull.retarget("next")
    world.run()

    assert [each.trigger for each in world.reviews()] == ["retarget:next", "auto"]
    assert all(each.state is ReviewState.DONE for each in world.reviews())


def test_a_push_that_arrives_late_does_not_hide_the_newest_head(world: World) -> None:
    """The older push is delivered after the newer one: the head on the forge is what gets reviewed."""
    world.llm.answer_with(lambda _request: [finding()])
    pull = world.open_pull_request()
    first = world.sandbox.deliveries[-1]
    head = pull.push({"app.py": UNSAFE_APP + "\n\nX = 1\n"})
    world.forget_deliveries()
    world.sandbox.redeliver(first.guid)
    world.run()

    assert {each.commit_id for each in pull.state.comments} == {head}
    assert pull.status[0] == "success"


def test_a_request_on_a_draft_reads_the_head_that_was_pushed_meanwhile(world: World) -> None:
    pull = world.open_pull_request(draft=True)
    pull.comment("/review")

    def push_then_answer(_request: object) -> list[dict[str, object]]:
        if len(world.llm.requests) == 1:
            pull.push({"app.py": UNSAFE_APP + "\n\nX = 1\n"})
        return [finding()]

    world.llm.answer_with(push_then_answer)
    world.run()

    assert pull.inline == ["app.py:6 RIGHT"]
    assert {each.commit_id for each in pull.state.comments} == {pull.state.head_sha}
