"""The diff of a merge request: whole, however much GitLab leaves out (cases C2, C3, D4, D5, E1)."""

import subprocess

import pytest

from bot.diff.parse import parse_diff
from bot.findings import Side
from bot.forges.base import BlindSpot, ForgeDenied, ForgeUnavailable, MissingFile
from bot.forges.gitlab_diff import fetch_diff
from bot.forges.gitlab_lines import find_miscounted
from bot.forges.gitlab_notes import merge_request_of
from deploy.sandbox.git import SpecialFile


def paths(data):
    return [file.new_path for file in parse_diff(data).files]


def lines_of(data):
    """Give what a diff says, line by line, without how its headers are written."""
    return [
        (line.old_path, line.new_path, line.kind, line.old_number, line.new_number, line.text)
        for file in parse_diff(data).files
        for hunk in file.hunks
        for line in hunk.lines
    ]


def git_diff(gitlab, pull, *options):
    """Give the diff as git itself writes it, with the likeness that GitLab asks of a rename."""
    command = ["git", "-c", "core.quotePath=false", "diff", "--find-renames=30%", *options]
    return subprocess.run(
        [*command, pull.base_sha, pull.head_sha],
        cwd=gitlab.sandbox.git_path(gitlab.project),
        capture_output=True,
        check=True,
    ).stdout


def kinds_of_changes(gitlab):
    """Open a merge request with one file of each kind."""
    lines = "".join(f"{number}\n" for number in range(5_000))
    gitlab.sandbox.commit(gitlab.project, "main", {
        "modified.py": "1\n2\n", "removed.py": "1\n", "moved.py": "a\nb\nc\nd\n", "edited.py": "e\nf\ng\nh\n",
        "long.txt": lines, "logo.png": b"\x89PNG\0\1", "no eol.txt": "x", "emptied": "",
        "script.sh": "#!/bin/sh\n", "code.sql": "-- a\n++ b\n", "latin.py": b"# caf\xe9\n",
    })  # fmt: skip
    gitlab.sandbox.commit(
        gitlab.project, "feature", {}, renames={"moved.py": "pure.py", "edited.py": 'sub dir/q"é.py'}
    )
    gitlab.sandbox.commit(gitlab.project, "feature", {
        "modified.py": "1\nzwei 😀\u2028\x0c\x85!\n", "removed.py": None, 'sub dir/q"é.py': "e\nf\ng\nH\n",
        "emptied": None, "long.txt": "first\n" + lines.replace("2500\n", ""), "logo.png": b"\x89PNG\0\2",
        "no eol.txt": "y", "script.sh": SpecialFile(mode="100755", content="#!/bin/sh\n"),
        "added.py": "new\r\n", "empty.txt": "", "new.bin": b"\0", "code.sql": "++ a\n-- c\n",
        "link": SpecialFile(mode="120000", content="added.py"), "latin.py": b"# caf\xe9s\n",
    })  # fmt: skip
    return gitlab.read(gitlab.sandbox.open_pull_request(gitlab.project, "feature"))


def test_d5_every_kind_of_change_is_there_with_gits_own_lines(gitlab):
    pull = kinds_of_changes(gitlab)
    diff = gitlab.forge.get_diff(pull)
    assert diff.missing == ()
    assert lines_of(diff.data) == lines_of(git_diff(gitlab, pull))
    assert paths(diff.data) == paths(git_diff(gitlab, pull))
    parsed = {file.new_path: file for file in parse_diff(diff.data).files}
    assert (parsed["pure.py"].old_path, parsed["pure.py"].hunks) == ("moved.py", ())
    assert parsed["logo.png"].is_binary
    assert parsed["script.sh"].new_mode == "100755"
    assert parsed["link"].new_mode == "120000"
    assert b"caf\xe9s" in diff.data, "the bytes come from the raw diff, GitLab's JSON has none"


def test_a_diff_of_plain_text_takes_one_request(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n", "b.py": "1\n"})
    gitlab.sandbox.requests.clear()
    assert paths(gitlab.forge.get_diff(pull).data) == ["a.py", "b.py"]
    assert [one.path.rpartition("/")[2] for one in gitlab.sandbox.requests] == ["versions", "diffs"]


def test_without_the_raw_diff_it_is_the_same(gitlab):
    """Before 17.9: what is left out is compared by GitLab, and what that leaves out by us."""
    gitlab.sandbox.options.version = "17.8.0"
    pull = kinds_of_changes(gitlab)
    diff = gitlab.forge.get_diff(pull)
    assert diff.missing == ()
    expected = [line for line in lines_of(git_diff(gitlab, pull)) if line[1] != "latin.py"]
    assert [line for line in lines_of(diff.data) if line[1] != "latin.py"] == expected
    assert "caf\N{REPLACEMENT CHARACTER}s" in diff.data.decode()
    assert gitlab.sent("GET", "/raw")


def test_c2_collapsed_files_are_read_from_the_raw_diff(gitlab):
    gitlab.sandbox.options.version = "19.0.0"
    gitlab.sandbox.options.diff_limits.collapse_after_lines = 30
    before = {f"src/{number:03}.py": f"a\nb\nc {number}\n" for number in range(130)}
    pull = gitlab.open(before, {path: text.replace("b", "B") for path, text in before.items()})
    diff = gitlab.forge.get_diff(pull)
    assert diff.missing == ()
    assert lines_of(diff.data) == lines_of(git_diff(gitlab, pull))
    assert diff.blind_spots == ()
    assert len(gitlab.sent("GET", "/diffs")) == 2


def test_c3_an_empty_diff_without_a_word_is_no_unchanged_file(gitlab):
    """Before 18.4 nothing says that a file was collapsed."""
    pull = gitlab.open({"a.py": "1\n", "b.py": "1\n"}, {"a.py": "2\n", "b.py": "2\n"})
    entries = [entry("a.py", "@@ -1 +1 @@\n-1\n+2\n"), entry("b.py", "")]
    for raw_diffs_work in (True, False):
        gitlab.sandbox.fail("GET", "/diffs$", status=200, body=entries)
        if not raw_diffs_work:
            gitlab.sandbox.fail("GET", "/raw_diffs$", status=404)
        diff = gitlab.forge.get_diff(pull)
        assert diff.missing == ()
        assert lines_of(diff.data) == lines_of(git_diff(gitlab, pull))


def entry(path, diff, **fields):
    return {
        "old_path": path, "new_path": path, "a_mode": "100644", "b_mode": "100644", "diff": diff,
        "new_file": False, "renamed_file": False, "deleted_file": False,
    } | fields  # fmt: skip


def test_c2_blobs_are_the_last_way(gitlab):
    pull = gitlab.open({"a.py": "1\n2\n"}, {"a.py": "1\n3\n4\n"})
    gitlab.sandbox.fail("GET", "/diffs$", status=200, body=[entry("a.py", "", too_large=True)])
    gitlab.sandbox.fail("GET", "/raw_diffs$", status=500, times=3)
    gitlab.sandbox.fail("GET", "/compare$", status=200, body={"diffs": [entry("a.py", "", collapsed=True)]})
    diff = gitlab.forge.get_diff(pull)
    assert diff.data.endswith(b"@@ -1,2 +1,3 @@\n 1\n-2\n+3\n+4\n")
    assert len(gitlab.sent("GET", "/raw")) == 2


def test_c2_what_cannot_be_had_is_named_with_the_reason(gitlab):
    big = "".join(f"{number}\n" for number in range(200_000))
    pull = gitlab.open({"big.txt": big}, {"big.txt": f"0\n{big}", "a.py": "1\n"})
    entries = [
        entry("big.txt", "", collapsed=True),
        entry("gone.py", ""),
        entry("a.py", "@@ -0,0 +1 @@\n+1\n"),
    ]
    gitlab.sandbox.fail("GET", "/diffs$", status=200, body=entries)
    gitlab.sandbox.fail("GET", "/raw_diffs$", status=404)
    gitlab.sandbox.fail("GET", "/compare$", status=200, body={"diffs": []})
    diff = gitlab.forge.get_diff(pull)
    assert paths(diff.data) == ["a.py"]
    assert {one.path: one.reason.rpartition("and ")[2] for one in diff.missing} == {
        "big.txt": "it is larger than 1 MB",
        "gone.py": "it is no plain file",
    }


def test_only_so_many_files_are_fetched_one_by_one(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    gitlab.sandbox.fail("GET", "/diffs$", status=200, body=[entry("nope.py", "")] * 5)
    gitlab.sandbox.fail("GET", "/raw_diffs$", status=404)
    diff = fetch_diff(gitlab.forge._client, merge_request_of(pull.ref), pull, max_compared_files=3)
    assert [one.reason.split()[0] for one in diff.missing] == ["GitLab"] * 3 + ["one"] * 2


def overflowing(gitlab):
    """Open a merge request of which GitLab keeps only the first of three files."""
    pull = gitlab.open({}, {"a.py": "1\n", "b.py": "1\n", "c.py": "1\n"})
    versions = merge_request_of(pull.ref).below("/versions", "the versions")
    version = gitlab.forge._client.read_list(versions)[0].data
    overflow = dict(version) | {"state": "overflow_diff_files_limit", "real_size": "1+"}
    gitlab.sandbox.fail("GET", "/versions$", status=200, body=[overflow])
    first = entry("a.py", "@@ -0,0 +1 @@\n+1\n", new_file=True, a_mode="0")
    gitlab.sandbox.fail("GET", "/diffs$", status=200, body=[first])
    return pull


def test_c2_files_beyond_the_list_come_from_the_raw_diff(gitlab):
    diff = gitlab.forge.get_diff(overflowing(gitlab))
    assert paths(diff.data) == ["a.py", "b.py", "c.py"]
    assert diff.missing == ()


def test_c2_or_are_said_to_be_missing(gitlab):
    pull = overflowing(gitlab)
    gitlab.sandbox.fail("GET", "/raw_diffs$", status=404)
    diff = gitlab.forge.get_diff(pull)
    assert paths(diff.data) == ["a.py"]
    assert diff.missing == (
        MissingFile(
            path="files after the first 1",
            reason="GitLab lists no more of the files that this merge request changes",
        ),
    )


def test_a_list_that_is_shorter_than_gitlab_says_is_not_believed(gitlab):
    pull = gitlab.open({}, {"a.py": "1\n", "b.py": "1\n"})
    gitlab.sandbox.fail("GET", "/diffs$", status=200, body=[])
    assert paths(gitlab.forge.get_diff(pull).data) == ["a.py", "b.py"]


def test_a_likeness_of_40_percent_is_a_rename_as_gitlab_lists_it(gitlab):
    """Its raw diff shows two files then, and a comment on those would be refused."""
    gitlab.sandbox.commit(gitlab.project, "main", {"old.py": "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"})
    gitlab.sandbox.commit(gitlab.project, "feature", {}, renames={"old.py": "new.py"})
    gitlab.sandbox.commit(
        gitlab.project, "feature", {"new.py": "a\nb\nc\nd\n1\n2\n3\n4\n5\n6\n", "empty": ""}
    )
    pull = gitlab.read(gitlab.sandbox.open_pull_request(gitlab.project, "feature"))
    for collapsed in (False, True):
        if collapsed:
            gitlab.sandbox.options.version = "19.0.0"
            gitlab.sandbox.options.diff_limits.collapse_after_lines = 0
        files = {file.new_path: file for file in parse_diff(gitlab.forge.get_diff(pull).data).files}
        assert {path: file.old_path for path, file in files.items()} == {"empty": "empty", "new.py": "old.py"}
        assert files["new.py"].hunks


def test_an_empty_merge_request_has_an_empty_diff(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "1\n"})
    assert gitlab.forge.get_diff(pull).data == b""


@pytest.mark.parametrize("visibly", [False, True])
def test_d4_a_diff_that_is_not_ready_yet_is_waited_for(gitlab, visibly):
    gitlab.sandbox.options.prepare_s = 0.12
    gitlab.sandbox.options.prepares_visibly = visibly
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    assert pull.base_sha
    assert paths(gitlab.forge.get_diff(pull).data) == ["a.py"]


def test_d4_one_that_stays_away_is_said_not_to_be_ready(gitlab):
    gitlab.sandbox.options.prepare_s = 60.0
    gitlab.sandbox.commit(gitlab.project, "feature", {"a.py": "1\n"})
    number = gitlab.sandbox.open_pull_request(gitlab.project, "feature")
    with pytest.raises(ForgeUnavailable, match="has not prepared the diff of acme/web/shop!1 yet") as caught:
        gitlab.read(number)
    assert caught.value.retry_after_s


def test_d4_the_same_if_only_the_versions_lag(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    gitlab.sandbox.fail("GET", "/versions$", status=200, body=[], times=9)
    with pytest.raises(ForgeUnavailable, match="has not prepared"):
        gitlab.forge.get_diff(pull)


def test_a_version_of_another_head_is_not_taken(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    gitlab.sandbox.commit(gitlab.project, "feature", {"a.py": "3\n"})
    with pytest.raises(ForgeUnavailable):
        gitlab.forge.get_diff(pull)


def test_a_denied_fallback_is_not_passed_over(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    for ending in ("/raw_diffs$", "/compare$"):
        gitlab.sandbox.fail("GET", "/diffs$", status=200, body=[entry("a.py", "")])
        if ending == "/compare$":
            gitlab.sandbox.fail("GET", "/raw_diffs$", status=404)
        gitlab.sandbox.fail("GET", ending, status=403)
        with pytest.raises(ForgeDenied):
            gitlab.forge.get_diff(pull)


def test_a_page_in_place_of_a_raw_diff_is_not_read_as_one(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    gitlab.sandbox.fail("GET", "/diffs$", status=200, body=[entry("a.py", "")])
    gitlab.sandbox.fail("GET", "/raw_diffs$", status=200, body="<html>Log in</html>")
    assert lines_of(gitlab.forge.get_diff(pull).data) == lines_of(git_diff(gitlab, pull))


@pytest.mark.parametrize(
    "files",
    [{"message": "x"}, [1], [{"old_path": 5}], [{"new_path": "a"}], "<html>", [entry("a", "", new_file=1)]],
)
def test_a_strange_list_of_files_is_a_forge_error(gitlab, files):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    gitlab.sandbox.fail("GET", "/diffs$", status=200, body=files)
    with pytest.raises(ForgeUnavailable):
        gitlab.forge.get_diff(pull)


@pytest.mark.parametrize("version", ["19.5.0", "18.3.0"])
def test_a_file_that_is_too_large_is_read_and_takes_no_comment(gitlab, version):
    """Before 18.4 GitLab does not say which are: its default limit is counted then."""
    gitlab.sandbox.options.version = version
    wide = "".join(f"{number:0100}\n" for number in range(3_000))
    pull = gitlab.open({}, {"wide.txt": wide, "a.py": "1\n"})
    diff = gitlab.forge.get_diff(pull)
    assert paths(diff.data) == ["a.py", "wide.txt"]
    assert diff.blind_spots == (BlindSpot(path="wide.txt"),)


def test_lines_that_gitlab_takes_for_headers_are_blind_spots():
    """A17: `-- add` removed is `--- add`, and GitLab counts wrongly from there to the hunk's end."""
    section = (
        b"diff --git a/a.sql b/a.sql\n--- a/a.sql\n+++ b/a.sql\n"
        b"@@ -1,4 +1,4 @@\n--- add first\n+one\n two\n three\n four\n"
        b"@@ -11,5 +11,5 @@ x\n eleven\n-twelve\n+zwoelf\n thirteen\n--- add\n-fifteen\n+vierzehn\n+fuenfzehn\n"
    )
    assert find_miscounted("a.sql", section) == (
        BlindSpot(path="a.sql", old_lines=range(14, 16), new_lines=range(14, 16)),
    )
    assert find_miscounted("a.sql", section.replace(b"--- add\n", b"--- bad\n")) == ()


def test_comments_beside_blind_spots_stand_where_they_should(gitlab):
    before = "".join(f"SELECT {number};\n" for number in range(10)) + "-- add a column\nSELECT 11;\n"
    after = before.replace("SELECT 1;", "SELECT one;").replace("-- add a column\n", "")
    pull = gitlab.open({"a.sql": before}, {"a.sql": after})
    (spot,) = gitlab.forge.get_diff(pull).blind_spots
    lines = [
        line
        for file in parse_diff(gitlab.forge.get_diff(pull).data).files
        for hunk in file.hunks
        for line in hunk.lines
    ]
    hidden = [line.text for line in lines if line.exists_on(Side.OLD) and line.old_number in spot.old_lines]
    assert hidden == ["-- add a column", "SELECT 11;"]
