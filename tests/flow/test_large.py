"""Long diffs: chunks side by side, the other queue, answers that break off, files that cannot be had."""

import json
import threading

import pytest

from bot.db.tables import ReviewState
from tests.llm_server import ChatRequest
from tests.world import World, finding


def long_source(name: str, lines: int) -> str:
    return "".join(f"{name}_{number} = compute_something_of({number}) + 1\n" for number in range(lines))


def test_chunks_of_one_review_are_asked_side_by_side(world: World) -> None:
    together = threading.Barrier(2)

    def meet(request: ChatRequest) -> list[dict[str, object]]:
        # By place, not by number: a third question may have arrived before the first two are answered.
        if any(request is first for first in world.llm.requests[:2]):
            together.wait(timeout=world.settings.llm_deadline_s)  # passes only if two are open at once
        return []

    world.llm.answer_with(meet)
    pull = world.open_pull_request({"long.py": long_source("value", 700)})
    world.run()

    assert not together.broken
    (row,) = world.latency()
    assert row.chunks >= 2
    assert row.llm_calls == row.chunks
    assert row.queue == "low"
    assert pull.summary.startswith("**No issues found in 1 of 1 file**")


def test_every_line_of_a_long_diff_is_shown_to_the_model(world: World) -> None:
    """Case C10."""
    world.open_pull_request({"long.py": long_source("value", 700)})
    world.run()

    shown = "\n".join(request.prompt for request in world.llm.requests)
    assert [number for number in range(700) if f"value_{number} = " not in shown] == []


def test_the_worker_moves_what_is_longer_than_the_webhook_said(world: World) -> None:
    pull = world.open_pull_request({"wide.py": "".join(f"{'x' * 240} = {n}\n" for n in range(60))})
    assert world.queue[0][1] == "high"
    world.step()
    assert world.queue[-1] == (pull.review.review_id, "low")
    assert pull.status == ("pending", f"queued (low, {pull.review.estimated_tokens:,} tokens)")
    assert world.llm.requests == []
    world.run()

    assert pull.review.attempt == 1, "moving is not a try"
    assert world.latency()[0].queue == "low"
    assert {request.priority for request in world.llm.requests} == {10}


@pytest.mark.forge("github")
def test_a_short_review_after_cleaning_counts_as_high(world: World) -> None:
    lock = json.dumps({f"package-{n}": "1.0" for n in range(2000)}, indent=1) + "\n"
    world.open_pull_request({"package-lock.json": lock, "app.py": "x = 1\n"})
    assert world.queue[0][1] == "low"
    world.run()

    assert world.latency()[0].queue == "high"
    assert {request.priority for request in world.llm.requests} == {0}


def test_an_answer_that_breaks_off_keeps_its_findings_and_asks_for_the_rest(world: World) -> None:
    """Case F3: nothing is dropped in silence."""
    whole = json.dumps({"findings": [finding(message="The eval runs whatever the file holds.")]})
    cut = whole[: whole.rindex("}")] + ', {"line": "1R5", "mess'

    def answer(request: ChatRequest) -> object:
        return cut if len(world.llm.requests) == 1 else []

    world.llm.answer_with(answer)  # type: ignore[arg-type] # text is one of the replies it takes
    pull = world.open_pull_request()
    world.run()

    assert len(world.llm.requests) > 1
    assert world.latency()[0].truncated
    assert pull.inline == ["app.py:6 RIGHT"]
    assert pull.review.state is ReviewState.DONE


def test_a_prompt_that_is_too_long_for_the_engine_is_split(world: World) -> None:
    """Case G4: the estimate was wrong, and the engine's refusal sizes the next try."""
    world.llm.max_model_len = 3000
    dense = "".join(f"{'a+' * 60}a\n" for _ in range(60))
    pull = world.open_pull_request({"dense.py": dense})
    world.run()

    assert pull.review.state is ReviewState.DONE
    (row,) = world.latency()
    assert row.llm_calls > row.chunks, "a chunk was refused and asked about in halves"
    assert pull.summary.startswith("**No issues found in 1 of 1 file**")


def test_two_hundred_files_are_all_accounted_for(world: World) -> None:
    """Cases C1 and C9."""
    pull = world.open_pull_request({f"module_{n}.py": f"VALUE_{n} = {n}\n" for n in range(201)})
    world.run()

    assert "201 of 201 files" in pull.summary
    assert pull.review.state is ReviewState.DONE


def test_binaries_renames_and_submodules_are_listed_not_asked_about(world: World) -> None:
    """Case D5."""
    pull = world.open_pull_request({"logo.png": b"\x89PNG\x00\x01\x02" * 50, "app.py": "import os\n"})
    world.run()

    assert "| `logo.png` | skipped | binary file |" in pull.summary
    assert "logo.png" not in "".join(request.prompt for request in world.llm.requests)


@pytest.mark.forge("github")
def test_a_diff_that_github_will_not_give_whole_is_read_file_by_file(world: World) -> None:
    """Case C4: 406 for more than 300 files."""
    pull = world.open_pull_request({f"m/{n}.py": f"V = {n}\n" for n in range(301)})
    world.run()

    assert "301 of 301 files" in pull.summary


@pytest.mark.forge("github")  # GitLab's webhooks do not tell how long a diff is
def test_a_long_review_that_waited_too_long_is_read_in_high(world: World) -> None:
    pull = world.open_pull_request({"long.py": long_source("value", 700)})
    world.queue.clear()
    world.sweep(after_s=2000)
    assert world.queue == [(pull.review.review_id, "high")]
    world.run()

    assert pull.review.state is ReviewState.DONE
