"""Posting on GitLab: exact places, published together, never twice (forges.md C6, cases A3 to A6, A11, A15)."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.diff.anchor import make_place
from bot.diff.parse import parse_diff
from bot.findings import Place, Side
from bot.forges.base import AnswerUnclear, ForgeDenied, ForgeUnavailable, InlineComment, PlaceRejected
from bot.forges.gitlab_notes import harmless
from bot.forges.gitlab_position import suggestion_info
from deploy.sandbox.gitlab.quick_actions import extract

OLD = "".join(f"line {number}\n" for number in range(1, 41))
NEW = OLD.replace("line 5\n", "five\nfive and a half\n").replace("line 30\n", "")


@pytest.fixture
def pull(gitlab):
    return gitlab.open({"a.py": OLD}, {"a.py": NEW})


def lines_of(gitlab, pull, path="a.py"):
    diff = parse_diff(gitlab.forge.get_diff(pull).data)
    (file,) = [file for file in diff.files if file.new_path == path]
    return [line for hunk in file.hunks for line in hunk.lines]


def at(lines, text, *, start=None, side=Side.NEW, body=None):
    """Comment on the line with this text, from the line with the text `start` on."""
    last = next(line for line in lines if line.text == text and line.exists_on(side))
    first = next(line for line in lines if line.text == start) if start else last
    marker = f"<!-- redline:finding={abs(hash((text, side, start))):x} run=1 -->"
    return InlineComment(place=make_place(first, last, side), body=f"{body or text}\n\n{marker}")


def post(gitlab, pull, *comments):
    return gitlab.forge.post_review(pull.ref, head_sha=pull.head_sha, body="", comments=comments)


def bodies(state):
    return [one.body.partition("\n")[0] for one in state.comments]


def test_each_kind_of_line_gets_the_numbers_that_gitlab_asks_for(gitlab, pull):
    """A3: an unchanged line by both numbers, an added one by the new, a removed one by the old."""
    lines = lines_of(gitlab, pull)
    posted = post(
        gitlab,
        pull,
        at(lines, "five"),
        at(lines, "line 30", side=Side.OLD),
        at(lines, "line 7"),
        at(lines, "line 7", side=Side.OLD),
    )
    assert posted.refused == ()
    state = gitlab.state(pull)
    assert [(one.old_line, one.new_line) for one in state.comments] == [(None, 5), (30, None), (7, 8), (7, 8)]
    assert [one.user for one in state.comments] == ["redline"] * 4
    assert {one.commit_id for one in state.comments} == {pull.head_sha}
    assert state.drafts == ()
    assert len(gitlab.sent("POST", "/bulk_publish")) == 1, "one notification"
    assert gitlab.sent("POST", "/discussions") == gitlab.sent("POST", "/notes") == []


def test_a5_a_line_of_a_new_file_has_no_old_number(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"new.py": "one\ntwo\n"})
    post(gitlab, pull, at(lines_of(gitlab, pull, "new.py"), "two"))
    (comment,) = gitlab.state(pull).comments
    assert (comment.old_line, comment.new_line, comment.old_path) == (None, 2, "new.py")
    assert "old_line" not in gitlab.sent("POST", "/draft_notes")[0].json()["position"]


def test_a_removed_file_is_named_by_its_one_path(gitlab):
    pull = gitlab.open({"gone.py": "one\ntwo\n"}, {"gone.py": None})
    post(gitlab, pull, at(lines_of(gitlab, pull, "gone.py"), "two", side=Side.OLD))
    (comment,) = gitlab.state(pull).comments
    assert (comment.old_line, comment.path, comment.old_path) == (2, "gone.py", "gone.py")


def test_a6_a_renamed_file_has_both_of_its_paths(gitlab):
    gitlab.sandbox.commit(gitlab.project, "main", {"old.py": OLD})
    gitlab.sandbox.commit(gitlab.project, "feature", {}, renames={"old.py": "sub/ünï.py"})
    gitlab.sandbox.commit(gitlab.project, "feature", {"sub/ünï.py": NEW})
    pull = gitlab.read(gitlab.sandbox.open_pull_request(gitlab.project, "feature"))
    lines = lines_of(gitlab, pull, "sub/ünï.py")
    assert post(gitlab, pull, at(lines, "five"), at(lines, "line 7", start="five")).refused == ()
    assert {(one.old_path, one.path) for one in gitlab.state(pull).comments} == {("old.py", "sub/ünï.py")}


def test_a_range_names_both_ends_by_their_codes(gitlab, pull):
    lines = lines_of(gitlab, pull)
    comments = [
        at(lines, "five and a half", start="line 3"),
        at(lines, "line 7", start="five"),
        at(lines, "line 30", start="line 28", side=Side.OLD),
        at(lines, "line 32", start="line 30", side=Side.OLD),
    ]
    assert post(gitlab, pull, *comments).refused == ()
    assert [(one.start_line, one.line, one.side) for one in gitlab.state(pull).comments] == [
        (3, 6, "RIGHT"),
        (5, 8, "RIGHT"),
        (29, 30, "LEFT"),
        (30, 32, "RIGHT"),
    ]


def test_a_place_that_was_stored_without_the_other_sides_count_is_a_single_line(gitlab, pull):
    place = Place(old_path="a.py", new_path="a.py", side=Side.NEW, old_line=None, new_line=6, start_line=5)
    assert post(gitlab, pull, InlineComment(place=place, body="x")).refused == ()
    (comment,) = gitlab.state(pull).comments
    assert (comment.start_line, comment.line) == (None, 6)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.lists(
        st.tuples(
            st.lists(
                st.sampled_from(["a", "b", "c", "+ d", "-- e", "\u2028f", "g\r", "", "\\ h"]), max_size=25
            ),
            st.lists(
                st.sampled_from(["a", "b", "c", "+ d", "-- e", "\u2028f", "g\r", "", "\\ h"]), max_size=25
            ),
        ),
        min_size=1,
        max_size=3,
    ),
    chosen=st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 3), st.booleans()), min_size=1, max_size=12
    ),
)
def test_no_place_of_our_own_diff_is_ever_refused(gitlab, files, chosen):
    """A4: nothing is sent that was not derived from the diff; the sandbox takes each, on the very line."""
    before = {f"f{number}.txt": "\n".join(old) for number, (old, _) in enumerate(files)}
    after = {f"f{number}.txt": "\n".join(new) for number, (_, new) in enumerate(files)}
    gitlab.sandbox.commit(gitlab.project, "main", before)
    branch = f"feature-{len(gitlab.sandbox.requests)}"
    gitlab.sandbox.commit(gitlab.project, branch, after | {"always": branch}, start="main")
    pull = gitlab.read(gitlab.sandbox.open_pull_request(gitlab.project, branch))
    fetched = gitlab.forge.get_diff(pull)
    hunks = [list(hunk.lines) for file in parse_diff(fetched.data).files for hunk in file.hunks]
    comments = []
    for number, (seed, length, is_old) in enumerate(chosen):
        lines = hunks[seed % len(hunks)]
        side = Side.OLD if is_old else Side.NEW
        shown = [line for line in lines if line.exists_on(side)]
        if not shown:
            continue
        last = seed % len(shown)
        place = make_place(shown[max(last - length, 0)], shown[last], side)
        if not any(spot.hides(place) for spot in fetched.blind_spots):
            body = f"{shown[last].text}\n\n<!-- redline:finding={number} run=1 -->"
            comments.append(InlineComment(place=place, body=body))
    assert post(gitlab, pull, *comments).refused == ()
    for sent, stored in zip(comments, gitlab.state(pull).comments, strict=True):
        shown = stored.diff_hunk.split("\n")[-1][1:]
        assert sent.body.startswith(shown)
        assert sent.body[len(shown) : len(shown) + 2] == "\n\n"


def test_a4_a_refused_place_costs_that_comment_alone(gitlab, pull):
    """A2: 24 good findings are not lost for one that stands nowhere."""
    lines = lines_of(gitlab, pull)
    place = Place(old_path="a.py", new_path="a.py", side=Side.NEW, old_line=None, new_line=900)
    nowhere = InlineComment(place=place, body="nowhere\n\n<!-- redline:finding=f run=1 -->")
    for how in ("refuse", "vanish"):
        gitlab.sandbox.options.bad_drafts = how
        posted = post(gitlab, pull, at(lines, "five"), nowhere, at(lines, "line 7", body=how))
        assert posted.refused == (nowhere,)
    assert bodies(gitlab.state(pull)) == ["five", "refuse", "five", "vanish"]


def test_a4_the_same_if_gitlab_breaks_at_it_while_publishing(gitlab, pull):
    gitlab.sandbox.options.bad_drafts = "fail"
    lines = lines_of(gitlab, pull)
    place = Place(old_path="a.py", new_path="a.py", side=Side.NEW, old_line=None, new_line=900)
    nowhere = InlineComment(place=place, body="nowhere\n\n<!-- redline:finding=f run=1 -->")
    posted = post(gitlab, pull, at(lines, "five"), nowhere, at(lines, "line 7"))
    assert posted.refused == (nowhere,)
    assert bodies(gitlab.state(pull)) == ["five", "line 7"]
    assert gitlab.state(pull).drafts == ()


@pytest.mark.parametrize("published", [0, 1, 2, 3])
def test_publishing_that_breaks_half_way_is_finished_without_repeating(gitlab, pull, published):
    gitlab.sandbox.options.break_publishing_after = published
    lines = lines_of(gitlab, pull)
    assert post(gitlab, pull, *(at(lines, f"line {number}") for number in (2, 3, 4))).refused == ()
    assert bodies(gitlab.state(pull)) == ["line 2", "line 3", "line 4"]
    assert gitlab.state(pull).drafts == ()


def test_a_500_after_everything_was_stored_is_looked_into(gitlab, pull):
    lines = lines_of(gitlab, pull)
    gitlab.sandbox.fail_after_storing("POST", "/bulk_publish$")
    assert post(gitlab, pull, at(lines, "five"), at(lines, "line 7")).refused == ()
    assert bodies(gitlab.state(pull)) == ["five", "line 7"]
    assert len(gitlab.sent("POST", "/bulk_publish")) == 1


@pytest.mark.parametrize("fault", [{"status": 502}, {"status": 504}, {"drop_connection": True}])
def test_an_unclear_answer_is_looked_into_and_never_sent_again(gitlab, pull, fault):
    lines = lines_of(gitlab, pull)
    gitlab.sandbox.fail("POST", "/bulk_publish$", after_storing=True, **fault)
    assert post(gitlab, pull, at(lines, "five")).refused == ()
    gitlab.sandbox.fail("POST", "/bulk_publish$", **fault)
    with pytest.raises(AnswerUnclear):
        post(gitlab, pull, at(lines, "line 7"))
    assert bodies(gitlab.state(pull)) == ["five"]
    assert len(gitlab.sent("POST", "/bulk_publish")) == 2


def test_if_looking_fails_too_nothing_is_sent(gitlab, pull):
    lines = lines_of(gitlab, pull)
    gitlab.sandbox.fail("POST", "/bulk_publish$", status=502, after_storing=True)
    gitlab.sandbox.fail("GET", "/notes$", status=502, times=9)
    with pytest.raises(AnswerUnclear):
        post(gitlab, pull, at(lines, "five"))
    assert len(gitlab.sent("POST", "/bulk_publish")) == 1


def test_a_gitlab_that_breaks_at_everything_refuses_nothing(gitlab, pull):
    lines = lines_of(gitlab, pull)
    gitlab.sandbox.fail("POST", "/bulk_publish$", status=500)
    gitlab.sandbox.fail("PUT", "/publish$", status=500, times=9)
    with pytest.raises(ForgeUnavailable, match="failed to publish"):
        post(gitlab, pull, at(lines, "five"), at(lines, "line 7"))
    assert bodies(gitlab.state(pull)) == []


def test_leftover_drafts_are_deleted_not_published(gitlab, pull):
    """A crash between drafting and publishing leaves them, for as long as the account lives."""
    lines = lines_of(gitlab, pull)
    gitlab.sandbox.fail("POST", "/bulk_publish$", status=403)
    with pytest.raises(ForgeDenied):
        post(
            gitlab,
            pull,
            *(at(lines, line.text, body="left over") for line in lines if line.exists_on(Side.NEW)),
        )
    for _ in range(2):
        gitlab.sandbox.fail("POST", "/bulk_publish$", status=403)
        with pytest.raises(ForgeDenied):
            post(gitlab, pull, at(lines, "line 7", body="left over"))
    assert gitlab.state(pull).drafts
    post(gitlab, pull, at(lines, "five"))
    assert bodies(gitlab.state(pull)) == ["five"]
    assert gitlab.state(pull).drafts == ()


def test_more_leftovers_than_one_page_are_all_deleted(gitlab):
    many = "".join(f"line {number}\n" for number in range(35))
    pull = gitlab.open({}, {"many.py": many})
    lines = lines_of(gitlab, pull, "many.py")
    gitlab.sandbox.fail("POST", "/bulk_publish$", status=403)
    with pytest.raises(ForgeDenied):
        post(gitlab, pull, *(at(lines, line.text) for line in lines))
    assert len(gitlab.state(pull).drafts) == 35
    post(gitlab, pull, at(lines, "line 3"))
    assert bodies(gitlab.state(pull)) == ["line 3"]


def test_drafts_of_a_person_who_lends_the_account_stay_drafts(gitlab, pull):
    gitlab.sandbox.fail("POST", "/bulk_publish$", status=403)
    lines = lines_of(gitlab, pull)
    place = at(lines, "line 3").place
    with pytest.raises(ForgeDenied):
        post(gitlab, pull, InlineComment(place=place, body="a thought of my own"))
    post(gitlab, pull, at(lines, "five"), at(lines, "line 7"))
    assert bodies(gitlab.state(pull)) == ["five", "line 7"]
    assert gitlab.state(pull).drafts == (("redline", "a thought of my own"),)


def test_a_head_that_moved_is_noticed_before_anything_is_written(gitlab, pull):
    lines = lines_of(gitlab, pull)
    gitlab.sandbox.commit(gitlab.project, "feature", {"b.py": "1\n"})
    with pytest.raises(PlaceRejected, match="another head"):
        post(gitlab, pull, at(lines, "five"))
    assert gitlab.sent("POST") == []


def test_j1_a_token_that_may_only_read_is_told_what_it_lacks(gitlab, pull):
    lines = lines_of(gitlab, pull)
    gitlab.sandbox.add_user("redline", token="glpat-redline", scopes=["read_api"])
    with pytest.raises(ForgeDenied, match="needs the scope api"):
        post(gitlab, pull, at(lines, "five"))
    assert len(gitlab.sent("POST")) == 1, "no storm of repeats"


@pytest.mark.parametrize(
    ("place", "info"),
    [
        ({"new_line": 7}, "suggestion:-0+0"),
        ({"new_line": 7, "start_line": 5}, "suggestion:-2+0"),
        ({"new_line": 120, "start_line": 20}, "suggestion:-100+0"),
        ({"new_line": 121, "start_line": 20}, None),
        ({"side": Side.OLD, "old_line": 7, "new_line": None}, None),
    ],
)
def test_a11_a_suggestion_names_its_lines_by_their_distance(place, info):
    known = {"old_path": "a.py", "new_path": "a.py", "side": Side.NEW, "old_line": None}
    assert suggestion_info(Place(**known | place)) == info


def test_a15_a_suggestion_can_be_committed_where_it_stands(gitlab, pull):
    lines = lines_of(gitlab, pull)
    comment = at(lines, "line 7", start="five and a half")
    info = gitlab.forge.suggestion_info(comment.place)
    body = f"```{info}\nsix\nseven\n```\n\n{comment.body}"
    post(gitlab, pull, InlineComment(place=comment.place, body=body))
    ((suggestion,),) = [one.suggestions for one in gitlab.state(pull).comments]
    assert suggestion.from_content == "five and a half\nline 6\nline 7\n"
    assert suggestion.to_content == "six\nseven\n"


@pytest.mark.parametrize("fence", ["", "```\n", "````\n", "<div>\n", "> x\n\n", "text\n"])
def test_no_line_of_ours_is_a_quick_action(gitlab, pull, fence):
    lines = lines_of(gitlab, pull)
    body = f"{fence}/merge\r\n/approve\n/title pwned\n"
    post(gitlab, pull, at(lines, "five", body=body))
    note = gitlab.forge.post_comment(pull.ref, "/close")
    gitlab.forge.edit_comment(pull.ref, note, body)
    assert gitlab.state(pull).quick_actions == ()
    assert gitlab.state(pull).title == "Change"
    assert "/approve" in gitlab.state(pull).comments[0].body


@given(
    st.text(alphabet="/ \n\r`>~<ab:\u2028", max_size=60),
    st.sampled_from(["merge", "close", "label ~x", "me"]),
)
def test_what_is_made_harmless_holds_no_quick_action(text, name):
    for body in (text.replace("a", f"/{name}"), f"{text}\n/{name}", f"/{name}\n{text}"):
        assert extract(harmless(body))[1] == []
        assert harmless(body).replace("\u200b", "") == body.replace("\u200b", "")
