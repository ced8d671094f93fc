"""Sections of a diff that we write ourselves read like git's own."""

import os
import subprocess

import pytest

from bot.diff.model import FileStatus
from bot.diff.parse import parse_diff
from bot.forges.git_format import Change, FileChange, write_section

NAMES = [
    "a.py",
    "with space/b c.txt",
    'quo"te.py',
    'quo"te and space.py',
    "back\\slash.py",
    "tab\tname.txt",
    "new\nline.txt",
    "bell\x07\x7f.txt",
    "пример/日本語 😀.md",
    "x b/x b/y",
    "-dash.py",
]


def git(folder, *args):
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "core.quotePath=false"]
    return subprocess.run(
        ["git", *author, *args], cwd=folder, env=env, check=True, capture_output=True
    ).stdout


def modified(path="a.py"):
    return FileChange(old_path=path, new_path=path, change=Change.MODIFIED)


@pytest.mark.parametrize("change", ["modified", "added", "removed", "renamed"])
def test_a_section_is_what_git_writes_but_for_modes_and_index(tmp_path, change):
    old, new = b"one\ntwo\nthree\nfour\n", b"one\n2\nthree\nfour\n"
    git(tmp_path, "init", "-q")
    for name in NAMES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(old)
    before = NAMES if change != "added" else []
    if before:
        git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "base")
    for name in NAMES:
        match change:
            case "modified":
                (tmp_path / name).write_bytes(new)
            case "removed":
                (tmp_path / name).unlink()
            case "renamed":
                (tmp_path / name).write_bytes(new)
                (tmp_path / name).rename(tmp_path / f"{name}.moved")
    git(tmp_path, "add", "-A")
    # Rename detection pairs equal contents at will, so files are compared one by one.
    for name in NAMES:
        moved = f"{name}.moved" if change == "renamed" else name
        theirs = git(
            tmp_path, "diff", "--cached", "-M1%", "HEAD", "--", f":(literal){name}", f":(literal){moved}"
        )
        file = FileChange(old_path=name, new_path=moved, change=Change(change))
        versions = {
            "modified": (old, new),
            "added": (b"", old),
            "removed": (old, b""),
            "renamed": (old, new),
        }
        ours = write_section(file, *versions[change])
        left_out = (b"index ", b"similarity ")
        assert ours.split(b"\n") == [line for line in theirs.split(b"\n") if not line.startswith(left_out)]
        parsed = parse_diff(ours).files[0]
        assert (parsed.old_path, parsed.new_path) == (name, moved)
        assert parsed.status == FileStatus(change)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a\n", b"a"),
        (b"a", b"a\nb"),
        (b"a\r\nb\r\n", b"a\r\nc\r\n"),
        (b"\xff\xfe\n", b"\xff\xfd\n"),
        (b"x\x0cy\n", b"x\x0cz\n\xe2\x80\xa8\n"),
        (b"-- x\n", b"++ y\n"),
        (b"", b"a\n"),
        (b"".join(b"%d\n" % n for n in range(60)), b"".join(b"%d\n" % (n * (n % 25 > 0)) for n in range(60))),
    ],
)
def test_hunks_lead_from_the_old_text_to_the_new(tmp_path, old, new):
    section = write_section(modified(), old, new)
    parse_diff(section)
    (tmp_path / "a.py").write_bytes(old)
    (tmp_path / "change.diff").write_bytes(section)
    git(tmp_path, "apply", "change.diff")
    assert (tmp_path / "a.py").read_bytes() == new


def test_a_binary_file_is_named_as_one():
    section = write_section(modified("logo.png"), b"\x89PNG\0\1", b"\x89PNG\0\2")
    assert section == b"diff --git a/logo.png b/logo.png\nBinary files a/logo.png and b/logo.png differ\n"
    assert parse_diff(section).files[0].is_binary


def test_equal_contents_leave_the_header():
    section = write_section(FileChange(old_path="a", new_path="b", change=Change.RENAMED), b"x\n", b"x\n")
    assert section == b"diff --git a/a b/b\nrename from a\nrename to b\n"
    assert parse_diff(section).files[0].status is FileStatus.RENAMED


def test_the_users_git_configuration_changes_nothing(tmp_path, monkeypatch):
    (tmp_path / ".gitconfig").write_text(
        "[diff]\n noprefix = true\n context = 0\n external = false\n[color]\n ui = always\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "diff.interHunkContext")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "100")
    old = b"".join(b"%d\n" % number for number in range(1, 21))
    section = write_section(modified(), old, old.replace(b"\n2\n", b"\nb\n").replace(b"\n19\n", b"\ns\n"))
    assert section.count(b"\n@@ ") == 2
    assert b"@@ -1,5 +1,5 @@\n 1\n-2\n+b\n 3\n 4\n 5\n@@ -16,5 +16,5 @@" in section


def test_a_missing_git_is_an_error_that_can_be_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OSError, match="git"):
        write_section(modified(), b"1\n", b"2\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_title_is_known_however_git_is_configured_to_write_names(tmp_path, name):
    git(tmp_path, "init", "-q")
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("a\n")
    git(tmp_path, "add", "-A", "-f", "--", ":/")
    change = FileChange(old_path=name, new_path=name, change=Change.ADDED)
    assert git(tmp_path, "diff", "--cached").split(b"\n")[0] == change.title.encode()
    escaped = git(tmp_path, "-c", "core.quotePath=true", "diff", "--cached").split(b"\n")[0]
    assert escaped == change.escaped_title


@pytest.mark.parametrize(
    ("change", "modes"),
    [
        ({"change": Change.MODIFIED, "old_mode": "100644", "new_mode": "100755"}, ("100644", "100755")),
        ({"change": Change.MODIFIED, "old_mode": "160000", "new_mode": "160000"}, ("160000", "160000")),
        ({"change": Change.ADDED, "new_mode": "120000"}, ("", "120000")),
        ({"change": Change.REMOVED, "old_mode": "100755"}, ("100755", "")),
        ({"change": Change.MODIFIED}, ("", "")),
        ({"change": Change.ADDED}, ("", "100644")),
    ],
)
def test_modes_that_are_known_are_written(change, modes):
    file = FileChange(old_path="a", new_path="a", **change)
    hunks = b"@@ -0,0 +1 @@\n+x\n" if file.change is Change.ADDED else b"@@ -1 +0,0 @@\n-x\n"
    if file.change is Change.MODIFIED:
        hunks = b"@@ -1 +1 @@\n-x\n+y\n"
    (parsed,) = parse_diff(file.with_hunks(hunks)).files
    assert (parsed.old_mode, parsed.new_mode) == modes
