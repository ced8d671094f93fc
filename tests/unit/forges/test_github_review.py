"""Posting a review: once, on the right lines, with errors that say what to do (A1, A10, B4, B7, J1, J3)."""

import time

import pytest

from bot.findings import Place, Side
from bot.forges.base import (
    AnswerUnclear,
    ForgeRejected,
    ForgeUnavailable,
    InlineComment,
    PlaceRejected,
)

OLD = "".join(f"line {number}\n" for number in range(1, 41))
NEW = OLD.replace("line 5\n", "five\nand more\n").replace("line 30\n", "")


def at(line, *, side=Side.NEW, start=None, path="a.py", old_path=""):
    place = Place(
        old_path=old_path or path,
        new_path=path,
        side=side,
        old_line=line if side is Side.OLD else None,
        new_line=line if side is Side.NEW else None,
        start_line=start,
    )
    return InlineComment(place=place, body=f"On {side} {line}. <!-- redline:f={line} -->")


def post(world, pull, *comments, body="Summary <!-- redline:run=1 -->"):
    return world.forge.post_review(pull.ref, head_sha=pull.head_sha, body=body, comments=comments).id


def places(state):
    return [(one.path, one.side, one.start_line, one.line) for one in state.comments]


def test_posts_all_comments_in_one_request_on_the_reviewed_commit(either):
    pull = either.open({"a.py": OLD}, {"a.py": NEW})
    review_id = post(either, pull, at(5), at(6, start=5), at(30, side=Side.OLD), at(3), at(6, start=6))
    state = either.state(pull)
    (review,) = state.reviews
    assert (str(review.id), review.user, review.state) == (review_id, either.login, "COMMENTED")
    assert review.body == "Summary <!-- redline:run=1 -->"
    assert review.commit_id == pull.head_sha
    assert places(state) == [
        ("a.py", "RIGHT", None, 5),
        ("a.py", "RIGHT", 5, 6),
        ("a.py", "LEFT", None, 30),
        ("a.py", "RIGHT", None, 3),  # an unchanged line inside the hunk
        ("a.py", "RIGHT", None, 6),  # A10: a range of one line is a line
    ]
    assert len(either.sent("POST", "/reviews")) == 1
    sent = either.sent("POST", "/reviews")[0].json()
    assert (sent["event"], sent["commit_id"]) == ("COMMENT", pull.head_sha)
    assert ["start_line" in one for one in sent["comments"]] == [False, True, False, False, False]


def test_comments_on_a_renamed_and_a_deleted_file_and_in_any_script(either):
    before = {"old name.py": OLD, "gone.py": "bye\n", "код/日本.py": "1\n"}
    either.sandbox.commit("acme/shop", "main", before)
    either.sandbox.commit("acme/shop", "feature", {}, renames={"old name.py": "new name.py"})
    either.sandbox.commit("acme/shop", "feature", {"new name.py": NEW, "gone.py": None, "код/日本.py": "2\n"})
    pull = either.forge.get_pull_request(either.ref(either.sandbox.open_pull_request("acme/shop", "feature")))
    post(
        either,
        pull,
        at(5, path="new name.py", old_path="old name.py"),
        at(30, path="new name.py", old_path="old name.py", side=Side.OLD),
        at(1, path="gone.py", side=Side.OLD),
        at(1, path="код/日本.py"),
        body="Zoë 😀 \N{LINE SEPARATOR} ✓",
    )
    state = either.state(pull)
    assert places(state) == [
        ("new name.py", "RIGHT", None, 5),
        ("new name.py", "LEFT", None, 30),
        ("gone.py", "LEFT", None, 1),
        ("код/日本.py", "RIGHT", None, 1),
    ]
    assert state.reviews[0].body == "Zoë 😀 \N{LINE SEPARATOR} ✓"


def test_an_answer_that_got_lost_leaves_one_review_and_says_so(either):
    pull = either.open({"a.py": OLD}, {"a.py": NEW})
    either.sandbox.fail("POST", "/reviews$", status=502, after_storing=True, times=9)
    with pytest.raises(AnswerUnclear):
        post(either, pull, at(5))
    assert len(either.state(pull).reviews) == 1
    assert len(either.sent("POST", "/reviews")) == 1
    (found,) = either.forge.list_own_comments(pull.ref).reviews  # B4: read before writing again
    assert "redline:run=1" in found.body


@pytest.mark.parametrize("stored", [True, False])
def test_a_dropped_connection_is_unclear_whether_it_was_stored_or_not(github, stored):
    pull = github.open({"a.py": OLD}, {"a.py": NEW})
    github.sandbox.fail("POST", "/reviews$", drop_connection=True, after_storing=stored, times=9)
    with pytest.raises(AnswerUnclear):
        post(github, pull, at(5))
    assert len(github.state(pull).reviews) == stored
    assert len(github.sent("POST", "/reviews")) == 1


@pytest.mark.parametrize("older", [False, True])
def test_a_place_outside_the_diff_is_a_place_rejected_and_nothing_is_stored(github, older):
    if older:
        github.sandbox.use_older_review_errors()
    pull = github.open({"a.py": OLD}, {"a.py": NEW})
    wrong = [
        at(20),  # A1: in the file, in no hunk
        at(999),
        at(7, path="nope.py"),
        at(5, side=Side.OLD, path="README.md"),
        at(32, start=5),  # both ends in the diff, in different hunks
        at(41, side=Side.OLD),
    ]
    for number, comment in enumerate(wrong, 1):
        with pytest.raises(PlaceRejected):
            post(github, pull, at(5), comment)
        assert len(github.sent("POST", "/reviews")) == number
    assert github.state(pull).reviews == ()


def test_what_github_is_sure_to_refuse_is_not_sent(github):
    pull = github.open({"a.py": OLD}, {"a.py": NEW})
    for comment in (at(5, start=6), at(5, path="\udcff.py")):
        with pytest.raises(PlaceRejected):
            post(github, pull, comment)
    assert github.sent("POST") == []


LINE = "Pull request review thread line must be part of the diff"
THREAD = "pull_request_review_thread"
ABOUT_PLACES = [
    [f"{LINE} and Pull request review thread diff hunk can't be blank"],
    ["Line could not be resolved"],
    ["Path could not be resolved"],
    ["Pull request review thread start line must precede the end line."],
    ["Pull request review thread start line must be part of the same hunk as the line."],
    [{"resource": "C", "code": "custom", "field": f"{THREAD}.line", "message": "must be part of the diff"}],
    [{"resource": "C", "code": "missing_field", "field": f"{THREAD}.diff_hunk"}],
    [{"resource": "C", "code": "custom", "field": "side", "message": "is invalid"}],
    ["The commit_id is not part of the pull request"],
]
ABOUT_OTHER_THINGS = [
    [
        {
            "resource": "Issue",
            "code": "custom",
            "field": "body",
            "message": "body is too long (maximum is 65536)",
        }
    ],
    ["Pull request review comments body is too long (maximum is 65536 characters)"],
    ["Can not approve your own pull request"],
    ["Body can't be blank"],
    None,
    [],
    "Something",
    [7, None, {}],
]


def test_a_refusal_is_told_apart_by_its_wording(github):
    pull = github.open({"a.py": OLD}, {"a.py": NEW})
    wordings = [(errors, True) for errors in ABOUT_PLACES] + [
        (errors, False) for errors in ABOUT_OTHER_THINGS
    ]
    for number, (errors, about_places) in enumerate(wordings, 1):
        body = {"message": "Validation Failed", "errors": errors}
        github.sandbox.fail("POST", "/reviews$", status=422, body=body)
        with pytest.raises(ForgeRejected) as caught:
            post(github, pull, at(5))
        assert isinstance(caught.value, PlaceRejected) is about_places, errors
        assert len(github.sent("POST", "/reviews")) == number


def test_a_body_that_is_too_long_is_rejected(github):
    github.sandbox.observers.clear()  # the specification would object too
    pull = github.open({"a.py": OLD}, {"a.py": NEW})
    with pytest.raises(ForgeRejected, match="too long") as caught:
        post(github, pull, at(5), body="x" * 65_537)
    assert not isinstance(caught.value, PlaceRejected)


def test_a_pending_review_of_our_own_is_deleted_and_the_review_posted(either):
    pull = either.open({"a.py": OLD}, {"a.py": NEW})
    number, line = pull.ref.number, {"path": "a.py", "line": 5, "side": "RIGHT", "body": "draft"}
    either.sandbox.review("acme/shop", number, author=either.login, body="left over", comments=[line])
    either.sandbox.review("acme/shop", number, author="grace", body="hers", comments=[line])
    post(either, pull, at(5))
    assert [(one.user, one.state) for one in either.state(pull).reviews] == [
        ("grace", "PENDING"),  # hers is hers
        (either.login, "COMMENTED"),
    ]
    assert len(either.sent("POST", "/reviews")) == 2


def test_a_pending_review_that_cannot_be_found_ends_as_rejected(github):
    pull = github.open({"a.py": OLD}, {"a.py": NEW})
    body = {
        "message": "Unprocessable Entity",
        "errors": ["User can only have one pending review per pull request"],
    }
    github.sandbox.fail("POST", "/reviews$", status=422, body=body, times=9)
    hers = {"id": 1, "state": "PENDING", "user": {"login": "grace"}}
    github.sandbox.fail(
        "GET", "/reviews$", status=200, body=[hers, {"id": 2, "state": "PENDING", "user": None}]
    )
    with pytest.raises(ForgeRejected, match="pending review"):
        post(github, pull, at(5))
    assert len(github.sent("POST", "/reviews")) == 1
    assert github.sent("DELETE") == []


def test_a_secondary_rate_limit_is_waited_out_if_short_and_handed_on_if_long(github):
    pull = github.open({"a.py": OLD}, {"a.py": NEW})
    github.sandbox.limit_content(0, retry_after_s=120)
    with pytest.raises(ForgeUnavailable) as caught:
        post(github, pull, at(5))
    assert caught.value.retry_after_s == 120
    assert not isinstance(caught.value, AnswerUnclear)
    github.sandbox.limit_content(0, retry_after_s=None)
    with pytest.raises(ForgeUnavailable) as caught:
        post(github, pull, at(5))
    assert caught.value.retry_after_s == 60
    github.sandbox.limit_content(None)
    blocked = {"message": "You have exceeded a secondary rate limit. Please retry your request again later."}
    github.sandbox.fail("POST", "/reviews$", status=403, body=blocked, headers={"Retry-After": "1"})
    post(github, pull, at(5))
    assert len(github.state(pull).reviews) == 1


def test_an_exhausted_hour_is_handed_on_with_its_end(github):
    pull = github.open({"a.py": OLD}, {"a.py": NEW})
    github.sandbox.exhaust_rate_limit(time.time() + 900)
    with pytest.raises(ForgeUnavailable) as caught:
        post(github, pull, at(5))
    assert 890 < (caught.value.retry_after_s or 0) < 905


def test_a_head_that_was_pushed_away_is_a_place_rejected(github):
    pull = github.open({"a.py": OLD}, {"a.py": NEW})
    wrong = "0" * 39 + "1"
    with pytest.raises(PlaceRejected):
        github.forge.post_review(pull.ref, head_sha=wrong, body="b", comments=[at(5)])
