"""Statuses, check runs and reactions."""

import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from deploy.sandbox.github import GitHubSandbox
from deploy.sandbox.github.routes.statuses import STATUSES_PER_CONTEXT
from tests.unit.sandbox.conftest import REPO, Client, public_pem

RUNS = f"/repos/{REPO}/check-runs"
ANNOTATION = {"path": "a.py", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"}


@pytest.fixture
def app(sandbox: GitHubSandbox, key: rsa.RSAPrivateKey) -> Client:
    installation = sandbox.add_app(9, "redline", public_pem(key), {"checks": "write"})
    moment = int(time.time())
    as_app = Client(
        sandbox, jwt.encode({"iss": "9", "iat": moment - 60, "exp": moment + 300}, key, algorithm="RS256")
    )
    answer = as_app("POST", f"/app/installations/{installation}/access_tokens", {}, scheme="Bearer")
    return Client(sandbox, answer.json()["token"])


def a_run(sandbox: GitHubSandbox, **more: object) -> dict[str, object]:
    return {"name": "Redline", "head_sha": sandbox.pull(REPO, 1).head_sha} | more


def output(**more: object) -> dict[str, object]:
    return {"title": "t", "summary": "s"} | more


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"status": "completed"}, '"conclusion" wasn\'t supplied.'),
        ({"status": "running"}, "running is not a member of"),
        ({"conclusion": "good"}, "good is not a member of"),
        ({"output": {"title": "t"}}, '"summary" wasn\'t supplied.'),
        ({"output": output(annotations=[ANNOTATION] * 51)}, "No more than 50 items are allowed"),
        ({"output": output(annotations=[ANNOTATION | {"annotation_level": "x"}])}, "x is not a member of"),
        ({"output": output(summary="x" * 65_536)}, "Validation Failed"),
        ({"head_sha": "0" * 40}, "No commit found for SHA"),
    ],
)
def test_refuses_check_runs_that_github_refuses(
    sandbox: GitHubSandbox, app: Client, wanted: dict[str, Any], problem: str
) -> None:
    answer = app("POST", RUNS, a_run(sandbox) | wanted)
    assert answer.status_code == 422
    assert problem in answer.json()["message"]
    assert sandbox.pull(REPO, 1).check_runs == ()


def test_a_check_run_collects_annotations(sandbox: GitHubSandbox, app: Client) -> None:
    made = app("POST", RUNS, a_run(sandbox, status="in_progress")).json()
    assert (made["status"], made["conclusion"], made["completed_at"]) == ("in_progress", None, None)
    url = f"{RUNS}/{made['id']}"
    app("PATCH", url, {"output": output(annotations=[ANNOTATION] * 50)})
    done = app("PATCH", url, {"conclusion": "neutral", "output": output(annotations=[ANNOTATION])}).json()
    assert (done["status"], done["conclusion"]) == ("completed", "neutral")
    assert done["output"]["annotations_count"] == 51
    assert [one["number"] for one in done["pull_requests"]] == [1]


def test_the_newest_status_of_a_context_counts(sandbox: GitHubSandbox, api: Client) -> None:
    head = sandbox.pull(REPO, 1).head_sha
    for state in ("pending", "failure", "success"):
        api("POST", f"/repos/{REPO}/statuses/{head}", {"state": state, "context": "redline"})
    assert api("GET", f"/repos/{REPO}/commits/{head}/status").json()["state"] == "success"
    assert [one[2] for one in sandbox.pull(REPO, 1).statuses] == ["pending", "failure", "success"]


def test_statuses_have_limits(sandbox: GitHubSandbox, api: Client) -> None:
    path = f"/repos/{REPO}/statuses/{sandbox.pull(REPO, 1).head_sha}"
    assert api("POST", path, {"state": "running"}).status_code == 422
    assert api("POST", path, {"state": "success", "description": "x" * 141}).status_code == 422
    assert api("POST", path, {"state": "pending", "context": "redline"}).status_code == 201
    stored = sandbox._state.repository(REPO).statuses  # a thousand requests would take seconds
    stored *= STATUSES_PER_CONTEXT
    assert api("POST", path, {"state": "success", "context": "redline"}).status_code == 422
    assert api("POST", path, {"state": "success", "context": "other"}).status_code == 201


def test_reacting_twice_is_once(sandbox: GitHubSandbox, api: Client) -> None:
    comment = sandbox.comment(REPO, 1, "/review")
    path = f"/repos/{REPO}/issues/comments/{comment}/reactions"
    statuses = [api("POST", path, {"content": "eyes"}).status_code for _ in range(2)]
    assert (statuses, sandbox.pull(REPO, 1).reactions) == ([201, 200], {comment: [("redline-bot", "eyes")]})
    assert api("POST", path, {"content": "thumbsup"}).status_code == 422
