"""Webhooks: signed over the raw bytes, in order, recorded, and sent again under the same GUID."""

import hashlib
import hmac
import json
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.sandbox.github import GitHubSandbox
from tests.contract.webhook_receiver import WebhookReceiver

SECRET = "s3cret"
REPO = "acme/shop"


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as receiver:
        yield receiver


def a_sandbox(root: Path, url: str, **more: str) -> GitHubSandbox:
    sandbox = GitHubSandbox(root, webhook_url=url, webhook_secret=SECRET, **more)  # type: ignore[arg-type]  # only strings are passed here
    sandbox.start()
    sandbox.create_repository(REPO, {"a.py": "one\n"})
    sandbox.commit(REPO, "feature", {"a.py": "jürgen\n"})
    sandbox.open_pull_request(REPO, "feature", title="Grüße")
    return sandbox


def test_signs_the_raw_body(tmp_path: Path, receiver: WebhookReceiver) -> None:
    sandbox = a_sandbox(tmp_path, receiver.url)
    sandbox.wait_for_webhooks()
    sandbox.stop()
    [got] = receiver.received
    assert got.headers["X-Hub-Signature-256"] == (
        "sha256=" + hmac.new(SECRET.encode(), got.body, hashlib.sha256).hexdigest()
    )
    assert got.headers["X-Hub-Signature"] == (
        "sha1=" + hmac.new(SECRET.encode(), got.body, hashlib.sha1).hexdigest()
    )
    assert "Grüße".encode() in got.body  # not escaped: whoever re-encodes before checking fails
    assert got.headers["User-Agent"].startswith("GitHub-Hookshot/")
    assert (got.headers["X-GitHub-Event"], got.headers["Content-Type"]) == (
        "pull_request",
        "application/json",
    )
    assert got.headers["X-GitHub-Hook-Installation-Target-Type"] == "repository"
    assert got.headers["X-GitHub-Delivery"] == sandbox.deliveries[0].guid


def test_can_send_forms(tmp_path: Path, receiver: WebhookReceiver) -> None:
    sandbox = a_sandbox(tmp_path, receiver.url, content_type="form")
    sandbox.wait_for_webhooks()
    sandbox.stop()
    [got] = receiver.received
    assert got.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert json.loads(urllib.parse.parse_qs(got.body.decode())["payload"][0])["action"] == "opened"
    assert got.headers["X-Hub-Signature-256"].endswith(
        hmac.new(SECRET.encode(), got.body, hashlib.sha256).hexdigest()
    )


def test_sends_no_signature_without_a_secret(tmp_path: Path, receiver: WebhookReceiver) -> None:
    sandbox = GitHubSandbox(tmp_path, webhook_url=receiver.url)
    sandbox.start()
    sandbox.ping()
    sandbox.wait_for_webhooks()
    sandbox.stop()
    assert not [name for name in receiver.received[0].headers if name.startswith("X-Hub-")]


def test_sends_in_order(tmp_path: Path, receiver: WebhookReceiver) -> None:
    sandbox = a_sandbox(tmp_path, receiver.url)
    for number in range(5):
        sandbox.comment(REPO, 1, f"comment {number}")
    sandbox.close(REPO, 1)
    sandbox.wait_for_webhooks()
    sandbox.stop()
    sent = [json.loads(one.body) for one in receiver.received]
    assert [one.get("comment", {}).get("body", one["action"]) for one in sent] == [
        "opened",
        *(f"comment {number}" for number in range(5)),
        "closed",
    ]


def test_a_redelivery_repeats_bytes_and_guid(tmp_path: Path, receiver: WebhookReceiver) -> None:
    receiver.statuses = [500]
    sandbox = a_sandbox(tmp_path, receiver.url)
    sandbox.wait_for_webhooks()
    [failed] = sandbox.deliveries
    assert (failed.status_code, failed.status) == (500, "Invalid HTTP Response: 500")
    sandbox.redeliver(failed.guid)
    sandbox.wait_for_webhooks()
    sandbox.stop()
    first, second = receiver.received
    assert first == second
    assert [(one.guid, one.redelivery, one.status_code) for one in sandbox.deliveries] == [
        (failed.guid, False, 500),
        (failed.guid, True, 202),
    ]


def test_a_receiver_that_is_down_is_a_failed_delivery(tmp_path: Path) -> None:
    sandbox = a_sandbox(tmp_path, "http://127.0.0.1:9/")
    sandbox.wait_for_webhooks()
    sandbox.stop()
    assert sandbox.deliveries[0].status_code == 0
    assert sandbox.deliveries[0].status.startswith("failed to connect")


def test_only_pull_requests_have_the_key_pull_request(tmp_path: Path, receiver: WebhookReceiver) -> None:
    sandbox = a_sandbox(tmp_path, receiver.url)
    sandbox.comment(REPO, 1, "/review")
    sandbox.comment(REPO, sandbox.open_issue(REPO, "A question"), "/review")
    sandbox.wait_for_webhooks()
    sandbox.stop()
    issues = [json.loads(one.body)["issue"] for one in receiver.received[1:]]
    assert ["pull_request" in issue for issue in issues] == [True, False]


def test_an_app_gets_its_installation_with_every_event(tmp_path: Path, receiver: WebhookReceiver) -> None:
    sandbox = a_sandbox(tmp_path, "")
    installation = sandbox.add_app(9, "redline", "", {"checks": "write"})
    sandbox.webhook_url = receiver.url
    sandbox.mark_ready(REPO, 1)
    sandbox.wait_for_webhooks()
    sandbox.stop()
    [got] = receiver.received
    assert json.loads(got.body)["installation"]["id"] == installation
    assert got.headers["X-GitHub-Hook-Installation-Target-Type"] == "integration"
    assert got.headers["X-GitHub-Hook-Installation-Target-ID"] == "9"
