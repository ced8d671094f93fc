"""What both forges do alike, for tests and demos that run on either."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.sandbox.forge import ForgeSandbox
from deploy.sandbox.github import GitHubSandbox
from deploy.sandbox.gitlab import GitLabSandbox
from tests.contract.webhook_receiver import WebhookReceiver
from tests.unit.sandbox.conftest import HTTP, NEW, OLD

REPO = "acme/shop"
FORGES = {"github": GitHubSandbox, "gitlab": GitLabSandbox}


@pytest.fixture(params=FORGES)
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ForgeSandbox]:
    with WebhookReceiver() as receiver:
        sandbox: ForgeSandbox = FORGES[request.param](tmp_path, webhook_url=receiver.url)
        sandbox.start()
        sandbox.create_repository(REPO, {"a.py": OLD})
        sandbox.commit(REPO, "feature", {"a.py": NEW})
        sandbox.open_pull_request(REPO, "feature", title="Change a", body="Why not?")
        yield sandbox
        sandbox.stop()


def test_comments_stand_where_they_were_made(forge: ForgeSandbox) -> None:
    first = forge.comment_on_line(REPO, 1, "a.py", 2, "Why 2?")
    forge.reply(REPO, 1, first, "Because.", author="grace")
    forge.comment_on_line(REPO, 1, "a.py", 2, "Gone.", side="LEFT")
    forge.comment_on_line(REPO, 1, "a.py", 3, "Three.")
    shown = [
        (one.user, one.path, one.line, one.side, one.body, one.diff_hunk.rpartition("\n")[2])
        for one in forge.pull(REPO, 1).comments
    ]
    assert shown == [
        ("ada", "a.py", 2, "RIGHT", "Why 2?", "+2"),
        ("grace", "a.py", 2, "RIGHT", "Because.", "+2"),
        ("ada", "a.py", 2, "LEFT", "Gone.", "-two"),
        ("ada", "a.py", 3, "RIGHT", "Three.", " three"),
    ]
    assert [one.in_reply_to_id for one in forge.pull(REPO, 1).comments] == [None, first, None, None]


def test_a_line_that_is_not_shown_cannot_be_commented(forge: ForgeSandbox) -> None:
    with pytest.raises(Exception, match=r"no line 99|Validation Failed"):
        forge.comment_on_line(REPO, 1, "a.py", 99, "Where?")


def test_comments_are_edited_and_deleted(forge: ForgeSandbox) -> None:
    said, placed = forge.comment(REPO, 1, "One."), forge.comment_on_line(REPO, 1, "a.py", 2, "Two.")
    forge.edit_comment(REPO, 1, said, "Uno.")
    forge.edit_comment(REPO, 1, placed, "Due.")
    state = forge.pull(REPO, 1)
    assert [one.body for one in (*state.conversation, *state.comments)] == ["Uno.", "Due."]
    forge.delete_comment(REPO, 1, said)
    forge.delete_comment(REPO, 1, placed)
    state = forge.pull(REPO, 1)
    assert (len(state.conversation), len(state.comments)) == (0, 0)


def test_everything_that_happens_is_sent(forge: ForgeSandbox) -> None:
    forge.commit(REPO, "feature", {"b.py": "b\n"})
    forge.comment(REPO, 1, "/review")
    forge.convert_to_draft(REPO, 1)
    forge.mark_ready(REPO, 1)
    forge.close(REPO, 1)
    forge.reopen(REPO, 1)
    forge.merge(REPO, 1)
    forge.ping()
    forge.wait_for_webhooks()
    assert len(forge.deliveries) == 9
    assert {one.status for one in forge.deliveries} == {"OK"}
    forge.redeliver(forge.deliveries[0].guid)
    forge.wait_for_webhooks()
    assert forge.deliveries[-1].body == forge.deliveries[0].body
    assert forge.deliveries[-1].redelivery


def test_a_picture_shows_the_pull_request(forge: ForgeSandbox) -> None:
    head = forge.commit(REPO, "feature", {"b.py": "b\n"})
    state = forge.pull(REPO, 1)
    assert (state.title, state.draft, state.head_sha) == ("Change a", False, head)
    assert state.comments == state.conversation == state.reviews == state.statuses == ()
    forge.convert_to_draft(REPO, 1)
    assert forge.pull(REPO, 1).draft
    assert "Change a" in HTTP.get(forge.pull_url(REPO, 1)).text
