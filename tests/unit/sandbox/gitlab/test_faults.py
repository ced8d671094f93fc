"""Answers that are wrong on purpose, after a request took effect or without."""

import pytest

from deploy.sandbox.gitlab import GitLabSandbox
from tests.unit.sandbox.conftest import HTTP
from tests.unit.sandbox.gitlab.conftest import ONE, REPO, Client

NOTES = f"{ONE}/notes"


def test_500_can_follow_a_stored_note(sandbox: GitLabSandbox, api: Client) -> None:
    """A step behind the commit breaks: the note is there all the same."""
    sandbox.fail_after_storing("POST", "/discussions$")
    assert api.discuss().json() == {"message": "500 Internal Server Error"}
    assert len(sandbox.pull(REPO, 1).comments) == 1
    assert api.discuss().status_code == 201


def test_fails_before_anything_is_stored(sandbox: GitLabSandbox, api: Client) -> None:
    sandbox.fail("POST", "/notes$", status=502, times=2)
    assert [api("POST", NOTES, {"body": "x"}).status_code for _ in range(3)] == [502, 502, 201]
    assert len(sandbox.pull(REPO, 1).conversation) == 1


def test_sends_to_the_login_page(sandbox: GitLabSandbox, api: Client) -> None:
    sandbox.fail(
        "GET", "/changes$", status=302, body="", headers={"Location": f"{sandbox.url}/users/sign_in"}
    )
    assert api("GET", f"{ONE}/changes").headers["Location"].endswith("/users/sign_in")


def test_drops_the_connection_after_storing(sandbox: GitLabSandbox, api: Client) -> None:
    sandbox.fail("POST", "bulk_publish", after_storing=True, drop_connection=True)
    api("POST", f"{ONE}/draft_notes", {"note": "x"})
    with pytest.raises(Exception, match="disconnected"):
        api("POST", f"{ONE}/draft_notes/bulk_publish")
    assert len(sandbox.pull(REPO, 1).conversation) == 1


def test_observers_see_every_request_with_its_path_as_it_was_sent(
    sandbox: GitLabSandbox, api: Client
) -> None:
    seen: list[str] = []
    sandbox.observers.append(lambda request: seen.append(f"{request.method} {request.path} {request.status}"))
    api("GET", f"{ONE}?x=1")
    HTTP.get(sandbox.url)
    assert seen == [f"GET {ONE} 200"]
