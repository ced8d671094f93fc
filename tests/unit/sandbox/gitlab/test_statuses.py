"""Commit statuses are jobs: they go on, and never back."""

import pytest

from deploy.sandbox.gitlab import GitLabSandbox
from tests.unit.sandbox.gitlab.conftest import ONE, PROJECT, REPO, Client, refusal


def mark(api: Client, state: str, **more: object) -> tuple[int, str]:
    head = api.sandbox.pull(REPO, 1).head_sha
    answer = api("POST", f"{PROJECT}/statuses/{head}", {"state": state, "name": "redline", **more})
    return answer.status_code, str(answer.json().get("message", ""))


@pytest.mark.parametrize("end", ["success", "failed", "canceled"])
def test_goes_from_pending_over_running_to_an_end(sandbox: GitLabSandbox, api: Client, end: str) -> None:
    for state in ("pending", "running", end):
        assert mark(api, state, description=f"is {state}")[0] == 201
    head = sandbox.pull(REPO, 1).head_sha
    assert sandbox.pull(REPO, 1).statuses == (
        (head, "redline", "pending", "is pending"),
        (head, "redline", "running", "is running"),
        (head, "redline", end, f"is {end}"),
    )
    [status] = api("GET", f"{PROJECT}/repository/commits/{head}/statuses").json()
    assert (status["status"], status["ref"], status["author"]["username"]) == (end, "feature", "redline-bot")
    assert status["started_at"]
    assert status["finished_at"]


@pytest.mark.parametrize(
    ("first", "second", "event"),
    [("pending", "pending", "enqueue"), ("running", "running", "run"), ("running", "pending", "enqueue")],
)
def test_does_not_go_back_or_stay(
    sandbox: GitLabSandbox, api: Client, first: str, second: str, event: str
) -> None:
    mark(api, first, description="before")
    status, message = mark(api, second, description="after")
    assert status == 400
    assert message == (
        f'Cannot transition status via :{event} from :{first} (Reason(s): Status cannot transition via "{event}")'
    )
    assert sandbox.pull(REPO, 1).statuses[-1][3] == "before"


def test_after_an_end_a_new_one_begins(sandbox: GitLabSandbox, api: Client) -> None:
    for state in ("success", "success", "pending"):
        assert mark(api, state)[0] == 201
    head = sandbox.pull(REPO, 1).head_sha
    path = f"{PROJECT}/repository/commits/{head}/statuses"
    assert [one["status"] for one in api("GET", path).json()] == ["pending"]
    assert [one["status"] for one in api("GET", f"{path}?all=true&name=redline").json()] == [
        "success",
        "success",
        "pending",
    ]


def test_refuses_what_is_wrong(sandbox: GitLabSandbox, api: Client) -> None:
    head = sandbox.pull(REPO, 1).head_sha
    path = f"{PROJECT}/statuses/{head}"
    assert refusal(api("POST", path, {})) == "state is missing"
    assert refusal(api("POST", path, {"state": "failure"})) == "state does not have a valid value"
    long = api("POST", path, {"state": "success", "description": "x" * 256})
    assert long.json() == {"message": {"description": ["is too long (maximum is 255 characters)"]}}
    unknown = api("POST", f"{PROJECT}/statuses/{'0' * 40}", {"state": "success"})
    assert unknown.json() == {"message": "404 Commit Not Found"}
    assert Client(sandbox, "grace-token")("POST", path, {"state": "success"}).json() == {
        "message": "403 Forbidden"
    }


def test_another_update_may_be_in_the_way(sandbox: GitLabSandbox, api: Client) -> None:
    sandbox.hold_statuses()
    assert mark(api, "pending") == (409, "Another update to this commit status is in progress")
    assert mark(api, "pending")[0] == 201


def test_the_head_of_a_fork_has_its_statuses_in_the_fork(sandbox: GitLabSandbox, api: Client) -> None:
    """J1: the commit is known to the target project, but none of its branches has it."""
    head = sandbox.commit(REPO, "from-fork", {"c.py": "c\n"})
    number = sandbox.open_pull_request(REPO, "from-fork", fork_owner="grace")
    told = api("GET", f"{ONE[:-1]}{number}").json()
    assert told["source_project_id"] != told["target_project_id"]
    refused = api("POST", f"{PROJECT}/statuses/{head}", {"state": "pending"})
    assert refused.json() == {"message": "404 References for commit Not Found"}
    made = api("POST", f"/projects/{told['source_project_id']}/statuses/{head}", {"state": "pending"})
    assert made.status_code == 201
    assert sandbox.pull(REPO, number).statuses == ((head, "default", "pending", ""),)
