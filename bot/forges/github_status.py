"""The mark on a commit: a check run if we are an App, a commit status if we are an account."""

from collections.abc import Callable
from typing import Any

from bot.events import PullRequestRef
from bot.forges.base import ForgeMissing, Status, StatusState
from bot.forges.github_client import PAGE_SIZE, Endpoint, GitHubClient, understood

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
    client: GitHubClient,
    ref: PullRequestRef,
    head_sha: str,
    status: Status,
    run_id: str,
    *,
    reference: str,
    own_login: Callable[[], str],
) -> str:
    """Update the check run that `run_id` or else `reference` finds, or create it; return its id.

    Only Apps may do this.
    """
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
            return _update(client, ref, run_id, body)
        except ForgeMissing:
            pass  # the id is another App's, or of the time when we were an account
    # A run whose creation was stored by GitHub but not by us would stay in progress for ever.
    lost = _find_check_run(client, ref, head_sha, reference, own_login())
    if lost:
        return _update(client, ref, lost, body)
    endpoint = _endpoint(ref, "/check-runs", "checks: write")
    answer = client.write("POST", endpoint, body | {"head_sha": head_sha, "external_id": reference})
    with understood(endpoint, unclear=True):
        return answer.get_id("id")


def _update(client: GitHubClient, ref: PullRequestRef, run_id: str, body: dict[str, Any]) -> str:
    client.write("PATCH", _endpoint(ref, f"/check-runs/{run_id}", "checks: write"), body, repeatable=True)
    return run_id


def _find_check_run(
    client: GitHubClient, ref: PullRequestRef, head_sha: str, reference: str, own_login: str
) -> str:
    """Find this review's own check run on a commit; "" if there is none."""
    endpoint = _endpoint(ref, f"/commits/{head_sha}/check-runs", "checks: write")
    # Without `all` only the newest run of a name is listed, and another review of this head may have made it.
    wanted: dict[str, str | int] = {"check_name": NAME, "filter": "all", "per_page": PAGE_SIZE}
    answer = client.read_object(endpoint, params=wanted)
    with understood(endpoint):
        return next(
            (
                run.get_id("id")
                for run in answer.get_objects("check_runs")
                if run.find_text("external_id") == reference
                # An App's bot is called by the App's slug; any App may have chosen our name and references.
                and f"{run.find_object('app').find_text('slug')}[bot]".lower() == own_login.lower()
            ),
            "",
        )


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
