"""Where a note may stand: exactly on the lines of a version of the diff."""

import hashlib
from typing import Any

import pytest

from deploy.sandbox.git import FileContent, SpecialFile
from deploy.sandbox.gitlab import GitLabSandbox
from tests.unit.sandbox.conftest import NEW, OLD
from tests.unit.sandbox.gitlab.conftest import LINE_CODE_ERROR, ONE, PROJECT, REPO, Client, refusal

A_PY = hashlib.sha1(b"a.py", usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(
    ("old_line", "new_line", "shown"),
    [
        (None, 2, "+2"),
        (2, None, "-two"),
        (1, 1, " one"),
        (3, 3, " three"),
        (None, 14, "+thirteen and a half"),
        (14, 15, " fourteen"),
        (7, 7, " seven"),  # between the hunks
        (9, 9, " nine"),
    ],
)
def test_a_line_of_the_diff_and_any_unchanged_line_can_be_commented(
    sandbox: GitLabSandbox, api: Client, old_line: int | None, new_line: int | None, shown: str
) -> None:
    answer = api.discuss(old_line=old_line, new_line=new_line)
    assert answer.status_code == 201, answer.text
    note = answer.json()["notes"][0]
    assert (note["type"], note["position"]["old_line"], note["position"]["new_line"]) == (
        "DiffNote",
        old_line,
        new_line,
    )
    [comment] = sandbox.pull(REPO, 1).comments
    assert comment.diff_hunk.rpartition("\n")[2] == shown
    assert (comment.old_line, comment.new_line) == (old_line, new_line)


@pytest.mark.parametrize(
    ("old_line", "new_line"),
    [(None, 1), (None, 3), (1, None), (2, 2), (14, 14), (8, 9), (99, 99), (16, 17), (0, 1), (None, 99)],
)
def test_no_other_pair_of_numbers_can(
    sandbox: GitLabSandbox, api: Client, old_line: int | None, new_line: int | None
) -> None:
    assert refusal(api.discuss(old_line=old_line, new_line=new_line)) == LINE_CODE_ERROR
    assert sandbox.pull(REPO, 1).comments == ()


def test_says_which_parameters_are_missing(api: Client) -> None:
    assert refusal(api.discuss(base_sha=...)) == "position[base_sha] is missing"
    assert refusal(api.discuss(head_sha=..., position_type=...)) == (
        "position[head_sha] is missing, position[position_type] is missing"
    )
    assert refusal(api.discuss(position_type="line")) == "position[position_type] does not have a valid value"
    assert refusal(api.discuss(new_line="two")) == "position[new_line] is invalid"
    assert refusal(api("POST", f"{ONE}/discussions", {"body": "x", "position": "2"})) == "position is invalid"
    assert refusal(api("POST", f"{ONE}/discussions", {})) == "body is missing"


def test_a_position_without_line_or_path_is_incomplete(api: Client) -> None:
    incomplete = ', :position=>["is incomplete"]}'
    assert refusal(api.discuss(new_line=...)) == LINE_CODE_ERROR[:-1] + incomplete
    assert refusal(api.discuss(old_path=..., new_path=...)).endswith(incomplete)
    assert refusal(api.discuss(head_sha="")).endswith(incomplete)


@pytest.mark.parametrize(
    "changes",
    [{"old_path": ...}, {"new_path": ...}, {"old_path": "b.py"}, {"new_path": "gone.py"}],
)
def test_both_paths_are_needed(api: Client, changes: dict[str, Any]) -> None:
    assert refusal(api.discuss(**changes)) == LINE_CODE_ERROR


def test_the_shas_must_be_those_of_a_version(sandbox: GitLabSandbox, api: Client) -> None:
    position = api.position()
    assert refusal(api.discuss(head_sha="0" * 40)) == LINE_CODE_ERROR
    assert refusal(api.discuss(base_sha=position["head_sha"])) == LINE_CODE_ERROR
    assert refusal(api.discuss(head_sha=position["head_sha"][:12])) == LINE_CODE_ERROR


def test_a_note_on_an_older_version_is_made_and_moves_along(sandbox: GitLabSandbox, api: Client) -> None:
    old = api.position()
    removed = {**old, "new_line": 14}
    sandbox.commit(REPO, "feature", {"a.py": "zero\n" + NEW.replace("thirteen and a half\n", "")})
    for position in (old, removed):
        assert api("POST", f"{ONE}/discussions", {"body": "Hm.", "position": position}).status_code == 201
    first, second = sandbox.pull(REPO, 1).comments
    assert (first.is_outdated, second.is_outdated) == (False, True)
    assert first.commit_id == old["head_sha"] != sandbox.pull(REPO, 1).head_sha


def opened(
    sandbox: GitLabSandbox, files: dict[str, FileContent], renames: dict[str, str] | None = None
) -> str:
    sandbox.commit(REPO, "other", files, renames=renames)
    return f"{PROJECT}/merge_requests/{sandbox.open_pull_request(REPO, 'other')}"


def discuss(api: Client, where: str, old_path: str, new_path: str, **lines: object) -> int:
    refs = api("GET", where).json()["diff_refs"]
    position = {**refs, "position_type": "text", "old_path": old_path, "new_path": new_path, **lines}
    answer = api("POST", f"{where}/discussions", {"body": "Hm.", "position": position})
    if answer.status_code != 201:
        assert refusal(answer) == LINE_CODE_ERROR
    return answer.status_code


def test_a_new_file_has_no_old_lines(sandbox: GitLabSandbox, api: Client) -> None:
    """A5: old_line on a new file."""
    where = opened(sandbox, {"new.py": "a\nb\n"})
    assert discuss(api, where, "new.py", "new.py", new_line=2) == 201
    assert discuss(api, where, "new.py", "new.py", old_line=2, new_line=2) == 400
    assert discuss(api, where, "new.py", "new.py", new_line=3) == 400


def test_a_deleted_file_has_no_new_lines(sandbox: GitLabSandbox, api: Client) -> None:
    where = opened(sandbox, {"a.py": None})
    assert discuss(api, where, "a.py", "a.py", old_line=14) == 201
    assert discuss(api, where, "a.py", "a.py", old_line=14, new_line=14) == 400
    assert discuss(api, where, "a.py", "a.py", new_line=1) == 400


def test_a_renamed_file_keeps_its_old_path(sandbox: GitLabSandbox, api: Client) -> None:
    """A6: old_path is the real old path."""
    where = opened(sandbox, {"c.py": NEW}, renames={"a.py": "c.py"})
    assert discuss(api, where, "a.py", "c.py", new_line=2) == 201
    assert discuss(api, where, "a.py", "c.py", old_line=7, new_line=7) == 201
    assert discuss(api, where, "c.py", "c.py", new_line=2) == 400
    assert discuss(api, where, "a.py", "a.py", old_line=2) == 400


def test_a_rename_or_mode_change_alone_has_no_lines(sandbox: GitLabSandbox, api: Client) -> None:
    where = opened(sandbox, {"b.py": SpecialFile(mode="100755", content="b\n")}, renames={"a.py": "c.py"})
    assert discuss(api, where, "a.py", "c.py", old_line=1, new_line=1) == 400
    assert discuss(api, where, "b.py", "b.py", old_line=1, new_line=1) == 400


def test_a_file_that_is_too_large_or_binary_has_no_lines(sandbox: GitLabSandbox, api: Client) -> None:
    where = opened(sandbox, {"big.txt": "x" * 79 + "\n" + "y\n" * 110_000, "logo.png": b"\0\1"})
    assert discuss(api, where, "big.txt", "big.txt", new_line=1) == 400
    assert discuss(api, where, "logo.png", "logo.png", new_line=1) == 400


def test_a_collapsed_file_has(sandbox: GitLabSandbox, api: Client) -> None:
    where = opened(sandbox, {"big.txt": "line\n" * 6_000})
    assert api("GET", f"{where}/changes").json()["changes"][0]["diff"] == ""
    assert discuss(api, where, "big.txt", "big.txt", new_line=5_999) == 201


def test_a_file_that_became_a_link_is_known_by_its_removal(sandbox: GitLabSandbox, api: Client) -> None:
    where = opened(sandbox, {"b.py": SpecialFile(mode="120000", content="a.py")})
    assert discuss(api, where, "b.py", "b.py", old_line=1) == 201
    assert discuss(api, where, "b.py", "b.py", new_line=1) == 400


def test_a_whole_file_can_be_commented(sandbox: GitLabSandbox, api: Client) -> None:
    logo = {"old_path": "logo.png", "new_path": "logo.png", "new_line": ...}
    assert api.discuss(position_type="file", **logo).status_code == 201
    assert api.discuss(position_type="image", **logo, x=1, y=2, width=3, height=4).status_code == 201
    incomplete = '400 Bad request - Note {:position=>["is incomplete"]}'
    assert refusal(api.discuss(position_type="image", **logo)) == incomplete
    assert refusal(api.discuss(position_type="file", new_path="x", old_path="x", new_line=...)) == incomplete
    assert [one.subject_type for one in sandbox.pull(REPO, 1).comments] == ["file", "image"]


@pytest.mark.parametrize("options", [{"version": "16.3.0"}])
def test_an_old_gitlab_knows_no_notes_on_files(api: Client) -> None:
    answer = api.discuss(position_type="file", new_line=...)
    assert refusal(answer) == "position[position_type] does not have a valid value"


def a_range(start: dict[str, object], end: dict[str, object]) -> dict[str, object]:
    return {"start": start, "end": end}


ADDED = {"line_code": f"{A_PY}_3_2", "type": "new", "new_line": 2}
REMOVED = {"line_code": f"{A_PY}_2_2", "type": "old", "old_line": 2}
ABOVE = {"line_code": f"{A_PY}_1_1", "type": "old", "old_line": 1, "new_line": 1}
FAR_BELOW = {"line_code": f"{A_PY}_7_7", "type": None, "old_line": 7, "new_line": 7}


def test_a_range_ends_on_the_line_of_the_position(sandbox: GitLabSandbox, api: Client) -> None:
    """D32 and A11: line codes at both ends, and the position at the second one."""
    assert api.discuss(line_range=a_range(ABOVE, ADDED)).status_code == 201
    assert api.discuss(line_range=a_range(REMOVED, ADDED)).status_code == 201
    assert api.discuss(line_range=a_range(ADDED, ADDED)).status_code == 201
    assert api.discuss(line_range=a_range(ADDED, FAR_BELOW), old_line=7, new_line=7).status_code == 201
    first, second, third, fourth = sandbox.pull(REPO, 1).comments
    assert (first.start_line, first.start_side, first.line, first.side) == (1, "RIGHT", 2, "RIGHT")
    assert (second.start_line, second.start_side) == (2, "LEFT")
    assert third.start_line is None
    assert (fourth.start_line, fourth.line) == (2, 7)


@pytest.mark.parametrize(
    "line_range",
    [
        a_range(ADDED, ABOVE),
        a_range(ABOVE, REMOVED),  # does not end here
        a_range(FAR_BELOW, ADDED),  # starts below its end
        a_range({**ABOVE, "line_code": f"{A_PY}_1_9"}, ADDED),
        a_range({**ABOVE, "line_code": "1_1"}, ADDED),
        a_range({**ABOVE, "line_code": "0" * 40 + "_1_1"}, ADDED),
        a_range({**ABOVE, "old_line": 2}, ADDED),
        a_range({**ABOVE, "type": "new"}, ADDED),
        a_range(ABOVE, {**ADDED, "type": "old"}),
    ],
)
def test_a_wrong_range_is_refused(api: Client, line_range: dict[str, object]) -> None:
    assert refusal(api.discuss(line_range=line_range)) == LINE_CODE_ERROR


def test_a_range_without_line_codes_is_incomplete(api: Client) -> None:
    bare = {"type": "new", "new_line": 2}
    assert "is incomplete" in refusal(api.discuss(line_range=a_range(bare, ADDED)))
    assert "is incomplete" in refusal(api.discuss(line_range={"start": ABOVE}))
    assert refusal(api.discuss(line_range="1-2")) == "position[line_range] is invalid"
    assert refusal(api.discuss(line_range={"start": 1})) == "position[line_range][start] is invalid"


def test_lines_below_one_that_reads_like_a_file_name_are_counted_as_gitlab_does(
    sandbox: GitLabSandbox, api: Client
) -> None:
    sandbox.commit(REPO, "main", {"q.sql": OLD.replace("two\n", "-- all of them\n")})
    sandbox.commit(REPO, "other", {"q.sql": OLD.replace("two\n", "").replace("four\n", "4\n")}, start="main")
    where = f"{PROJECT}/merge_requests/{sandbox.open_pull_request(REPO, 'other')}"
    assert "\n--- all of them\n" in api("GET", f"{where}/diffs").json()[0]["diff"]
    assert discuss(api, where, "q.sql", "q.sql", old_line=2) == 400
    assert discuss(api, where, "q.sql", "q.sql", old_line=4) == 400  # git's number of "four"
    assert discuss(api, where, "q.sql", "q.sql", old_line=3) == 201
    assert sandbox.pull(REPO, 2).comments[0].diff_hunk.endswith("\n-four")
