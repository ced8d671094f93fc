"""What is so only on GitLab: late diffs, drafts, quick actions, old versions."""

import pytest

from bot.db.tables import ReviewState
from tests.world import UNSAFE_APP, World, finding

pytestmark = pytest.mark.forge("gitlab")


def test_i4_comments_stand_under_their_lines_with_one_notification(world: World) -> None:
    world.llm.will_say([finding(), finding(line="2R1", quote="import pickle", message="Pickle runs code.")])
    pull = world.open_pull_request({"app.py": UNSAFE_APP, "store.py": "import pickle\n"})
    world.run()

    assert sorted(pull.inline) == ["app.py:6 RIGHT", "store.py:1 RIGHT"]
    assert len(pull.state.conversation) == 1, "and the summary, no note for each"
    assert pull.published == 1
    assert pull.state.drafts == ()


def test_a15_a_suggestion_replaces_just_the_quoted_lines(world: World) -> None:
    quote = '    path = "/srv/" + name\n    return eval(open(path).read())'
    fixed = "    path = safe_path(name)\n    return load(open(path).read())"
    world.llm.will_say([finding(line="1R5", quote=quote, replacement=fixed)])
    pull = world.open_pull_request()
    world.run()

    (comment,) = pull.state.comments
    assert (comment.start_line, comment.line) == (5, 6)
    (suggestion,) = comment.suggestions
    assert suggestion.from_content == f"{quote}\n"
    assert suggestion.to_content == f"{fixed}\n"


def test_d4_a_merge_request_whose_diff_comes_late_is_reviewed_all_the_same(world: World) -> None:
    world.llm.will_say([finding()])
    world.sandbox.options.prepare_s = 0.6
    pull = world.open_pull_request()
    world.run()

    assert pull.inline == ["app.py:6 RIGHT"]
    assert pull.review.attempt == 1


def test_d4_one_that_stays_away_is_visibly_not_ready(world: World) -> None:
    world.sandbox.options.prepare_s = 600.0
    pull = world.open_pull_request()
    for _ in range(world.settings.max_attempts):
        world.forge._ready_pauses_s = (0.01,)  # type: ignore[attr-defined]  # a test has no seconds to wait
        world.run()
        world.sweep(after_s=100)
    world.run()

    assert pull.review.state is ReviewState.FAILED
    assert "has not prepared the diff of acme/web/shop!1 yet" in pull.review.reason
    assert "has not prepared the diff" in pull.summary


def test_c3_collapsed_files_are_read_and_counted(world: World) -> None:
    world.sandbox.options.version = "19.0.0"
    world.sandbox.options.diff_limits.collapse_after_lines = 20
    pull = world.open_pull_request({f"m/{n:02}.py": f"A = {n}\nB = {n}\nC = {n}\n" for n in range(40)})
    world.run()

    assert pull.summary.startswith("**No issues found in 40 of 40 files**")


def test_c2_what_cannot_be_had_is_in_the_coverage_table(world: World) -> None:
    """An old version keeps one file of a diff, and cannot give the raw diff."""
    world.sandbox.options.version = "17.8.0"
    pull = world.open_pull_request(
        {"app.py": UNSAFE_APP, "big.txt": "".join(f"{n}\n" for n in range(300_000))}
    )
    world.sandbox.fail("GET", "/compare$", status=500, times=99)
    world.run()

    assert (
        "| `big.txt` | unavailable | GitLab sends no diff of it and it is larger than 1 MB |" in pull.summary
    )
    assert pull.summary.startswith("**Partly reviewed: 1 file could not be read to the end**")


def test_a_finding_in_a_file_that_takes_no_comment_goes_to_the_summary(world: World) -> None:
    wide = "".join(f"value_{n} = '{'x' * 100}'\n" for n in range(2_500))
    first = f"value_0 = '{'x' * 100}'"
    world.llm.answer_with(
        lambda request: [finding(line="1R1", quote=first)] if "1R1 +value_0" in request.prompt else []
    )
    pull = world.open_pull_request({"wide.py": wide})
    world.run()

    assert pull.inline == []
    assert "Without a line:" in pull.summary
    assert "does not show this line in its diff" in pull.summary


def test_a4_a_place_that_gitlab_refuses_costs_one_comment_its_line(world: World) -> None:
    """A2: the others are posted."""
    world.llm.will_say([finding(), finding(line="1R5", quote='    path = "/srv/" + name', message="A path.")])
    pull = world.open_pull_request()
    refusal = {
        "message": '400 Bad request - Note {:line_code=>["can\'t be blank", "must be a valid line code"]}'
    }
    world.sandbox.fail("POST", "/draft_notes$", status=400, body=refusal)
    world.run()

    assert len(pull.inline) == 1
    assert "the forge refused a comment on this line" in pull.summary
    assert pull.review.state is ReviewState.DONE
    assert world.latency()[0].posted == 1


@pytest.mark.parametrize("published", [0, 1])
def test_publishing_that_breaks_half_way_is_finished(world: World, published: int) -> None:
    world.sandbox.options.break_publishing_after = published
    world.llm.will_say([finding(), finding(line="1R5", quote='    path = "/srv/" + name', message="A path.")])
    pull = world.open_pull_request()
    world.run()

    assert sorted(pull.inline) == ["app.py:5 RIGHT", "app.py:6 RIGHT"]
    assert "already stand" not in pull.summary


def test_quick_actions_that_the_model_writes_are_not_done(world: World) -> None:
    world.llm.will_say(
        [finding(message="It runs code.\n/merge\n/approve\n```\n/close\n", replacement="/label ~pwned")]
    )
    pull = world.open_pull_request()
    world.run()

    assert pull.state.quick_actions == ()
    assert pull.state.state == "opened"
    assert pull.inline == ["app.py:6 RIGHT"]


def test_a_mark_that_gitlab_will_not_move_costs_nothing(world: World) -> None:
    """A fork's commits are on no branch of the project, so there is no place for a status."""
    world.llm.will_say([finding()])
    pull = world.open_pull_request(author="mallory", fork_owner="mallory")
    world.run()

    assert pull.inline == ["app.py:6 RIGHT"]
    assert pull.state.statuses == ()
    assert pull.review.told_at is not None


def test_j1_a_token_that_may_only_read_ends_in_a_clear_reason(world: World) -> None:
    world.llm.will_say([finding()])
    world.sandbox.add_user(world.bot, token="token-of-the-bot", scopes=["read_api"])
    pull = world.open_pull_request()
    world.run()

    assert pull.review.state is ReviewState.FAILED
    assert "needs the scope api" in pull.review.reason
    assert pull.review.attempt == 1


def test_labels_titles_and_resolved_threads_start_no_review(world: World) -> None:
    world.llm.will_say([finding()])
    pull = world.open_pull_request()
    world.run()
    world.sandbox.label(world.repository, pull.number, "bug")
    world.sandbox.retitle(world.repository, pull.number, "Another title")
    world.sandbox.resolve(world.repository, pull.number, pull.state.comments[0].id)
    world.run()

    assert len(world.reviews()) == 1
