"""What is sent, with which headers, and what becomes of failures."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.sandbox.gitlab import GitLabSandbox
from deploy.sandbox.gitlab.webhooks import Health
from deploy.sandbox.outbox import Delivery
from tests.contract.webhook_receiver import WebhookReceiver
from tests.unit.sandbox.gitlab.conftest import REPO, Client, make_sandbox

KEY = b"test" * 8
SIGNING_TOKEN = "whsec_" + base64.b64encode(KEY).decode()


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as receiver:
        yield receiver


@pytest.fixture
def sandbox(tmp_path: Path, options: dict[str, Any], receiver: WebhookReceiver) -> Iterator[GitLabSandbox]:
    sandbox = make_sandbox(tmp_path / "forge", webhook_url=receiver.url, webhook_secret="s3cret", **options)
    sandbox.wait_for_webhooks()
    yield sandbox
    sandbox.stop()


def last(sandbox: GitLabSandbox) -> Delivery:
    sandbox.wait_for_webhooks()
    return sandbox.deliveries[-1]


def attributes(sandbox: GitLabSandbox) -> dict[str, Any]:
    found: dict[str, Any] = last(sandbox).payload["object_attributes"]
    return found


def test_opening_sends_a_merge_request_hook(sandbox: GitLabSandbox, receiver: WebhookReceiver) -> None:
    [got] = receiver.received
    assert {name: got.headers[name] for name in ("X-Gitlab-Event", "X-Gitlab-Token", "User-Agent")} == {
        "X-Gitlab-Event": "Merge Request Hook",
        "X-Gitlab-Token": "s3cret",
        "User-Agent": "GitLab/19.5.0",
    }
    assert got.headers["Idempotency-Key"] == sandbox.deliveries[0].guid
    assert got.headers["X-Gitlab-Webhook-UUID"] != got.headers["X-Gitlab-Event-UUID"]
    payload = json.loads(got.body)
    told = payload["object_attributes"]
    assert (payload["object_kind"], payload["project"]["path_with_namespace"]) == ("merge_request", REPO)
    assert (told["action"], told["iid"], told["draft"], told["state"]) == ("open", 1, False, "opened")
    assert told["last_commit"]["id"] == sandbox.pull(REPO, 1).head_sha
    assert "oldrev" not in told


def test_a_push_names_the_old_revision(sandbox: GitLabSandbox) -> None:
    before = sandbox.pull(REPO, 1).head_sha
    after = sandbox.commit(REPO, "feature", {"c.py": "c\n"})
    told = attributes(sandbox)
    assert (told["action"], told["oldrev"], told["last_commit"]["id"]) == ("update", before, after)
    assert last(sandbox).payload["changes"] == {}


def test_other_updates_do_not(sandbox: GitLabSandbox) -> None:
    sandbox.commit(REPO, "release", {"r.py": "r\n"}, start="main")
    changes = []
    for change in (
        lambda: sandbox.retitle(REPO, 1, "Other"),
        lambda: sandbox.label(REPO, 1, "big"),
        lambda: sandbox.retarget(REPO, 1, "release"),
        lambda: sandbox.convert_to_draft(REPO, 1),
        lambda: sandbox.mark_ready(REPO, 1),
    ):
        change()
        told = attributes(sandbox)
        assert (told["action"], "oldrev" in told) == ("update", False)
        changes.append(last(sandbox).payload["changes"])
    assert [sorted(one) for one in changes] == [
        ["title"], ["labels"], ["target_branch"], ["draft", "title"], ["draft", "title"],
    ]  # fmt: skip
    assert changes[4] == {
        "title": {"previous": "Draft: Other", "current": "Other"},
        "draft": {"previous": True, "current": False},
    }


def test_resolving_a_thread_is_an_update_without_changes(sandbox: GitLabSandbox) -> None:
    note = sandbox.comment_on_line(REPO, 1, "a.py", 2, "Hm.")
    sandbox.resolve(REPO, 1, note)
    assert attributes(sandbox)["action"] == "update"
    assert last(sandbox).payload["changes"] == {}
    assert sandbox.pull(REPO, 1).comments[0].is_resolved


def test_closing_reopening_and_merging_have_actions_of_their_own(sandbox: GitLabSandbox) -> None:
    sandbox.close(REPO, 1)
    sandbox.reopen(REPO, 1)
    sandbox.merge(REPO, 1)
    sandbox.wait_for_webhooks()
    assert [one.action for one in sandbox.deliveries] == ["open", "close", "reopen", "merge"]
    assert sandbox.pull(REPO, 1).state == "merged"


def test_a_push_takes_approvals_back_with_a_second_hook(sandbox: GitLabSandbox) -> None:
    sandbox.approve(REPO, 1)
    sandbox.commit(REPO, "feature", {"c.py": "c\n"})
    sandbox.wait_for_webhooks()
    push, reset = (one.payload["object_attributes"] for one in sandbox.deliveries[-2:])
    assert (push["action"], push["system"]) == ("update", False)
    assert (reset["action"], reset["system"], reset["system_action"]) == (
        "unapproved",
        True,
        "approvals_reset_on_push",
    )


def test_notes_send_note_hooks_and_system_notes_none(sandbox: GitLabSandbox, api: Client) -> None:
    sandbox.comment(REPO, 1, "/review\n/approve", author="ada")
    delivery = last(sandbox)
    note, merge_request = delivery.payload["object_attributes"], delivery.payload["merge_request"]
    assert (delivery.event, note["note"], note["action"], note["system"]) == (
        "Note Hook", "/review", "create", False,
    )  # fmt: skip
    assert (note["noteable_type"], merge_request["iid"]) == ("MergeRequest", 1)
    assert merge_request["last_commit"]["id"] == sandbox.pull(REPO, 1).head_sha
    assert delivery.payload["user"]["username"] == "ada"
    bodies = [
        one.payload["object_attributes"]["note"] for one in sandbox.deliveries if one.event == "Note Hook"
    ]
    assert bodies == ["/review"]


def test_a_note_on_a_line_carries_its_place(sandbox: GitLabSandbox, api: Client) -> None:
    thread = api.discuss().json()
    note = attributes(sandbox)
    assert (note["type"], note["discussion_id"], note["position"]["new_line"]) == (
        "DiffNote",
        thread["id"],
        2,
    )
    assert note["line_code"].endswith("_3_2")


def test_editing_a_note_sends_an_update(sandbox: GitLabSandbox) -> None:
    note = sandbox.comment(REPO, 1, "One.")
    sandbox.edit_comment(REPO, 1, note, "Two.")
    assert (attributes(sandbox)["action"], attributes(sandbox)["note"]) == ("update", "Two.")


@pytest.mark.parametrize("options", [{"version": "16.10.0"}])
def test_before_16_11_a_note_has_no_action_and_editing_is_silent(sandbox: GitLabSandbox) -> None:
    note = sandbox.comment(REPO, 1, "One.")
    assert "action" not in attributes(sandbox)
    sandbox.edit_comment(REPO, 1, note, "Two.")
    assert attributes(sandbox)["note"] == "One."


@pytest.mark.parametrize("options", [{"version": "13.12.0"}])
def test_an_old_gitlab_has_no_keys_and_calls_a_draft_work_in_progress(
    sandbox: GitLabSandbox, receiver: WebhookReceiver
) -> None:
    """D2: draft null, work_in_progress true."""
    sandbox.convert_to_draft(REPO, 1)
    told = attributes(sandbox)
    assert (told["draft"], told["work_in_progress"]) == (None, True)
    assert "draft" not in last(sandbox).payload["changes"]
    assert {name for name in receiver.received[-1].headers if name.startswith(("X-Gitlab", "Idem"))} == {
        "X-Gitlab-Event",
        "X-Gitlab-Token",
    }


def test_a_test_has_no_action(sandbox: GitLabSandbox) -> None:
    sandbox.ping()
    assert "action" not in attributes(sandbox)
    assert last(sandbox).event == "Merge Request Hook"


def test_a_deleted_fork_is_null(sandbox: GitLabSandbox) -> None:
    sandbox.commit(REPO, "from-fork", {"c.py": "c\n"})
    number = sandbox.open_pull_request(REPO, "from-fork", fork_owner="grace")
    assert attributes(sandbox)["source"]["path_with_namespace"] == "grace/shop"
    sandbox.delete_fork(REPO, number)
    sandbox.close(REPO, number)
    told = attributes(sandbox)
    assert (told["source"], told["source_project_id"]) == (None, None)


@pytest.mark.parametrize("options", [{"signing_token": SIGNING_TOKEN}])
def test_signs_by_standard_webhooks(sandbox: GitLabSandbox, receiver: WebhookReceiver) -> None:
    got = receiver.received[0]
    stamp = got.headers["webhook-timestamp"]
    assert abs(int(stamp) - time.time()) < 30
    signed = f"{got.headers['webhook-id']}.{stamp}.".encode() + got.body
    expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-signature"] == f"v1,{expected}"
    assert got.headers["webhook-id"] == got.headers["Idempotency-Key"]


@pytest.mark.parametrize("options", [{"signing_token": SIGNING_TOKEN}])
def test_sending_again_keeps_the_key_and_signs_anew(
    sandbox: GitLabSandbox, receiver: WebhookReceiver
) -> None:
    time.sleep(1.1)
    sandbox.redeliver(sandbox.deliveries[0].guid)
    sandbox.wait_for_webhooks()
    first, again = receiver.received
    assert first.body == again.body
    assert first.headers["Idempotency-Key"] == again.headers["Idempotency-Key"]
    for name in ("webhook-timestamp", "webhook-signature", "X-Gitlab-Webhook-UUID"):
        assert first.headers[name] != again.headers[name]


def test_redirects_count_as_received(sandbox: GitLabSandbox, receiver: WebhookReceiver) -> None:
    for status in (302, 404, 500):
        receiver.statuses.append(status)
        sandbox.comment(REPO, 1, f"{status}")
    sandbox.wait_for_webhooks()
    assert [one.status for one in sandbox.deliveries[1:]] == [
        "OK", "Invalid HTTP Response: 404", "Invalid HTTP Response: 500",
    ]  # fmt: skip
    assert sandbox.webhook_health.failures == 2
    sandbox.comment(REPO, 1, "ok")
    sandbox.wait_for_webhooks()
    assert sandbox.webhook_health.failures == 0


@pytest.mark.parametrize("options", [{"auto_disable": True}])
def test_the_fourth_failure_in_a_row_pauses_the_webhook(
    sandbox: GitLabSandbox, receiver: WebhookReceiver
) -> None:
    receiver.statuses += [500, 401, 404, 500]
    for number in range(6):
        sandbox.comment(REPO, 1, f"{number}")
    sandbox.wait_for_webhooks()
    assert len(receiver.received) == 1 + 4
    assert sandbox.deliveries[-1].status == "Hook disabled"
    assert sandbox.webhook_health.is_disabled


def test_pauses_double_and_the_fortieth_failure_ends_it() -> None:
    health = Health()
    pauses = []
    for _ in range(40):
        health.count(success=False)
        pauses.append(round(max(health.paused_until - time.monotonic(), 0)))
    assert pauses[:6] == [0, 0, 0, 60, 120, 240]
    assert pauses[-1] == 24 * 3600
    health.paused_until = 0
    assert health.is_disabled
    health.count(success=True)
    assert not health.is_disabled


def test_a_payload_above_25_mb_is_not_sent(sandbox: GitLabSandbox) -> None:
    sandbox.retitle(REPO, 1, "x" * (25 * 1024 * 1024))
    sandbox.wait_for_webhooks()
    assert len(sandbox.deliveries) == 1


def test_nothing_is_sent_without_an_address(sandbox: GitLabSandbox) -> None:
    sandbox.webhook_url = ""
    sandbox.comment(REPO, 1, "x")
    assert len(sandbox.deliveries) == 1
