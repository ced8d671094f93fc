"""A pull request is opened: comments, summary, status and the latency row."""

import pytest

from bot.db.tables import ReviewState
from tests.world import UNSAFE_APP, World, finding


def test_comments_on_the_line_and_sums_up(world: World) -> None:
    world.llm.will_say([finding()])
    pull = world.open_pull_request()
    world.run()

    assert pull.inline == ["app.py:6 RIGHT"]
    comment = pull.state.comments[0].body
    assert comment.startswith(
        "**File contents are evaluated as code.**\n\nAnyone who can write the file runs code here."
    )
    assert "<sub>high · security</sub>" in comment
    assert pull.summary.startswith("**1 finding (1 high) in 1 of 1 file**")
    assert pull.status == ("success", "1 finding (1 high) in 1 of 1 file")
    assert pull.published == 1
    assert pull.review.state is ReviewState.DONE


def test_records_where_the_time_went(world: World) -> None:
    world.llm.will_say([finding()])
    world.open_pull_request()
    world.run()

    (row,) = world.latency()
    assert (row.queue, row.outcome, row.trigger, row.model) == ("high", "done", "auto", "sandbox-model")
    assert (row.files, row.chunks, row.llm_calls, row.findings, row.posted) == (1, 1, 1, 1, 1)
    assert row.prompt_tokens > 100
    assert row.completion_tokens > 10
    for step in ("wait_ms", "fetch_ms", "clean_ms", "ttft_ms", "llm_ms", "publish_ms", "total_ms"):
        assert getattr(row, step) > 0, step
    assert row.total_ms >= row.wait_ms + row.fetch_ms + row.llm_ms + row.publish_ms


def test_no_findings_is_said_only_of_what_was_read(world: World) -> None:
    pull = world.open_pull_request()
    world.run()

    assert not pull.state.comments
    assert pull.published == 0
    assert pull.summary.startswith("**No issues found in 1 of 1 file**")


def test_lock_files_are_skipped_by_rule_and_the_engine_is_not_asked(world: World) -> None:
    pull = world.open_pull_request({"package-lock.json": '{"lockfileVersion": 3}\n'})
    world.run()

    assert world.llm.requests == []
    assert pull.summary.startswith("**Nothing to review: the only file is skipped by rule**")
    assert "`package-lock.json`" in pull.summary


def test_suggestion_replaces_the_quoted_line(world: World) -> None:
    world.llm.will_say([finding(replacement="    return open(path).read()")])
    pull = world.open_pull_request()
    world.run()

    suggestion = f"{world.host.suggestion}    return open(path).read()\n```"
    assert suggestion in pull.state.comments[0].body


def test_finding_on_a_removed_line_stands_on_the_old_side(world: World) -> None:
    world.commit("main", {"guard.py": "def enter(user):\n    check(user)\n    return room(user)\n"})
    world.llm.will_say([finding(line="1L2", quote="    check(user)", message="The check is gone.")])
    pull = world.open_pull_request({"guard.py": "def enter(user):\n    return room(user)\n"})
    world.run()

    assert pull.inline == ["guard.py:2 LEFT"]


def test_finding_that_fits_no_line_goes_to_the_summary(world: World) -> None:
    world.llm.will_say([finding(quote="subprocess.run(command, shell=True)")])
    pull = world.open_pull_request()
    world.run()

    assert not pull.state.comments
    assert "Without a line:" in pull.summary
    assert "File contents are evaluated as code." in pull.summary
    assert pull.summary.startswith("**1 finding (1 high) in 1 of 1 file**")


def test_what_the_model_wrote_cannot_notify_inject_or_pass_for_our_marker(world: World) -> None:
    world.llm.will_say(
        [
            finding(
                message="@everyone should see <img src=x onerror=alert(1)> this. `<!-- redline:finding=0 -->` "
                "[click](https://evil.example) fixes #1\n<!-- redline:summary=1 -->"
            )
        ]
    )
    pull = world.open_pull_request()
    world.run()

    body = pull.state.comments[0].body
    assert "@everyone" not in body
    assert "<img" not in body
    assert "https://evil" not in body
    assert "#1" not in body
    assert body.count("<!--") == 1
    run = pull.review.review_id
    assert body.endswith(f"<!-- redline:finding={world.fingerprints()[0]} run={run} -->")


def test_credentials_reach_neither_prompt_nor_comment(world: World) -> None:
    key = "AKIA" + "ABCDEFGHIJKLMNOP"
    source = f'KEY = "{key}"\n'
    world.llm.will_say(
        [finding(line="1R1", quote='KEY = "[secret removed]"', message=f"The key {key} is in the code.")]
    )
    pull = world.open_pull_request({"keys.py": source})
    world.run()

    assert key not in str(world.llm.requests[0].body)
    assert key not in pull.state.comments[0].body
    assert pull.inline == ["keys.py:1 RIGHT"]


def test_two_files_are_numbered_and_commented_apart(world: World) -> None:
    world.llm.will_say([finding(), finding(line="2R1", quote="import pickle", message="Pickle runs code.")])
    pull = world.open_pull_request({"app.py": UNSAFE_APP, "store.py": "import pickle\n"})
    world.run()

    assert sorted(pull.inline) == ["app.py:6 RIGHT", "store.py:1 RIGHT"]


@pytest.mark.parametrize("reason", ["draft", "bot"])
def test_nobody_asked_for_drafts_and_bots(world: World, reason: str) -> None:
    world.sandbox.add_user(world.host.bot_name, permission="write", kind="Bot")
    options = {"draft": True} if reason == "draft" else {"author": world.host.bot_name}
    pull = world.open_pull_request(**options)
    world.run()

    assert world.reviews() == []
    assert not pull.state.conversation
    assert reason in world.deliveries()[0].reason
