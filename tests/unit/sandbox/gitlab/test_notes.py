"""Notes, threads and emoji."""

from typing import Any

import pytest

from deploy.sandbox.gitlab import GitLabSandbox
from tests.unit.sandbox.gitlab.conftest import ONE, PROJECT, REPO, Client, refusal

NOTES, DISCUSSIONS = f"{ONE}/notes", f"{ONE}/discussions"


def test_a_note_stands_alone_and_a_thread_can_be_resolved(api: Client) -> None:
    note = api("POST", NOTES, {"body": "Alone."}).json()
    api("POST", DISCUSSIONS, {"body": "Thread."})
    alone, thread = api("GET", DISCUSSIONS).json()
    assert (alone["individual_note"], alone["notes"][0]["id"], alone["notes"][0]["type"]) == (
        True,
        note["id"],
        None,
    )
    assert (thread["individual_note"], thread["notes"][0]["type"]) == (False, "DiscussionNote")
    assert "not resolvable" in refusal(api("PUT", f"{DISCUSSIONS}/{alone['id']}", {"resolved": True}))
    resolved = api("PUT", f"{DISCUSSIONS}/{thread['id']}", {"resolved": True}).json()["notes"][0]
    assert (resolved["resolved"], resolved["resolved_by"]["username"]) == (True, "redline-bot")
    note_path = f"{DISCUSSIONS}/{thread['id']}/notes/{resolved['id']}"
    assert api("PUT", note_path, {"resolved": False}).json()["resolved"] is False
    assert "exactly one parameter must be provided" in refusal(api("PUT", note_path, {}))


def test_answers_join_the_thread(sandbox: GitLabSandbox, api: Client) -> None:
    thread = api.discuss().json()
    reply = api("POST", f"{DISCUSSIONS}/{thread['id']}/notes", {"body": "Why?"}).json()
    assert (reply["type"], reply["position"]["new_line"]) == ("DiffNote", 2)
    first, second = sandbox.pull(REPO, 1).comments
    assert (first.in_reply_to_id, second.in_reply_to_id) == (None, first.id)
    assert api("POST", f"{DISCUSSIONS}/{'0' * 40}/notes", {"body": "x"}).json() == {
        "message": "404 Discussion Not Found"
    }
    assert api("GET", f"{DISCUSSIONS}/{thread['id']}").json()["notes"][1]["id"] == reply["id"]


def test_an_answer_to_a_lone_note_makes_a_thread(sandbox: GitLabSandbox, api: Client) -> None:
    note = sandbox.comment(REPO, 1, "Alone.")
    sandbox.reply(REPO, 1, note, "No more.")
    [thread] = api("GET", DISCUSSIONS).json()
    assert (thread["individual_note"], len(thread["notes"])) == (False, 2)


def test_system_notes_are_listed_and_cannot_be_answered(sandbox: GitLabSandbox, api: Client) -> None:
    sandbox.commit(REPO, "feature", {"c.py": "c\n"})
    [thread] = api("GET", DISCUSSIONS).json()
    assert (thread["notes"][0]["system"], thread["notes"][0]["body"]) == (True, "added 1 commit")
    answer = api("POST", f"{DISCUSSIONS}/{thread['id']}/notes", {"body": "x"})
    assert "can not be replied to" in refusal(answer)
    assert sandbox.pull(REPO, 1).conversation == ()
    assert [one["system"] for one in api("GET", f"{NOTES}?activity_filter=only_comments").json()] == []


def test_notes_are_listed_newest_first(api: Client) -> None:
    for body in ("1", "2", "3"):
        api("POST", NOTES, {"body": body})
    assert [note["body"] for note in api("GET", NOTES).json()] == ["3", "2", "1"]
    assert [note["body"] for note in api("GET", f"{NOTES}?sort=asc&order_by=updated_at").json()] == [
        "1",
        "2",
        "3",
    ]


def test_bodies_have_limits(api: Client) -> None:
    assert (
        refusal(api("POST", NOTES, {"body": "  "})) == '400 Bad request - Note {:note=>["can\'t be blank"]}'
    )
    assert "too long (maximum is 1000000" in refusal(api("POST", NOTES, {"body": "x" * 1_000_001}))
    assert api("POST", NOTES, {"body": "x" * 1_000_000}).status_code == 201
    assert refusal(api("POST", NOTES, {"body": 3})) == "body is invalid"
    assert refusal(api("POST", NOTES, {"note": "x"})) == "body is missing"


def test_only_the_author_and_maintainers_change_a_note(sandbox: GitLabSandbox, api: Client) -> None:
    note = sandbox.comment(REPO, 1, "Ada's.", author="ada")
    assert api("PUT", f"{NOTES}/{note}", {"body": "x"}).status_code == 403
    assert api("DELETE", f"{NOTES}/{note}").status_code == 403
    sandbox.add_user("root", "maintain", token="root-token")
    root = Client(sandbox, "root-token")
    assert root("PUT", f"{NOTES}/{note}", {"body": "Root's."}).json()["body"] == "Root's."
    deleted = root("DELETE", f"{NOTES}/{note}")
    assert (deleted.status_code, deleted.content, deleted.headers.get("Content-Type")) == (204, b"", None)
    assert root("GET", f"{NOTES}/{note}").json() == {"message": "404 Note Not Found"}


def test_an_emoji_is_given_once(sandbox: GitLabSandbox, api: Client) -> None:
    note = sandbox.comment(REPO, 1, "/review")
    awards = f"{NOTES}/{note}/award_emoji"
    assert api("POST", awards, {"name": "eyes"}).status_code == 201
    again = api("POST", awards, {"name": "eyes"})
    assert (again.status_code, "has already been taken" in again.json()["message"]) == (404, True)
    assert sandbox.pull(REPO, 1).reactions == {note: [("redline-bot", "eyes")]}
    assert [one["name"] for one in api("GET", awards).json()] == ["eyes"]


def test_suggestions_count_from_the_line(sandbox: GitLabSandbox, api: Client) -> None:
    """A11: `suggestion:-A+B` names the lines around the commented one."""
    body = "Better:\n````suggestion:-1+2\none!\n```\n````\n\n```suggestion\n\n```"
    suggestions = api.discuss(body).json()["notes"][0]["suggestions"]
    assert [(one["from_line"], one["to_line"]) for one in suggestions] == [(1, 4), (2, 2)]
    assert suggestions[0]["from_content"] == "one\n2\nthree\nfour\n"
    assert suggestions[0]["to_content"] == "one!\n```\n"
    assert sandbox.pull(REPO, 1).comments[0].suggestions[1].to_content == ""  # deletes the line


@pytest.mark.parametrize(
    ("info", "lines", "expected"),
    [
        ("suggestion:-200+300", {}, [(1, 15)]),  # 100 at most, and the file has but 15
        ("suggestion:+1", {}, [(2, 3)]),
        ("suggestion:1", {}, []),
        ("python", {}, []),
        ("suggestion", {"old_line": 2, "new_line": ...}, []),  # there is nothing to replace
    ],
)
def test_suggestions_have_limits(
    api: Client, info: str, lines: dict[str, Any], expected: list[tuple[int, int]]
) -> None:
    suggestions = api.discuss(f"```{info}\nx\n```", **lines).json()["notes"][0]["suggestions"]
    assert [(one["from_line"], one["to_line"]) for one in suggestions] == expected


def test_a_long_suggestion_is_cut_without_a_word(sandbox: GitLabSandbox, api: Client) -> None:
    long = "".join(f"{number}\n" for number in range(1, 400))
    sandbox.commit(REPO, "feature", {"a.py": long})
    answer = api.discuss("```suggestion:-150+150\nx\n```", new_line=200)
    [suggestion] = answer.json()["notes"][0]["suggestions"]
    assert (suggestion["from_line"], suggestion["to_line"]) == (100, 300)


@pytest.mark.parametrize(
    ("old", "suggested", "new"),
    [
        ("a\nb\nc\n", "B\nB", "a\nB\nB\nc\n"),
        ("a\r\nb\r\nc\r\n", "B", "a\r\nB\r\nc\r\n"),
        ("a\nb", "B", "a\nB"),
        ("a\nb\nc\n", "", "a\nc\n"),
        ("a\x0b\nb\u2028b\nc\n", "B", "a\x0b\nB\nc\n"),
    ],
)
def test_a_suggestion_is_applied_as_a_push(
    sandbox: GitLabSandbox, api: Client, old: str, suggested: str, new: str
) -> None:
    sandbox.commit(REPO, "feature", {"s.txt": old})
    answer = api.discuss(f"```suggestion:-0+0\n{suggested}\n```", old_path="s.txt", new_path="s.txt")
    sha = sandbox.apply_suggestion(REPO, 1, answer.json()["notes"][0]["id"])
    file = api("GET", f"{PROJECT}/repository/files/s.txt/raw?ref={sha}")
    assert file.content == new.encode()
    assert sandbox.pull(REPO, 1).head_sha == sha


def test_a_body_loses_carriage_returns_and_white_space_at_its_end(api: Client) -> None:
    assert api("POST", NOTES, {"body": "a\r\n/etc  \n\n"}).json()["body"] == "a\n/etc"
