"""Diffs, files and contents are git's own; limits are GitHub's."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from deploy.sandbox.diffs import parse_hunks
from deploy.sandbox.git import FileContent, GitError, SpecialFile
from deploy.sandbox.github import GitHubSandbox
from tests.unit.sandbox.conftest import OLD, REPO, Client

PULL = f"/repos/{REPO}/pulls/1"
DIFF = "application/vnd.github.diff"


def pull_of(
    sandbox: GitHubSandbox, files: Mapping[str, FileContent], *, renames: dict[str, str] | None = None
) -> str:
    sandbox.commit(REPO, "other", files, renames=renames)
    return f"/repos/{REPO}/pulls/{sandbox.open_pull_request(REPO, 'other')}"


@pytest.mark.parametrize("accept", [DIFF, "application/vnd.github.v3.diff"])
def test_the_diff_is_what_git_says_from_the_merge_base(
    sandbox: GitHubSandbox, api: Client, accept: str
) -> None:
    sandbox.commit(REPO, "main", {"a.py": "main went on\n" + OLD})
    sandbox.commit(REPO, "feature", {"c.py": "c\n"})  # now the base is newer than the merge base
    git = ["git", "-C", str(sandbox.git_path(REPO)), "diff", "-M"]
    merge_base = subprocess.run([*git, "main...feature"], capture_output=True, check=True).stdout
    two_dots = subprocess.run([*git, "main..feature"], capture_output=True, check=True).stdout
    assert api("GET", PULL, accept=accept).content == merge_base != two_dots


def test_lists_files_with_what_a_client_stumbles_over(sandbox: GitHubSandbox, api: Client) -> None:
    files: dict[str, FileContent] = {
        "logo.png": b"\0\1",
        "gone.py": None,
        "link": SpecialFile(mode="120000", content="a.py"),
        "ü b.py": "x\n",
        "big.txt": "line\n" * 4_000,
        "no_newline": "end",
    }
    sandbox.commit(REPO, "main", {"gone.py": "g\n", "old.py": OLD, "link": "plain\n"})
    path = pull_of(sandbox, files, renames={"old.py": "new.py"})
    shown = {one["filename"]: one for one in api("GET", f"{path}/files").json()}
    assert {name: one["status"] for name, one in shown.items()} == {
        "logo.png": "added", "gone.py": "removed", "link": "changed", "ü b.py": "added", "big.txt": "added",
        "no_newline": "added", "new.py": "renamed",
    }  # fmt: skip
    assert {name for name, one in shown.items() if "patch" not in one} == {
        "logo.png", "link", "big.txt", "new.py",
    }  # fmt: skip
    assert shown["new.py"]["previous_filename"] == "old.py"
    assert shown["no_newline"]["patch"] == "@@ -0,0 +1 @@\n+end\n\\ No newline at end of file"
    assert shown["big.txt"]["additions"] == 4_000


def test_large_diffs_are_406(sandbox: GitHubSandbox, api: Client) -> None:
    path = pull_of(sandbox, {f"f{number}.txt": "x\n" for number in range(301)})
    answer = api("GET", path, accept=DIFF)
    assert (answer.status_code, answer.json()["errors"]) == (
        406,
        [{"resource": "PullRequest", "field": "diff", "code": "too_large"}],
    )
    assert "maximum number of files (300)" in answer.json()["message"]
    sandbox.commit(REPO, "other", {f"f{number}.txt": None for number in range(300)})
    sandbox.commit(REPO, "other", {"l": "x\n" * 20_000})
    assert "maximum number of lines (20000)" in api("GET", path, accept=DIFF).json()["message"]
    sandbox.commit(REPO, "other", {"l": "x" * 1_000_001})
    assert api("GET", path, accept=DIFF).status_code == 406
    sandbox.commit(REPO, "other", {"l": "fine\n"})
    assert api("GET", path, accept=DIFF).status_code == 200


def test_pages_have_links(sandbox: GitHubSandbox, api: Client) -> None:
    path = pull_of(sandbox, {f"f{number:03}.txt": "x\n" for number in range(120)})
    assert len(api("GET", f"{path}/files").json()) == 30
    first = api("GET", f"{path}/files?per_page=500")
    assert len(first.json()) == 100
    assert first.links["next"]["url"] == first.links["last"]["url"]
    second = api("GET", first.links["next"]["url"].removeprefix(sandbox.api_url))
    assert [one["filename"] for one in second.json()] == [f"f{number:03}.txt" for number in range(100, 120)]
    assert "next" not in second.links


def test_contents(sandbox: GitHubSandbox, api: Client) -> None:
    base = f"/repos/{REPO}/contents"
    raw = api("GET", f"{base}/logo.png?ref=refs/pull/1/head", accept="application/vnd.github.raw")
    assert raw.content == b"\0\1\2"
    assert api("GET", f"{base}/logo.png").status_code == 404  # not on main
    assert api("GET", f"{base}/a.py?ref=nowhere").status_code == 404
    assert [one["name"] for one in api("GET", f"{base}/").json()] == ["a.py", "b.py"]


def test_the_same_calls_make_the_same_shas(tmp_path: Path) -> None:
    shas = []
    for folder in ("one", "two"):
        sandbox = GitHubSandbox(tmp_path / folder)
        sandbox.create_repository(REPO, {"a": "1\n"})
        shas.append(sandbox.commit(REPO, "x", {"a": "2\n"}))
    assert shas[0] == shas[1]


def test_imports_revisions_of_another_repository(sandbox: GitHubSandbox, tmp_path: Path) -> None:
    source = tmp_path / "source"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(source)]
    subprocess.run(["git", "init", "-q", str(source)], check=True)
    for text in ("1\n", "2\n", "3\n"):
        (source / "f.txt").write_text(text)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", text], check=True)
    sandbox.import_branch(REPO, source, "HEAD~2", "HEAD~1", base="old", head="new")
    number = sandbox.open_pull_request(REPO, "new", "old")
    answer = Client(sandbox)("GET", f"/repos/{REPO}/pulls/{number}/files")
    assert answer.json()[0]["patch"] == "@@ -1 +1 @@\n-1\n+2"
    with pytest.raises(GitError, match="no revision 'nowhere'"):
        sandbox.import_branch(REPO, source, "nowhere", "HEAD")


def test_a_fork_can_be_gone(sandbox: GitHubSandbox, api: Client) -> None:
    sandbox.commit(REPO, "other", {"c.py": "c\n"})
    number = sandbox.open_pull_request(REPO, "other", fork_owner="mallory", author="mallory")
    path = f"/repos/{REPO}/pulls/{number}"
    assert api("GET", path).json()["head"]["repo"]["full_name"] == "mallory/shop"
    sandbox.delete_fork(REPO, number)
    assert api("GET", path).json()["head"]["repo"] is None
    assert api("GET", path, accept=DIFF).status_code == 200


def test_only_a_newline_ends_a_line() -> None:
    [hunk] = parse_hunks(b"@@ -1,2 +1,3 @@\n a\r\x0c\x85b\n-x\n+y\xe2\x80\xa8z\n+w\n")
    assert [(line.sign, line.old, line.new, line.position) for line in hunk.lines] == [
        (" ", 1, 1, 1),
        ("-", 2, None, 2),
        ("+", None, 2, 3),
        ("+", None, 3, 4),
    ]
