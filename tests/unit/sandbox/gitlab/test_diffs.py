"""Diffs are git's own; what is left out of them is GitLab's way."""

import subprocess
import time

import pytest

from deploy.sandbox.git import FileContent, SpecialFile
from deploy.sandbox.gitlab import GitLabSandbox
from tests.unit.sandbox.conftest import NEW, OLD
from tests.unit.sandbox.gitlab.conftest import ONE, PROJECT, REPO, Client, refusal


def opened(
    sandbox: GitLabSandbox, files: dict[str, FileContent], renames: dict[str, str] | None = None
) -> str:
    sandbox.commit(REPO, "other", files, renames=renames)
    return f"{PROJECT}/merge_requests/{sandbox.open_pull_request(REPO, 'other')}"


def test_lists_files_with_what_a_client_stumbles_over(sandbox: GitLabSandbox, api: Client) -> None:
    sandbox.commit(REPO, "main", {"gone.py": "g\n", "old.py": OLD, "link": "plain\n", "run.sh": "x\n"})
    files: dict[str, FileContent] = {
        "logo.png": b"\0\1",
        "gone.py": None,
        "link": SpecialFile(mode="120000", content="a.py"),
        "run.sh": SpecialFile(mode="100755", content="x\n"),
        'ü "b".py': "x\n",
        "no_newline": "end",
        "module": SpecialFile(mode="160000", content="1" * 40),
    }
    where = opened(sandbox, files, renames={"old.py": "new.py"})
    listed = api("GET", f"{where}/diffs?per_page=100").json()
    shown = {
        (one["old_path"], one["new_path"], one["a_mode"], one["b_mode"]): one["diff"].count("\n")
        for one in listed
    }
    assert shown == {
        ("logo.png", "logo.png", "0", "100644"): 0,
        ("gone.py", "gone.py", "100644", "0"): 2,
        ("link", "link", "100644", "0"): 2,  # a change of type is a removal and an addition
        ("link", "link", "0", "120000"): 3,
        ("run.sh", "run.sh", "100644", "100755"): 0,
        ("old.py", "new.py", "100644", "100644"): 0,
        ('ü "b".py', 'ü "b".py', "0", "100644"): 2,
        ("no_newline", "no_newline", "0", "100644"): 3,
        ("module", "module", "0", "160000"): 2,
    }
    by_path = {one["new_path"]: one for one in listed}
    assert by_path["no_newline"]["diff"] == "@@ -0,0 +1 @@\n+end\n\\ No newline at end of file\n"
    assert (by_path["new.py"]["renamed_file"], by_path["gone.py"]["deleted_file"]) == (True, True)


def test_a_third_is_enough_for_a_rename_but_not_in_raw_diffs(sandbox: GitLabSandbox, api: Client) -> None:
    kept = "".join(f"kept {number}\n" for number in range(4))
    sandbox.commit(REPO, "main", {"old.py": kept + "".join(f"gone {number}\n" for number in range(6))})
    sandbox.commit(
        REPO,
        "other",
        {"old.py": None, "new.py": kept + "".join(f"come {n}\n" for n in range(6))},
        start="main",
    )
    where = f"{PROJECT}/merge_requests/{sandbox.open_pull_request(REPO, 'other')}"
    assert [one["old_path"] for one in api("GET", f"{where}/diffs").json()] == ["old.py"]
    raw = api("GET", f"{where}/raw_diffs").text
    assert "rename from" not in raw
    assert "+++ b/new.py" in raw


def test_raw_diffs_are_what_git_says_from_the_merge_base(sandbox: GitLabSandbox, api: Client) -> None:
    sandbox.commit(REPO, "main", {"a.py": "main went on\n" + OLD})
    sandbox.commit(REPO, "feature", {"c.py": "c\n"})
    git = ["git", "-C", str(sandbox.git_path(REPO)), "diff"]
    from_base = subprocess.run([*git, "main...feature"], capture_output=True, check=True).stdout
    two_dots = subprocess.run([*git, "main..feature"], capture_output=True, check=True).stdout
    assert api("GET", f"{ONE}/raw_diffs").content == from_base != two_dots


def test_each_push_makes_a_version(sandbox: GitLabSandbox, api: Client) -> None:
    first = api("GET", ONE).json()["diff_refs"]
    sandbox.commit(REPO, "main", {"a.py": "main went on\n" + OLD})
    head = sandbox.commit(REPO, "feature", {"c.py": "c\n"})
    newest, oldest = api("GET", f"{ONE}/versions").json()
    assert (oldest["base_commit_sha"], oldest["head_commit_sha"]) == (first["base_sha"], first["head_sha"])
    assert (newest["head_commit_sha"], newest["state"], newest["real_size"]) == (head, "collected", "3")
    assert newest["base_commit_sha"] == first["base_sha"] != newest["start_commit_sha"]
    full = api("GET", f"{ONE}/versions/{newest['id']}").json()
    assert [one["new_path"] for one in full["diffs"]] == ["a.py", "c.py", "logo.png"]
    assert full["commits"][0]["id"] == head
    assert api("GET", f"{ONE}/versions/1").status_code == 404


def test_a_diff_that_is_not_ready_yet_is_null_and_empty(sandbox: GitLabSandbox, api: Client) -> None:
    """D4: right after opening there is nothing to review, and that is no empty change."""
    sandbox.options.prepare_s = 0.3
    where = opened(sandbox, {"c.py": "c\n"})
    early = api("GET", where).json()
    assert (early["diff_refs"], early["prepared_at"], early["changes_count"]) == (None, None, None)
    assert early["detailed_merge_status"] == "preparing"
    assert api("GET", f"{where}/versions").json() == api("GET", f"{where}/diffs").json() == []
    assert api("GET", f"{where}/changes").json()["changes"] == []
    position = {**api.position(), "old_path": "c.py", "new_path": "c.py", "new_line": 1}
    refused = api("POST", f"{where}/discussions", {"body": "x", "position": position})
    assert "doesn't support new-style diff notes" in refusal(refused)
    time.sleep(0.35)
    assert api("GET", where).json()["prepared_at"]
    assert len(api("GET", f"{where}/diffs").json()) == 1


def test_a_version_may_be_there_before_its_diff(sandbox: GitLabSandbox, api: Client) -> None:
    sandbox.options.prepare_s, sandbox.options.prepares_visibly = 30, True
    [version] = api("GET", f"{opened(sandbox, {'c.py': 'c'})}/versions").json()
    assert (version["state"], version["real_size"]) == ("empty", None)


def test_no_change_is_prepared_and_empty(sandbox: GitLabSandbox, api: Client) -> None:
    sandbox.commit(REPO, "other", {"c.py": "c"})
    sandbox.commit(REPO, "other", {"c.py": None})
    where = f"{PROJECT}/merge_requests/{sandbox.open_pull_request(REPO, 'other')}"
    assert api("GET", where).json()["prepared_at"]
    assert api("GET", f"{where}/versions").json()[0]["state"] == "empty"


def test_a_large_patch_is_left_out_everywhere(sandbox: GitLabSandbox, api: Client) -> None:
    where = opened(sandbox, {"big.txt": "y\n" * 110_000})
    for path, key in (("diffs", None), ("changes?access_raw_diffs=true", "changes")):
        answer = api("GET", f"{where}/{path}").json()
        [file] = answer[key] if key else answer
        assert (file["diff"], file["too_large"], file["collapsed"]) == ("", True, False)


@pytest.mark.parametrize("options", [{"version": "18.4.0"}, {"version": "19.2.0"}])
def test_many_lines_collapse_what_follows_until_19_2(
    sandbox: GitLabSandbox, api: Client, options: dict[str, str]
) -> None:
    """C3: behind some 5,000 lines `diff` is empty, which does not mean that nothing changed."""
    where = opened(sandbox, {f"{name}.txt": "line\n" * 2_000 for name in "abcd"})
    files = api("GET", f"{where}/diffs").json()
    old = options["version"] == "18.4.0"
    assert [file["collapsed"] for file in files] == [False, False, old, old]
    assert [bool(file["diff"]) for file in files] == [True, True, not old, not old]


def test_changes_overflow_and_raw_ones_never_say_so(sandbox: GitLabSandbox, api: Client) -> None:
    """C2: overflow, collapsed files, and `1000+`."""
    sandbox.options.diff_limits.overflow_after_files = 5
    where = opened(sandbox, {f"{number}.txt": "x\n" for number in range(8)})
    cut = api("GET", f"{where}/changes").json()
    raw = api("GET", f"{where}/changes?access_raw_diffs=True").json()
    assert (len(cut["changes"]), cut["overflow"]) == (5, True)
    assert (len(raw["changes"]), raw["overflow"]) == (5, False)
    assert cut["changes_count"] == "8"
    assert len(api("GET", f"{where}/diffs").json()) == 8


def test_counts_no_further_than_a_thousand(sandbox: GitLabSandbox, api: Client) -> None:
    where = opened(sandbox, {f"{number}.txt": "x\n" for number in range(1_001)})
    assert api("GET", where).json()["changes_count"] == "1000+"


def test_changes_collapse_by_size_and_number(sandbox: GitLabSandbox, api: Client) -> None:
    sandbox.options.diff_limits.collapse_after_files = 2
    where = opened(sandbox, {"a1.txt": "x\n" * 15_000, "a2.txt": "x\n", "a3.txt": "x\n"})
    answer = api("GET", f"{where}/changes").json()
    assert [file["collapsed"] for file in answer["changes"]] == [True, True, True]
    assert answer["overflow"] is True


@pytest.mark.parametrize("options", [{"version": "15.6.1"}])
def test_an_old_gitlab_has_changes_alone(api: Client) -> None:
    assert api("GET", f"{ONE}/diffs").status_code == api("GET", f"{ONE}/raw_diffs").status_code == 404
    [file, _] = api("GET", f"{ONE}/changes").json()["changes"]
    assert "collapsed" not in file
    assert "generated_file" not in file


def test_unidiff_adds_the_file_names(sandbox: GitLabSandbox, api: Client) -> None:
    where = opened(sandbox, {"b.py": None, "c.py": "c\n"})
    gone, new = api("GET", f"{where}/diffs?unidiff=true").json()
    assert gone["diff"].startswith("--- a/b.py\n+++ /dev/null\n@@ ")
    assert new["diff"].startswith("--- /dev/null\n+++ b/c.py\n@@ ")


def test_compares_from_the_merge_base_or_straight(sandbox: GitLabSandbox, api: Client) -> None:
    sandbox.commit(REPO, "main", {"b.py": "main went on\n"})
    compare = f"{PROJECT}/repository/compare?from=main&to=feature"
    paths = [
        [one["new_path"] for one in api("GET", where).json()["diffs"]]
        for where in (compare, f"{compare}&straight=true")
    ]
    assert paths == [["a.py", "logo.png"], ["a.py", "b.py", "logo.png"]]
    assert api("GET", f"{PROJECT}/repository/compare?from=main&to=nothing").status_code == 404
    assert refusal(api("GET", f"{PROJECT}/repository/compare?from=main")) == "to is missing"


def test_reads_files_and_blobs(sandbox: GitLabSandbox, api: Client) -> None:
    files: dict[str, FileContent] = {
        "src/a%2Fb #1.py": b"\xff\n",
        "src/link": SpecialFile(mode="120000", content="x"),
    }
    head = sandbox.commit(REPO, "feature", files)
    where = f"{PROJECT}/repository/files/src%2Fa%252Fb%20%231.py"
    shown = api("GET", f"{where}?ref={head}").json()
    assert (shown["file_path"], shown["size"], shown["content"]) == ("src/a%2Fb #1.py", 2, "/wo=")
    assert api("GET", f"{where}/raw?ref={head}").content == b"\xff\n"
    assert api("GET", f"{where}/raw").json() == {"message": "404 File Not Found"}  # not on the default branch
    assert api("GET", f"{where}/raw?ref=nothing").json() == {"message": "404 Commit Not Found"}
    assert api("GET", f"{PROJECT}/repository/files/src/raw?ref={head}").status_code == 404
    assert (
        api("GET", f"{PROJECT}/repository/files/src/link?ref={head}").status_code == 404
    )  # slash not encoded
    assert api("GET", f"{PROJECT}/repository/blobs/{shown['blob_id']}/raw").content == b"\xff\n"
    assert api("GET", f"{PROJECT}/repository/blobs/{'0' * 40}/raw").status_code == 404
    assert api("GET", f"{PROJECT}/repository/files/a.py/raw?ref=refs/merge-requests/1/head").text == NEW


def test_text_that_is_not_utf_8_is_repaired(sandbox: GitLabSandbox, api: Client) -> None:
    where = opened(sandbox, {"latin.txt": "caf\u00e9\n".encode("latin-1")})
    assert api("GET", f"{where}/diffs").json()[0]["diff"] == "@@ -0,0 +1 @@\n+caf\ufffd\n"
