"""Who may do what: tokens, scopes, roles, limits, addresses."""

import time

import pytest

from deploy.sandbox.gitlab import GitLabSandbox
from tests.unit.sandbox.conftest import HTTP
from tests.unit.sandbox.gitlab.conftest import ONE, PROJECT, REPO, Client

NOTES, DISCUSSIONS = f"{ONE}/notes", f"{ONE}/discussions"


def test_a_token_comes_in_one_of_two_headers(sandbox: GitLabSandbox, api: Client) -> None:
    assert api("GET", "/user").json()["username"] == "redline-bot"
    assert api("GET", "/user", Authorization="Bearer bot-token").json()["username"] == "redline-bot"
    for headers in ({}, {"PRIVATE-TOKEN": "wrong"}, {"Authorization": "token bot-token"}):
        answer = HTTP.get(f"{sandbox.api_url}/user", headers=headers)
        assert (answer.status_code, answer.json()) == (401, {"message": "401 Unauthorized"})


def test_a_revoked_token_is_unknown(sandbox: GitLabSandbox, api: Client) -> None:
    sandbox.revoke("bot-token")
    assert api("GET", "/user").status_code == 401


def test_scopes_limit_a_token(sandbox: GitLabSandbox) -> None:
    """I1: say which scope is missing."""
    sandbox.add_user("reader", "write", token="read-token", scopes=("read_api",))
    sandbox.add_user("reader", "write", token="repository-token", scopes=("read_repository",))
    reader = Client(sandbox, "read-token")
    assert reader("GET", ONE).status_code == 200
    refused = reader("POST", NOTES, {"body": "x"})
    assert (refused.status_code, refused.json()["error"], refused.json()["scope"]) == (
        403,
        "insufficient_scope",
        "api",
    )
    assert Client(sandbox, "repository-token")("GET", ONE).json()["scope"] == "read_api"


def test_a_job_token_cannot_read_discussions(sandbox: GitLabSandbox, api: Client) -> None:
    """I2: CI_JOB_TOKEN is good for little."""
    sandbox.add_job_token("job-token")
    job = {"JOB-TOKEN": "job-token"}
    assert api("GET", ONE, **job).status_code == 200
    assert api("GET", NOTES, **job).status_code == 200
    for method, path in (("GET", DISCUSSIONS), ("GET", "/user"), ("POST", NOTES)):
        assert api(method, path, {"body": "x"}, **job).status_code == 401
    assert Client(sandbox, "job-token")("GET", ONE).status_code == 401  # not as a private token
    assert api("GET", ONE, **{"JOB-TOKEN": "bot-token"}).status_code == 401


def test_a_project_is_found_by_number_and_by_encoded_path(sandbox: GitLabSandbox, api: Client) -> None:
    """I1: nested groups."""
    project = api("GET", PROJECT).json()
    assert project["path_with_namespace"] == REPO
    assert api("GET", f"/projects/{project['id']}/merge_requests/1").json()["iid"] == 1
    assert api("GET", "/projects/acme%2fsub%2Fshop").status_code == 200
    assert api("GET", "/projects/acme/sub/shop").status_code == 404
    assert api("GET", "/projects/acme%2Fshop").json() == {"message": "404 Project Not Found"}
    assert Client(sandbox, "mallory-token")("GET", PROJECT).json() == {"message": "404 Project Not Found"}
    assert api("GET", f"{PROJECT}/merge_requests/9").json() == {"message": "404 Merge Request Not Found"}


@pytest.mark.parametrize(
    ("login", "level"),
    [("grace", 20), ("ada", 30), ("mia", 40), ("olga", 50), ("mallory", None)],
)
def test_tells_access_levels(sandbox: GitLabSandbox, api: Client, login: str, level: int | None) -> None:
    for name, permission in (("mia", "maintain"), ("olga", "admin")):
        sandbox.add_user(name, permission)
    user = sandbox._state.user(login)
    answer = api("GET", f"{PROJECT}/members/all/{user.id}")
    assert answer.json().get("access_level") == level
    assert answer.status_code == (200 if level else 404)
    assert (login in [one["username"] for one in api("GET", f"{PROJECT}/members/all").json()]) is bool(level)


def test_a_bot_is_known_by_its_own_user_alone(sandbox: GitLabSandbox) -> None:
    sandbox.add_user("project_7_bot_a1", "write", kind="Bot", token="project-token")
    assert Client(sandbox, "project-token")("GET", "/user").json()["bot"] is True


@pytest.mark.parametrize("options", [{"relative_url_root": "/gitlab", "version": "16.11.2"}])
def test_serves_below_a_relative_root(sandbox: GitLabSandbox, api: Client) -> None:
    """I3: an instance under a relative URL."""
    assert sandbox.api_url.endswith("/gitlab/api/v4")
    assert api("GET", "/version").json()["version"] == api("GET", "/metadata").json()["version"] == "16.11.2"
    assert f"{sandbox.url}/{REPO}/-/merge_requests/1" == api("GET", ONE).json()["web_url"]
    outside = HTTP.get(
        sandbox.api_url.replace("/gitlab", "") + "/user", headers={"PRIVATE-TOKEN": "bot-token"}
    )
    assert outside.status_code == 404
    assert sandbox.requests[0].path == "/version"


def test_pages_are_numbered(api: Client) -> None:
    for number in range(5):
        api("POST", NOTES, {"body": str(number)})
    answer = api("GET", f"{NOTES}?per_page=2&page=2&sort=asc")
    assert [note["body"] for note in answer.json()] == ["2", "3"]
    headers = ("X-Page", "X-Per-Page", "X-Prev-Page", "X-Next-Page", "X-Total", "X-Total-Pages")
    assert [answer.headers[name] for name in headers] == ["2", "2", "1", "3", "5", "3"]
    following = HTTP.get(answer.links["next"]["url"], headers={"PRIVATE-TOKEN": api.token})
    assert [note["body"] for note in following.json()] == ["4"]
    assert "next" not in following.links
    assert len(api("GET", f"{NOTES}?per_page=500").json()) == 5


def test_a_very_long_list_has_no_length(sandbox: GitLabSandbox, api: Client) -> None:
    merge_request = sandbox._state.merge_request(REPO, 1)
    api("POST", NOTES, {"body": "x"})
    merge_request.notes *= 10_001
    answer = api("GET", f"{NOTES}?per_page=1")
    assert ("X-Total" in answer.headers, "last" in answer.links, answer.headers["X-Next-Page"]) == (
        False,
        False,
        "2",
    )


def test_keyset_pages_know_only_the_next(api: Client) -> None:
    for number in range(3):
        api("POST", NOTES, {"body": str(number)})
    answer = api("GET", f"{NOTES}?per_page=2&pagination=keyset&sort=asc")
    assert set(answer.links) == {"next"}
    assert "X-Total" not in answer.headers
    following = HTTP.get(answer.links["next"]["url"], headers={"PRIVATE-TOKEN": api.token})
    assert [note["body"] for note in following.json()] == ["2"]


def test_links_may_name_a_host_that_nobody_should_call(sandbox: GitLabSandbox, api: Client) -> None:
    """I3: the configured address wins over that of a `next` link."""
    sandbox.advertise("http://gitlab.invalid:9/")
    for query in ("?per_page=1", "?per_page=1&pagination=keyset"):
        link = api("GET", f"{ONE}/diffs{query}").links["next"]["url"]
        assert link.startswith("http://gitlab.invalid:9/api/v4/projects/acme%2Fsub%2Fshop/")
    assert api("GET", ONE).json()["web_url"].startswith("http://gitlab.invalid:9/acme/")


def test_notes_are_limited_per_user(sandbox: GitLabSandbox, api: Client) -> None:
    sandbox.limit_content(per_minute=1, retry_after_s=7)
    assert api("POST", NOTES, {"body": "1"}).status_code == 201
    blocked = api("POST", NOTES, {"body": "2"})
    assert (blocked.status_code, blocked.headers["Retry-After"]) == (429, "7")
    assert "too many times" in blocked.json()["message"]["error"]
    assert api("POST", DISCUSSIONS, {"body": "3"}).status_code == 201  # the limit is for /notes
    assert Client(sandbox, "grace-token")("POST", NOTES, {"body": "4"}).status_code == 201
    sandbox.limit_content(None)
    assert api("POST", NOTES, {"body": "5"}).status_code == 201


def test_an_exhausted_limit_answers_429_to_everything(sandbox: GitLabSandbox, api: Client) -> None:
    sandbox.exhaust_rate_limit(time.time() + 30)
    answer = api("GET", ONE)
    assert (answer.status_code, answer.text) == (429, "Retry later\n")
    assert 25 <= int(answer.headers["Retry-After"]) <= 30
    sandbox.exhaust_rate_limit(0)
    assert api("GET", ONE).status_code == 200


def test_unknown_places_and_broken_bodies_are_answered_in_json(sandbox: GitLabSandbox, api: Client) -> None:
    assert api("GET", f"{ONE}/reviews").json() == {"error": "404 Not Found"}
    assert api("DELETE", f"{ONE}/versions").status_code == 405
    broken = HTTP.post(
        sandbox.api_url + NOTES,
        content=b"{",
        headers={"PRIVATE-TOKEN": "bot-token", "Content-Type": "application/json"},
    )
    assert (broken.status_code, broken.json()["error"]) == (
        400,
        "message body does not match declared format",
    )


def test_parameters_may_come_as_form_or_query(sandbox: GitLabSandbox) -> None:
    headers = {"PRIVATE-TOKEN": "bot-token"}
    assert HTTP.post(sandbox.api_url + NOTES, data={"body": "form"}, headers=headers).status_code == 201
    assert HTTP.post(f"{sandbox.api_url}{NOTES}?body=query", headers=headers).status_code == 201
    assert [one.body for one in sandbox.pull(REPO, 1).conversation] == ["form", "query"]
