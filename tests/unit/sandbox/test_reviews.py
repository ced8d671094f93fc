"""The rules on reviews: where a comment may stand, and that all is stored or nothing."""

import pytest

from deploy.sandbox.github import GitHubSandbox
from tests.unit.sandbox.conftest import NEW, REPO, Client

REVIEWS = f"/repos/{REPO}/pulls/1/reviews"
COMMENTS = f"/repos/{REPO}/pulls/1/comments"
LINE = ["Line could not be resolved"]
ORDER = ["Pull request review thread start line must precede the end line."]
HUNK = [
    (
        "Pull request review thread line must be part of the diff, Pull request review thread start line "
        "must be part of the same hunk as the line., and Pull request review thread diff hunk can't be blank"
    )
]


def a_comment(**place: object) -> dict[str, object]:
    return {"path": "a.py", "body": "hm", "side": "RIGHT"} | place


def a_review(*comments: dict[str, object], **more: object) -> dict[str, object]:
    return {"event": "COMMENT", "body": "Seen.", "comments": list(comments)} | more


@pytest.mark.parametrize(
    ("place", "position"),
    [
        ({"line": 2}, 3),  # added
        ({"line": 1}, 1),  # context before
        ({"line": 2, "side": "LEFT"}, 2),  # deleted
        ({"line": 4, "side": "LEFT"}, 5),  # context, by its old number
        ({"line": 14}, 11),  # added in the second hunk, whose header counts too
        ({"start_line": 1, "line": 3}, 4),
        ({"start_line": 2, "start_side": "LEFT", "line": 2}, 3),  # from the deleted to the added line
        ({"line": 2, "side": "right"}, 3),  # the real server takes lower case as well
    ],
)
def test_takes_lines_of_the_diff(
    sandbox: GitHubSandbox, api: Client, place: dict[str, object], position: int
) -> None:
    assert api("POST", REVIEWS, a_review(a_comment(**place))).status_code == 200
    [stored] = api("GET", COMMENTS).json()
    assert (stored["line"], stored["start_line"]) == (place["line"], place.get("start_line"))
    assert stored["position"] == position


@pytest.mark.parametrize(
    ("place", "errors"),
    [
        ({"line": 7}, LINE),  # between the hunks
        ({"line": 99}, LINE),
        ({"line": 0}, LINE),
        ({"line": 14, "side": "LEFT", "path": "b.py"}, ["Path could not be resolved"]),  # not changed
        ({"line": 1, "path": "logo.png"}, LINE),  # binary: no patch
        ({"start_line": 2, "line": 2}, ORDER),
        ({"start_line": 3, "line": 2}, ORDER),
        ({"start_line": 99, "line": 2}, ORDER),
        ({"start_line": 3, "start_side": "LEFT", "line": 2}, ORDER),
        ({"start_line": 2, "line": 14}, HUNK),  # from one hunk to the other
    ],
)
def test_refuses_other_places_and_stores_nothing(
    sandbox: GitHubSandbox, api: Client, place: dict[str, object], errors: list[str]
) -> None:
    answer = api("POST", REVIEWS, a_review(a_comment(line=2), a_comment(**place)))
    assert answer.status_code == 422
    assert answer.json()["message"] == "Unprocessable Entity"
    assert answer.json()["errors"] == errors
    assert sandbox.pull(REPO, 1).reviews == ()
    assert sandbox.pull(REPO, 1).comments == ()


def test_can_word_refusals_as_before_2026(sandbox: GitHubSandbox, api: Client) -> None:
    sandbox.use_older_review_errors()
    assert api("POST", REVIEWS, a_review(a_comment(line=99))).json()["errors"] == [
        (
            "Pull request review thread line must be part of the diff and Pull request review thread diff "
            "hunk can't be blank"
        )
    ]


def test_a_single_comment_is_refused_with_objects(api: Client, sandbox: GitHubSandbox) -> None:
    head = sandbox.pull(REPO, 1).head_sha
    answer = api("POST", COMMENTS, a_comment(line=99, commit_id=head))
    assert answer.json()["errors"][0] == {
        "resource": "PullRequestReviewComment",
        "code": "custom",
        "field": "pull_request_review_thread.line",
        "message": "pull_request_review_thread.line must be part of the diff",
    }


def test_only_a_comment_on_the_file_fits_a_binary(api: Client, sandbox: GitHubSandbox) -> None:
    wanted = {"path": "logo.png", "body": "Big.", "commit_id": sandbox.pull(REPO, 1).head_sha}
    assert api("POST", COMMENTS, wanted | {"line": 1}).status_code == 422
    assert api("POST", COMMENTS, wanted | {"subject_type": "file"}).status_code == 201


def test_the_reviews_endpoint_knows_no_subject_type(api: Client) -> None:
    assert api("POST", REVIEWS, a_review(a_comment(subject_type="file"))).status_code == 422


def test_a_pending_review_blocks_every_other_of_its_user(sandbox: GitHubSandbox, api: Client) -> None:
    pending = api("POST", REVIEWS, {"comments": [a_comment(line=2)]}).json()
    assert pending["state"] == "PENDING"
    for blocked in (a_review(a_comment(line=2)), {"body": "Another."}):
        answer = api("POST", REVIEWS, blocked)
        assert answer.json()["errors"] == ["User can only have one pending review per pull request"]
    head = sandbox.pull(REPO, 1).head_sha
    assert api("POST", COMMENTS, a_comment(line=2, commit_id=head)).json()["errors"][0]["field"] == "user_id"
    assert Client(sandbox, "grace-token")("GET", COMMENTS).json() == []
    assert api("DELETE", f"{REVIEWS}/{pending['id']}").status_code == 200
    assert api("POST", REVIEWS, a_review()).status_code == 200


def test_a_submitted_review_cannot_be_deleted(api: Client) -> None:
    made = api("POST", REVIEWS, a_review()).json()
    assert api("DELETE", f"{REVIEWS}/{made['id']}").status_code == 422


def test_a_comment_event_needs_a_body_or_comments(api: Client) -> None:
    assert api("POST", REVIEWS, {"event": "COMMENT"}).status_code == 422
    assert api("POST", REVIEWS, {"event": "COMMENT", "comments": [a_comment(line=2)]}).status_code == 200


def test_bodies_end_at_65536_characters(sandbox: GitHubSandbox, api: Client) -> None:
    assert api("POST", REVIEWS, a_review(body="é" * 65_536)).status_code == 200
    for body in (a_review(body="x" * 65_537), a_review(a_comment(line=2, body="x" * 65_537))):
        assert api("POST", REVIEWS, body).status_code == 422
    answer = api("POST", f"/repos/{REPO}/issues/1/comments", {"body": "x" * 65_537})
    assert answer.json()["errors"] == [
        {
            "resource": "Issue",
            "code": "custom",
            "field": "body",
            "message": "body is too long (maximum is 65536 characters)",
        }
    ]
    assert len(sandbox.pull(REPO, 1).reviews) == 1


def test_nobody_approves_an_own_pull_request(sandbox: GitHubSandbox) -> None:
    sandbox.add_user("ada", token="ada-token")
    ada = Client(sandbox, "ada-token")
    answer = ada("POST", REVIEWS, {"event": "APPROVE"})
    assert answer.json()["errors"] == ["Can not approve your own pull request"]


def test_the_reviewed_commit_must_belong_to_the_pull_request(sandbox: GitHubSandbox, api: Client) -> None:
    base = sandbox.pull(REPO, 1).base_sha
    for stranger in ("0" * 40, base, "feature"):
        assert api("POST", REVIEWS, a_review(commit_id=stranger)).status_code == 422


def test_comments_follow_their_line_and_become_outdated_with_it(sandbox: GitHubSandbox, api: Client) -> None:
    first = sandbox.pull(REPO, 1).head_sha
    api("POST", REVIEWS, a_review(a_comment(line=2), a_comment(line=14), a_comment(line=2, side="LEFT")))
    second = sandbox.commit(REPO, "feature", {"a.py": "zero\n" + NEW.replace("and a half", "and more")})
    moved, outdated, old_side = api("GET", COMMENTS).json()
    assert (moved["line"], moved["original_line"], moved["commit_id"]) == (3, 2, second)
    assert (outdated["line"], outdated["position"], outdated["commit_id"]) == (None, None, first)
    assert old_side["line"] == 2


def test_an_earlier_commit_can_still_be_reviewed(sandbox: GitHubSandbox, api: Client) -> None:
    first = sandbox.pull(REPO, 1).head_sha
    sandbox.commit(REPO, "feature", {"a.py": "zero\n" + NEW})
    assert api("POST", REVIEWS, a_review(a_comment(line=14), commit_id=first)).status_code == 200
    assert api("GET", COMMENTS).json()[0]["line"] == 15


def test_a_force_push_points_reviews_to_the_new_head(sandbox: GitHubSandbox, api: Client) -> None:
    api("POST", REVIEWS, a_review(a_comment(line=2)))
    first = sandbox.pull(REPO, 1).head_sha
    other = sandbox.commit(REPO, "rewritten", {"a.py": "another\n"})
    sandbox.force_push(REPO, "feature", other)
    assert api("GET", REVIEWS).json()[0]["commit_id"] == other
    assert sandbox.pull(REPO, 1).comments[0].is_outdated
    assert api("POST", REVIEWS, a_review(commit_id=first)).status_code == 200


def test_answers_go_to_the_first_comment_of_a_thread(sandbox: GitHubSandbox, api: Client) -> None:
    api("POST", REVIEWS, a_review(a_comment(line=2)))
    [top] = sandbox.pull(REPO, 1).comments
    answer = api("POST", f"{COMMENTS}/{top.id}/replies", {"body": "Yes."})
    assert (answer.status_code, answer.json()["in_reply_to_id"]) == (201, top.id)
    assert api("POST", f"{COMMENTS}/{answer.json()['id']}/replies", {"body": "No."}).status_code == 422


def test_ids_of_one_kind_are_never_found_as_another(sandbox: GitHubSandbox, api: Client) -> None:
    said = sandbox.comment(REPO, 1, "Hello.")
    assert api("GET", f"/repos/{REPO}/issues/comments/{said}").status_code == 200
    assert api("GET", f"/repos/{REPO}/pulls/comments/{said}").status_code == 404
