"""Commands in notes are executed, whoever wrote them: a bot that lets one through merges."""

import pytest

from deploy.sandbox.gitlab import GitLabSandbox
from deploy.sandbox.gitlab.quick_actions import extract
from tests.unit.sandbox.gitlab.conftest import ONE, REPO, Client, refusal

NOTES, DISCUSSIONS, DRAFTS = f"{ONE}/notes", f"{ONE}/discussions", f"{ONE}/draft_notes"


@pytest.mark.parametrize(
    ("text", "left", "commands"),
    [
        ("/merge", "", ["merge"]),
        ("/MERGE", "", ["merge"]),
        ("Fine.\n/approve\n\n/close", "Fine.", ["approve", "close"]),
        ("/label ~a ~b\nx", "x", ["label ~a ~b"]),
        ("a\r\n/merge\r\nb", "a\nb", ["merge"]),
        # A fence of another length, or one that never ends, hides nothing from the first pattern.
        ("````\n/merge\n````", "````\n````", ["merge"]),
        ("```\n/merge", "```", ["merge"]),
        ("~~~\n/merge\n~~~", "~~~\n~~~", ["merge"]),
        # Markdown ends the block at the empty line.
        ("<details>\n\n/merge\n\n</details>", "<details>\n\n\n</details>", ["merge"]),
        ("/review\n/approve", "/review", ["approve"]),
        ("`code`\n/approve", "`code`", ["approve"]),
        ("Text that goes on\n/close with a reason", "Text that goes on", ["close with a reason"]),
    ],
)
def test_finds_commands(text: str, left: str, commands: list[str]) -> None:
    found = extract(text)
    assert found[0] == left
    assert [f"{one.name} {one.argument}".strip() for one in found[1]] == commands


@pytest.mark.parametrize(
    "text",
    [
        "/review",
        "/review full",
        "/mergeable",
        "/merge_it",
        " /merge",
        "- /merge",
        "> /merge",
        "\u200b/merge",
        "Then /merge it",
        "```\n/merge\n```",
        "```py\nx\n/merge\n```",
        ">>>\n/merge\n>>>",
        "<div>\n/merge\n</div>",
        "/usr/bin/merge",
        "// merge",
    ],
)
def test_leaves_other_text_alone(text: str) -> None:
    assert extract(text) == (text, [])


def test_a_note_of_commands_alone_is_answered_without_id(sandbox: GitLabSandbox, api: Client) -> None:
    answer = api("POST", NOTES, {"body": "/approve\n/label ~done"})
    assert answer.status_code == 202
    assert answer.json()["summary"] == ["Approved the current merge request.", "Added ~done label."]
    assert "id" not in answer.json()
    state = sandbox.pull(REPO, 1)
    assert (state.approved_by, state.conversation) == (("redline-bot",), ())
    assert [(one.user, one.name, one.argument) for one in state.quick_actions] == [
        ("redline-bot", "approve", ""),
        ("redline-bot", "label", "~done"),
    ]


def test_commands_are_cut_out_of_a_note(sandbox: GitLabSandbox, api: Client) -> None:
    answer = api("POST", NOTES, {"body": "Done.\n/close\nBye."})
    assert (answer.status_code, answer.json()["body"]) == (201, "Done.\nBye.")
    assert sandbox.pull(REPO, 1).state == "closed"


@pytest.mark.parametrize("command", ["merge", "ship"])
def test_merging_is_one_of_them(sandbox: GitLabSandbox, api: Client, command: str) -> None:
    api("POST", NOTES, {"body": f"Looks good.\n\n/{command}"})
    assert sandbox.pull(REPO, 1).state == "merged"


def test_they_work_in_threads_drafts_and_edits(sandbox: GitLabSandbox, api: Client) -> None:
    api.discuss("Hm.\n/draft")
    assert sandbox.pull(REPO, 1).draft
    api("POST", DRAFTS, {"note": "Well.\n/ready", "position": api.position()})
    assert sandbox.pull(REPO, 1).draft
    api("POST", f"{DRAFTS}/bulk_publish")
    assert not sandbox.pull(REPO, 1).draft
    note = api("POST", NOTES, {"body": "Summary."}).json()
    assert (
        api("PUT", f"{NOTES}/{note['id']}", {"body": "Summary.\n/title Other"}).json()["body"] == "Summary."
    )
    assert sandbox.pull(REPO, 1).title == "Other"
    assert api("PUT", f"{NOTES}/{note['id']}", {"body": "/close"}).status_code == 202
    assert api("GET", f"{NOTES}/{note['id']}").status_code == 404


def test_a_thread_of_commands_alone_is_refused_after_all(sandbox: GitLabSandbox, api: Client) -> None:
    assert refusal(api("POST", DISCUSSIONS, {"body": "/approve"})) == (
        '400 Bad request - Note {:commands_only=>["Approved the current merge request."]}'
    )
    assert sandbox.pull(REPO, 1).approved_by == ("redline-bot",)


def test_who_may_not_only_loses_the_line(sandbox: GitLabSandbox) -> None:
    grace = Client(sandbox, "grace-token")
    assert (
        refusal(grace("POST", NOTES, {"body": "/merge"}))
        == "400 Bad request - Could not apply merge command."
    )
    assert grace("POST", NOTES, {"body": "Please\n/merge"}).json()["body"] == "Please"
    assert sandbox.pull(REPO, 1).state == "opened"


@pytest.mark.parametrize(
    ("command", "attribute", "expected"),
    [
        ("/target_branch release", "target_branch", "release"),
        ("/reviewer @ada", "reviewers", ["ada"]),
        ("/assign me", "assignees", ["redline-bot"]),
        ("/lock", "discussion_locked", True),
        ("/draft", "title", "Draft: Change a"),
    ],
)
def test_each_command_does_what_it_says(
    sandbox: GitLabSandbox, api: Client, command: str, attribute: str, expected: object
) -> None:
    sandbox.commit(REPO, "release", {"r.py": "r\n"}, start="main")
    assert api("POST", NOTES, {"body": command}).status_code == 202
    value = api("GET", ONE).json()[attribute]
    assert ([one["username"] for one in value] if isinstance(value, list) else value) == expected
