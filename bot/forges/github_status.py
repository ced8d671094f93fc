"""The mark on a commit: a check run if we are an App, a commit status if we are an account."""

from typing import Any

from bot.events import PullRequestRef
from bot.forges.base import ForgeMissing, Status, StatusState
from bot.forges.github_client import Endpoint, GitHubClient, understood

NAME = "redline"
MAX_STATUS_CHARACTERS = 140  # https://docs.github.com/en/rest/commits/statuses
MAX_TITLE_CHARACTERS = 255  # https://docs.github.com/en/rest/checks/runs
MAX_SUMMARY_CHARACTERS = 65_535

_CONCLUSIONS = {
    StatusState.SUCCESS: "success",
    StatusState.NEUTRAL: "neutral",
    StatusState.FAILURE: "failure",
}
# A commit status knows no neutral: what went wrong stands in the description, and nothing turns red for it.
_STATES = {
    StatusState.PENDING: "pending",
    StatusState.SUCCESS: "success",
    StatusState.NEUTRAL: "success",
    StatusState.FAILURE: "failure",
}


def set_check_run(
    client: GitHubClient, ref: PullRequestRef, head_sha: str, status: Status, run_id: str
) -> str:
    """Create the check run, or update the one that `run_id` names; return its id. Only Apps may do this."""
    body: dict[str, Any] = {
        "name": NAME,
        "output": {
            "title": shorten(status.description, MAX_TITLE_CHARACTERS),
            "summary": shorten(status.description, MAX_SUMMARY_CHARACTERS),
        },
    }
    if status.state is StatusState.PENDING:
        body["status"] = "in_progress"
    else:
        # GitHub refuses a completed run without a conclusion.
        body |= {"status": "completed", "conclusion": _CONCLUSIONS[status.state]}
    if run_id.isascii() and run_id.isdigit():
        try:
            client.write(
                "PATCH", _endpoint(ref, f"/check-runs/{run_id}", "checks: write"), body, repeatable=True
            )
            return run_id
        except ForgeMissing:
            pass  # the id is another App's, or of the time when we were an account
    endpoint = _endpoint(ref, "/check-runs", "checks: write")
    answer = client.write("POST", endpoint, body | {"head_sha": head_sha})
    with understood(endpoint, unclear=True):
        return answer.get_id("id")


def set_commit_status(client: GitHubClient, ref: PullRequestRef, head_sha: str, status: Status) -> str:
    """Add a commit status, which replaces the one before it, and return its id."""
    endpoint = _endpoint(ref, f"/statuses/{head_sha}", "commit statuses: write")
    description = shorten(status.description, MAX_STATUS_CHARACTERS)
    body = {"state": _STATES[status.state], "context": NAME, "description": description}
    answer = client.write("POST", endpoint, body)
    with understood(endpoint, unclear=True):
        return answer.get_id("id")


def shorten(text: str, limit: int) -> str:
    """Cut a text to a number of characters, with an ellipsis as the last."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _endpoint(ref: PullRequestRef, path: str, permission: str) -> Endpoint:
    what = f"the status of {ref.repository}#{ref.number}"
    return Endpoint(repository=ref.repository, path=path, what=what, permission=permission)
