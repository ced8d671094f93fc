"""Single files out of a diff that git wrote."""

import subprocess

import pytest

from bot.forges.git_format import Change, FileChange
from bot.forges.raw_diff import RawDiff
from deploy.sandbox.git import GitRepository, SpecialFile


def change(path, kind=Change.MODIFIED, old_path=None, **modes):
    return FileChange(old_path=old_path or path, new_path=path, change=kind, **modes)


@pytest.fixture
def raw(tmp_path, request):
    """Give git's diff of some changes, with names written in one way or the other."""
    git = GitRepository.create(tmp_path / "x.git", "main")
    before = {"mod.py": "1\n", "gone.py": "1\n", 'q"ü é.py': "a\n", "type": "file\n", "moved.py": "a\nb\nc\n"}
    after = {
        "mod.py": "2\ndiff --git a/x b/x\n", "gone.py": None, 'q"ü é.py': "b\n", "new.bin": b"\0",
        "type": SpecialFile(mode="120000", content="mod.py"),
    }  # fmt: skip
    base = git.commit("main", before, message="m", author="ada", parent=None)
    moved = git.commit("main", {}, message="m", author="ada", parent=base, renames={"moved.py": "ünï.py"})
    head = git.commit("main", after, message="m", author="ada", parent=moved)
    data = subprocess.run(
        ["git", "-c", f"core.quotePath={request.param}", "diff", base, head],
        cwd=git.path, capture_output=True, check=True,
    ).stdout  # fmt: skip
    found = RawDiff.read(data)
    assert found is not None
    return found


@pytest.mark.parametrize("raw", ["true", "false"], indirect=True)
def test_each_file_is_found_by_its_names_and_what_happened_to_it(raw):
    for wanted, line in [
        (change("mod.py"), b"+diff --git a/x b/x\n"),
        (change("gone.py", Change.REMOVED), b"deleted file mode"),
        (change('q"ü é.py'), b"-a\n+b\n"),
        (change("new.bin", Change.ADDED), b"Binary files"),
        (change("type", Change.REMOVED), b"-file\n"),
        (change("type", Change.ADDED), b"new file mode 120000"),
        (change("ünï.py", Change.RENAMED, "moved.py"), b"rename from moved.py"),
    ]:
        section = raw.section_of(wanted)
        assert section is not None, wanted
        assert line in section
        assert section.count(b"\ndiff --git ") == 0
    for absent in (change("mod.py", Change.ADDED), change("ünï.py", Change.ADDED), change("nope.py")):
        assert raw.section_of(absent) is None


@pytest.mark.parametrize("raw", ["true", "false"], indirect=True)
def test_what_a_list_does_not_name_is_what_is_beside_it(raw):
    beside = raw.sections_beside(
        [change("mod.py"), change("type", Change.REMOVED), change("x", old_path="gone.py")]
    )
    assert beside.count(b"diff --git a/") + beside.count(b'diff --git "a/') == 3
    assert b"gone.py" not in beside


@pytest.mark.parametrize("data", [b"<html>", b"{}", b"\ndiff --git a/x b/x\n", b" diff --git a/x b/x\n"])
def test_what_is_no_diff_is_none(data):
    assert RawDiff.read(data) is None
    assert RawDiff.read(b"") == RawDiff(sections={})
