"""Every recorded payload of GitHub, with the event that it must become."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.events import EventIgnored, PullRequestChanged, PullRequestWithdrawn
from bot.forges.github_webhook import read_github_webhook

PAYLOADS = Path(__file__).resolve().parents[3] / "../shared/forge/payloads"
FILES = sorted([*PAYLOADS.glob("github/*.json"), *PAYLOADS.glob("github-hub4j/*.json")])
NOW = datetime(2026, 11, 2, tzinfo=UTC)

# Everything that is not listed must be ignored: nobody in the recordings writes /review.
OUTCOMES = {
    "pull_request.opened": PullRequestChanged,
    "pull_request.reopened": PullRequestChanged,
    "pull_request.ready_for_review": PullRequestChanged,
    "pull_request.synchronize": PullRequestChanged,
    "pull_request.closed": PullRequestWithdrawn,
    "pull_request.converted_to_draft": PullRequestWithdrawn,
}
HUB4J = {
    "pull_request": ("pull_request", PullRequestChanged),
    "pull_request_edited_base": ("pull_request", EventIgnored),  # a draft was retargeted
    "pull_request_labeled": ("pull_request", EventIgnored),
    "pull_request_review_comment_edited": ("pull_request_review_comment", EventIgnored),
    "issue_comment_edited": ("issue_comment", EventIgnored),
    "installation_created": ("installation", EventIgnored),
    "repository_renamed": ("repository", EventIgnored),
    "repository_transferred_to_org": ("repository", EventIgnored),
    "push.fork": ("push", EventIgnored),
    "check-run": ("check_run", EventIgnored),
}


def expectation(path):
    if path.parent.name == "github-hub4j":
        return HUB4J.get(path.stem, (path.stem, EventIgnored))
    event, action, _ = path.stem.split(".")
    return event, OUTCOMES.get(f"{event}.{action}", EventIgnored)


@pytest.mark.skipif(not FILES, reason="../shared/forge with GitHub's recorded payloads is not here")
def test_every_recorded_payload_becomes_the_expected_event():
    outcomes, expected = {}, {}
    for path in FILES:
        name, kind = expectation(path)
        headers = {"X-GitHub-Event": name, "X-GitHub-Delivery": path.stem}
        _, event = read_github_webhook(headers, "application/json", path.read_bytes(), NOW, "r")
        key = f"{path.parent.name}/{path.name}"
        outcomes[key], expected[key] = type(event), kind
    assert outcomes == expected
    changed = [name for name, kind in outcomes.items() if kind is PullRequestChanged]
    assert len(changed) >= 10, "the recordings lost their pull requests"


@pytest.mark.skipif(not FILES, reason="../shared/forge with GitHub's recorded payloads is not here")
def test_a_recorded_pull_request_is_read_to_the_field():
    path = PAYLOADS / "github/pull_request.opened.1.json"
    _, event = read_github_webhook({"X-GitHub-Event": "pull_request"}, None, path.read_bytes(), NOW, "r")
    assert isinstance(event, PullRequestChanged)
    assert event.ref.repository == "Codertocat/Hello-World"
    assert (event.ref.number, event.base_ref, event.author) == (2, "master", "Codertocat")
    assert (event.additions, event.deletions) == (1, 1)
    assert event.head_sha == "ec26c3e57ca3a959ca5aad62de7213c562f8c821"
