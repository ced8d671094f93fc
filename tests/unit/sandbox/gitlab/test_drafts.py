"""Draft notes: seen by their author alone, and published one after another."""

import pytest

from deploy.sandbox.gitlab import GitLabSandbox
from tests.unit.sandbox.gitlab.conftest import LINE_CODE_ERROR, ONE, REPO, Client, refusal

DRAFTS = f"{ONE}/draft_notes"


def draft(api: Client, note: str = "Hm.", **changes: object) -> int:
    answer = api("POST", DRAFTS, {"note": note, "position": api.position(**changes)})
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def test_drafts_are_published_together(sandbox: GitLabSandbox, api: Client) -> None:
    draft(api, "First.")
    draft(api, "Second.", new_line=14)
    api("POST", DRAFTS, {"note": "Third, on no line."})
    assert sandbox.pull(REPO, 1).comments == ()
    answer = api("POST", f"{DRAFTS}/bulk_publish")
    assert (answer.status_code, answer.content, answer.headers.get("Content-Type")) == (204, b"", None)
    state = sandbox.pull(REPO, 1)
    assert [(one.body, one.line) for one in state.comments] == [("First.", 2), ("Second.", 14)]
    assert [one.body for one in state.conversation] == ["Third, on no line."]
    assert api("GET", DRAFTS).json() == []


def test_the_list_has_no_pages(api: Client) -> None:
    for number in range(21):
        draft(api, f"{number}")
    assert len(api("GET", f"{DRAFTS}?per_page=5").json()) == 21


def test_a_draft_is_its_authors_alone(sandbox: GitLabSandbox, api: Client) -> None:
    mine = draft(api)
    sandbox.add_user("other-bot", "write", token="other-token")
    other = Client(sandbox, "other-token")
    assert other("GET", DRAFTS).json() == []
    assert other("DELETE", f"{DRAFTS}/{mine}").status_code == 404
    other("POST", f"{DRAFTS}/bulk_publish")
    assert [one["id"] for one in api("GET", DRAFTS).json()] == [mine]


def test_drafts_can_be_changed_deleted_and_published_alone(sandbox: GitLabSandbox, api: Client) -> None:
    first, second = draft(api, "First."), draft(api, "Second.")
    assert api("GET", f"{DRAFTS}/{first}").json()["line_code"].endswith("_3_2")
    changed = api("PUT", f"{DRAFTS}/{first}", {"note": "First, but better.", "position": api.position()})
    assert changed.json()["note"] == "First, but better."
    assert refusal(api("PUT", f"{DRAFTS}/{first}", {})) == "400 Bad request - Missing params to modify"
    assert api("DELETE", f"{DRAFTS}/{second}").status_code == 204
    assert api("PUT", f"{DRAFTS}/{first}/publish").status_code == 204
    assert [one.body for one in sandbox.pull(REPO, 1).comments] == ["First, but better."]
    assert api("PUT", f"{DRAFTS}/{first}/publish").status_code == 404


def test_a_summary_goes_along_since_19(sandbox: GitLabSandbox, api: Client) -> None:
    draft(api)
    api("POST", f"{DRAFTS}/bulk_publish?note=Two+findings.&reviewer_state=reviewed")
    assert [one.body for one in sandbox.pull(REPO, 1).conversation] == ["Two findings."]
    refused = api("POST", f"{DRAFTS}/bulk_publish", {"reviewer_state": "approved"})
    assert refusal(refused) == "reviewer_state does not have a valid value"


def test_a_draft_can_answer_and_resolve(sandbox: GitLabSandbox, api: Client) -> None:
    thread = api.discuss().json()["id"]
    api("POST", DRAFTS, {"note": "Fixed.", "in_reply_to_discussion_id": thread, "resolve_discussion": True})
    api("POST", f"{DRAFTS}/bulk_publish")
    first, second = sandbox.pull(REPO, 1).comments
    assert (second.in_reply_to_id, second.is_resolved) == (first.id, True)
    unknown = {"note": "x", "in_reply_to_discussion_id": "0" * 40}
    assert "Thread to reply to cannot be found" in refusal(api("POST", DRAFTS, unknown))


def test_a_wrong_position_is_refused_at_once(sandbox: GitLabSandbox, api: Client) -> None:
    answer = api("POST", DRAFTS, {"note": "x", "position": api.position(new_line=99)})
    assert refusal(answer) == LINE_CODE_ERROR
    assert refusal(api("POST", DRAFTS, {"body": "x"})) == "note is missing"


@pytest.mark.parametrize(("how", "status", "left"), [("vanish", 204, 0), ("fail", 500, 3)])
def test_or_only_when_it_is_published(
    sandbox: GitLabSandbox, api: Client, how: str, status: int, left: int
) -> None:
    sandbox.options.bad_drafts = how
    draft(api, "Good.")
    draft(api, "Bad.", new_line=99)
    draft(api, "Good, too.", new_line=14)
    assert api("POST", f"{DRAFTS}/bulk_publish").status_code == status
    bodies = [one.body for one in sandbox.pull(REPO, 1).comments]
    assert bodies == (["Good.", "Good, too."] if how == "vanish" else ["Good."])
    assert len(api("GET", DRAFTS).json()) == left


def test_publishing_can_break_half_way_and_leave_all_drafts(sandbox: GitLabSandbox, api: Client) -> None:
    for number in range(3):
        draft(api, f"Note {number}.")
    sandbox.options.break_publishing_after = 2
    assert api("POST", f"{DRAFTS}/bulk_publish").json() == {"message": "500 Internal Server Error"}
    state = sandbox.pull(REPO, 1)
    assert [one.body for one in state.comments] == ["Note 0.", "Note 1."]
    assert [body for _, body in state.drafts] == ["Note 0.", "Note 1.", "Note 2."]
    assert api("POST", f"{DRAFTS}/bulk_publish").status_code == 204
    assert len(sandbox.pull(REPO, 1).comments) == 5
