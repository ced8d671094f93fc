"""The diff of a pull request: exact bytes, and whole however large it is (cases C1, C4, D5, E1)."""

import pytest

from bot.diff.parse import parse_diff
from bot.forges.base import ForgeUnavailable, MissingFile
from bot.forges.github_diff import fetch_diff
from deploy.sandbox.git import SpecialFile

TOO_LARGE = {
    "message": "Sorry, the diff exceeded the maximum number of files (300).",
    "errors": [{"resource": "PullRequest", "field": "diff", "code": "too_large"}],
}


def test_the_bytes_are_those_of_git(either):
    before = {"latin.py": b"# caf\xe9\n", "utf.py": "# Zoë 😀\n", "crlf.txt": b"a\r\nb\r\n", "bin": b"\0\1"}
    after = {
        "latin.py": b"# caf\xe9s \x85\n",
        "utf.py": "# Zoë 😀\u2028 \x0c!\n",
        "crlf.txt": b"a\r\nc\r\n",
        "bin": b"\0\2",
        "ünï cödé.py": "x = 1",
    }
    pull = either.open(before, after)
    diff = either.forge.get_diff(pull)
    assert diff.missing == ()
    for line in (
        b"+# caf\xe9s \x85\n",
        "+# Zoë 😀\u2028 \x0c!\n".encode(),
        b"-b\r\n+c\r\n",
        b"+x = 1\n\\ No newline",
    ):
        assert line in diff.data
    assert len(parse_diff(diff.data).files) == 5


def test_an_empty_pull_request_has_an_empty_diff(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "1\n"})
    assert github.forge.get_diff(pull).data == b""


def test_the_diff_starts_at_the_merge_base(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    github.sandbox.commit("acme/shop", "main", {"later.py": "x\n"})
    assert paths(github.forge.get_diff(pull).data) == ["a.py"]


def test_301_files_are_all_there(github):
    before = {f"src/{number:03}.py": f"a\nb\nc {number}\n" for number in range(301)}
    pull = github.open(before, {path: text.replace("b", "B") for path, text in before.items()})
    diff = github.forge.get_diff(pull)
    assert diff.missing == ()
    assert paths(diff.data) == sorted(before)
    assert diff.data.count(b"\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c ") == 301
    assert len(github.sent("GET", "/files")) == 4


def kinds_of_changes(github):
    """Open a pull request with one file of each kind, every one of which the files list can tell."""
    lines = "".join(f"{number}\n" for number in range(5_000))
    github.sandbox.commit("acme/shop", "main", {
        "modified.py": "1\n2\n", "removed.py": "1\n", "moved.py": "a\nb\nc\nd\n", "edited.py": "a\nb\nc\nd\n",
        "long.txt": lines, "logo.png": b"\x89PNG\0\1", "no eol.txt": "x", "emptied": "",
        "script.sh": "#!/bin/sh\n", "code.sql": "-- a\n++ b\n",
    })  # fmt: skip
    github.sandbox.commit(
        "acme/shop", "feature", {}, renames={"moved.py": "pure.py", "edited.py": 'sub dir/q"e.py'}
    )
    github.sandbox.commit("acme/shop", "feature", {
        "modified.py": "1\nzwei 😀\n", "removed.py": None, "sub dir/q\"e.py": "a\nb\nc\nD\n", "emptied": None,
        "long.txt": "first\n" + lines.replace("2500\n", ""), "logo.png": b"\x89PNG\0\2", "no eol.txt": "y",
        "script.sh": SpecialFile(mode="100755", content="#!/bin/sh\n"), "added.py": "new\n", "empty.txt": "",
        "new.bin": b"\0", "code.sql": "++ a\n-- c\n", "link": SpecialFile(mode="120000", content="added.py"),
    })  # fmt: skip
    number = github.sandbox.open_pull_request("acme/shop", "feature")
    return github.forge.get_pull_request(github.ref(number))


def sections(data):
    """Cut a diff into its files, without the lines that a list of files cannot know: modes, ids, likeness."""
    unknown = (
        b"index ",
        b"similarity ",
        b"old mode ",
        b"new mode ",
        b"new file mode ",
        b"deleted file mode ",
    )
    return [
        [line for line in section.split(b"\n") if not line.startswith(unknown)]
        for section in data.split(b"diff --git ")[1:]
    ]


def paths(data):
    return [file.new_path for file in parse_diff(data).files]


def test_put_together_from_files_it_is_the_same_diff(either):
    pull = kinds_of_changes(either)
    whole = either.forge.get_diff(pull)
    either.sandbox.fail("GET", "/pulls/[0-9]+$", status=406, body=TOO_LARGE)
    pieced = either.forge.get_diff(pull)
    assert whole.data != pieced.data
    assert sections(pieced.data) == sections(whole.data)
    assert pieced.missing == ()
    # GitHub sends no patch of a long file: both versions were fetched, and compared here.
    assert b"@@ -1,3 +1,4 @@\n+first\n 0\n" in pieced.data
    assert paths(pieced.data) == paths(whole.data)


def test_a_diff_that_takes_too_long_is_put_together_too(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    body = {"message": "Server Error: Sorry, this diff is taking too long to generate.",
            "errors": [{"resource": "PullRequest", "field": "diff", "code": "not_available"}]}  # fmt: skip
    github.sandbox.fail("GET", "/pulls/[0-9]+$", status=500, body=body, times=3)
    assert github.forge.get_diff(pull).data.endswith(b"+++ b/a.py\n@@ -1 +1 @@\n-1\n+2\n")


def test_a_server_that_is_down_is_not_asked_for_files(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    github.sandbox.fail("GET", "/pulls/[0-9]+$", status=502, times=3)
    with pytest.raises(ForgeUnavailable):
        github.forge.get_diff(pull)
    assert github.sent("GET", "/files") == []


def list_files(github, entries):
    """Let GitHub refuse the diff and list these files in its place."""
    github.sandbox.fail("GET", "/pulls/[0-9]+$", status=406, body=TOO_LARGE)
    github.sandbox.fail("GET", "/files$", status=200, body=entries)


def entry(path, patch=None, *, additions=1, deletions=1, status="modified"):
    fields = {"filename": path, "status": status, "additions": additions, "deletions": deletions}
    return fields | {"changes": additions + deletions} | ({"patch": patch} if patch is not None else {})


def test_a_patch_that_was_cut_is_not_believed(github):
    pull = github.open({"a.py": "1\n2\n"}, {"a.py": "1\n3\n4\n"})
    list_files(github, [entry("a.py", "@@ -1,2 +1,3 @@\n 1\n-2\n+3", additions=2)])
    assert github.forge.get_diff(pull).data.endswith(b"@@ -1,2 +1,3 @@\n 1\n-2\n+3\n+4\n")


def test_what_cannot_be_had_is_named_with_the_reason(github):
    big = "".join(f"{number}\n" for number in range(200_000))
    pull = github.open({"big.txt": big}, {"big.txt": f"0\n{big}", "a.py": "1\n"})
    list_files(
        github,
        [entry("big.txt"), entry("gone.py"), entry("a.py", "@@ -0,0 +1 @@\n+1", deletions=0, status="added")],
    )
    diff = github.forge.get_diff(pull)
    assert paths(diff.data) == ["a.py"]
    assert {one.path: one.reason.rpartition("and ")[2] for one in diff.missing} == {
        "big.txt": "it is larger than 1 MB",
        "gone.py": "it is no plain file",
    }


def test_files_beyond_the_list_are_counted(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n", "b.py": "1\n", "c.py": "1\n"})
    list_files(github, [entry("a.py", "@@ -1 +1 @@\n-1\n+2")])
    assert github.forge.get_diff(pull).missing == (
        MissingFile(path="2 more files", reason="GitHub lists at most 3,000 files of a pull request"),
    )


def test_only_so_many_files_are_fetched_one_by_one(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    list_files(github, [entry("nope.py")] * 5)
    diff = fetch_diff(github.forge._client, pull, max_compared_files=3)
    assert [one.reason.split()[0] for one in diff.missing] == ["GitHub"] * 3 + ["one"] * 2
    assert sum("/contents/nope.py" in one.path for one in github.sandbox.requests) == 2 * 3


def test_a_file_that_cannot_be_fetched_now_is_not_given_up(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    list_files(github, [entry("a.py")])
    github.sandbox.fail("GET", "/contents/", status=502, times=9)
    with pytest.raises(ForgeUnavailable):
        github.forge.get_diff(pull)


def test_a_strange_list_of_files_is_a_forge_error(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    for files in (
        {"message": "x"},
        [1],
        [{"filename": 5, "status": "modified"}],
        [{"status": "added"}],
        "<html>",
    ):
        list_files(github, files)
        with pytest.raises(ForgeUnavailable):
            github.forge.get_diff(pull)


def test_json_in_place_of_a_diff_is_not_read_as_one(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    github.sandbox.fail("GET", "/pulls/[0-9]+$", status=200, body={"id": 1})
    with pytest.raises(ForgeUnavailable, match="Accept"):
        github.forge.get_diff(pull)
