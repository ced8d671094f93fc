"""Lines that are in the diff and take no comment: known before anything is sent (cases A1, A2, A4, D5, D6)."""

import pytest

from bot.diff.parse import parse_diff
from bot.findings import Place, Side
from bot.forges.base import BlindSpot, InlineComment, MissingFile, PlaceRejected
from deploy.sandbox.git import SpecialFile

LINK = SpecialFile(mode="120000", content="elsewhere")
LONG = "".join(f"line {number} of a long file\n" for number in range(4_000))
TOO_LARGE = {"message": "Sorry, the diff exceeded the maximum number of files (300).", "errors": []}


def first_line(path):
    return InlineComment(
        place=Place(old_path=path, new_path=path, side=Side.NEW, old_line=None, new_line=1, other_line=0),
        body="Here.",
    )


def post(world, pull, path):
    return world.forge.post_review(pull.ref, head_sha=pull.head_sha, body="", comments=[first_line(path)])


@pytest.mark.parametrize(
    ("before", "after"),
    [({"a": "1\n"}, {"a": LINK}), ({"a": LINK}, {"a": "1\n2\n"}), ({}, {"a": LONG})],
    ids=["a file becomes a link", "a link becomes a file", "a long file"],
)
def test_a1_d5_github_takes_no_comment_where_it_shows_no_line(github, before, after):
    pull = github.open({"b": "1\n", **before}, {"b": "2\n", **after})
    fetched = github.forge.get_diff(pull)
    assert "a" in {file.path for file in parse_diff(fetched.data).files}
    assert fetched.blind_spots == (BlindSpot(path="a"),)
    with pytest.raises(PlaceRejected):
        post(github, pull, "a")


def test_a1_the_same_where_github_gives_no_diff_as_a_whole(github):
    pull = github.open({"b": "1\n"}, {"b": "2\n", "a": LONG})
    github.sandbox.fail("GET", "/pulls/[0-9]+$", status=406, body=TOO_LARGE)
    fetched = github.forge.get_diff(pull)
    assert b"+line 3999 of a long file\n" in fetched.data
    assert fetched.blind_spots == (BlindSpot(path="a"),)


def test_an_ordinary_diff_costs_no_second_request(github):
    pull = github.open({"a": "1\n" * 100}, {"a": "2\n" * 100, "b": LINK})
    assert github.forge.get_diff(pull).blind_spots == ()
    assert github.sent("GET", "/files") == []


def test_d6_names_that_no_text_can_hold_cost_their_file_alone(github):
    names = {"tab\there.py": "1\n", "new\nline.py": "1\n", "\udcff.py": "1\n"}
    pull = github.open({}, names)
    github.sandbox.fail("GET", "/pulls/[0-9]+$", status=406, body=TOO_LARGE)
    fetched = github.forge.get_diff(pull)
    assert {file.path for file in parse_diff(fetched.data).files} == {"tab\there.py", "new\nline.py"}
    (missing,) = fetched.missing
    assert missing == MissingFile(path=missing.path, reason="its name is not UTF-8")
    assert "\N{REPLACEMENT CHARACTER}" in missing.path


def test_e2_bytes_that_json_cannot_carry_are_compared_here(github):
    pull = github.open({"latin.py": b"# caf\xe9\n"}, {"latin.py": b"# caf\xe9s\n"})
    github.sandbox.fail("GET", "/pulls/[0-9]+$", status=406, body=TOO_LARGE)
    fetched = github.forge.get_diff(pull)
    assert b"-# caf\xe9\n+# caf\xe9s\n" in fetched.data
    # GitHub has shown it, if not to the byte: comments can stand there.
    assert fetched.blind_spots == ()


def test_a4_d5_gitlab_finds_only_the_first_of_two_entries(gitlab):
    pull = gitlab.open({"a": LINK, "b": "1\n"}, {"a": "1\n2\n", "b": "2\n"})
    fetched = gitlab.forge.get_diff(pull)
    assert [file.path for file in parse_diff(fetched.data).files] == ["a", "a", "b"]
    assert fetched.blind_spots == (BlindSpot(path="a"),)
    assert post(gitlab, pull, "a").refused == (first_line("a"),)
