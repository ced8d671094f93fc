"""What is new between two commits, on both forges: all of it, or nothing."""

import pytest

from bot.diff.parse import parse_diff
from bot.forges.base import ForgeUnavailable


@pytest.fixture(params=["github", "gitlab"])
def forge(request):
    """Our client on either forge."""
    return request.getfixturevalue(request.param)


def repository_of(forge):
    return forge.repository if hasattr(forge, "repository") else forge.project


def commit(forge, files, **options):
    return forge.sandbox.commit(repository_of(forge), "feature", files, **options)


def since(forge, pull, old, new):
    return forge.forge.get_diff_since(pull.ref, old, new)


def paths(diff):
    return [file.new_path for file in parse_diff(diff.data).files]


def test_l1_the_diff_from_an_ancestor(forge):
    pull = forge.open({"a.py": "1\n2\n", "b.py": "x\n"}, {"a.py": "1\nzwei\n", "b.py": "y\n"})
    new = commit(forge, {"a.py": "1\nzwei 😀\u2028\n", "c d.py": "new\n", "b.py": None})
    diff = since(forge, pull, pull.head_sha, new)
    assert diff.missing == ()
    assert sorted(paths(diff)) == ["a.py", "b.py", "c d.py"]
    assert "-zwei\n+zwei 😀\u2028\n".encode() in diff.data


def test_l1_a_commit_that_is_no_ancestor_gives_nothing(forge):
    pull = forge.open({"a.py": "1\n"}, {"a.py": "2\n"})
    other = forge.sandbox.commit(repository_of(forge), "other", {"a.py": "3\n"}, start="main")
    newer = commit(forge, {"a.py": "4\n"})
    assert since(forge, pull, other, newer) is None
    assert since(forge, pull, newer, pull.head_sha) is None
    assert since(forge, pull, "f" * 40, newer) is None


def test_the_merge_base_is_an_ancestor_too(forge):
    pull = forge.open({"a.py": "1\n"}, {"a.py": "2\n"})
    assert paths(since(forge, pull, pull.base_sha, pull.head_sha)) == ["a.py"]


def test_nothing_new_is_an_empty_diff(forge):
    pull = forge.open({"a.py": "1\n"}, {"a.py": "2\n"})
    new = commit(forge, {})
    assert since(forge, pull, pull.head_sha, new).data == b""


def test_files_without_a_text_are_named(forge):
    lines = "".join(f"{number:06} {'x' * 40}\n" for number in range(5_000))
    pull = forge.open({"long.txt": lines, "a.py": "1\n"}, {"a.py": "2\n"})
    new = commit(forge, {"long.txt": lines.replace("x", "y"), "a.py": "3\n"})
    diff = since(forge, pull, pull.head_sha, new)
    assert paths(diff) == ["a.py"]
    assert [file.path for file in diff.missing] == ["long.txt"]


def test_github_lists_at_most_300_files_and_does_not_say_so(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    new = commit(github, {f"{number}.py": "x\n" for number in range(300)})
    assert since(github, pull, pull.head_sha, new) is None
    less = commit(github, {"0.py": None})
    assert len(paths(since(github, pull, pull.head_sha, less))) == 299


def test_what_github_finds_too_large_is_nothing(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    body = {"message": "Server Error: Sorry, this diff is taking too long to generate.",
            "errors": [{"resource": "Comparison", "field": "diff", "code": "not_available"}]}  # fmt: skip
    github.sandbox.fail("GET", "/compare/", status=500, body=body, times=3)
    assert since(github, pull, pull.base_sha, pull.head_sha) is None


def test_a_github_that_is_away_says_so(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    github.sandbox.fail("GET", "/compare/", status=502, times=9)
    with pytest.raises(ForgeUnavailable):
        since(github, pull, pull.base_sha, pull.head_sha)


def test_gitlab_says_when_its_comparison_is_cut(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    new = commit(gitlab, {f"{number}.py": "x\n" for number in range(1_100)})
    assert since(gitlab, pull, pull.head_sha, new) is None
