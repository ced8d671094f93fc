"""Reading from GitLab and marking what we do, over HTTP against the sandbox."""

import pytest

from bot.events import CommentKind, CommentRef
from bot.findings import Place, Side
from bot.forges.base import (
    AnswerUnclear,
    FileTooLarge,
    ForgeDenied,
    ForgeMissing,
    ForgeRejected,
    ForgeUnavailable,
    InlineComment,
    Status,
    StatusState,
)
from bot.forges.gitlab import GitLabForge
from bot.forges.gitlab_files import fetch_file
from bot.forges.gitlab_notes import merge_request_of
from bot.forges.gitlab_transport import GitLabTransport
from deploy.sandbox.git import SpecialFile


def on(note_id, kind=CommentKind.CONVERSATION):
    return CommentRef(kind=kind, id=str(note_id))


def status(state, text="said"):
    return Status(state=state, description=text)


def test_reads_a_merge_request_from_its_merge_base(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"}, title="Zoë's <b>change</b> 😀", body="Why & how")
    fork_point = pull.base_sha
    gitlab.sandbox.commit(gitlab.project, "main", {"other.py": "x\n"})
    again = gitlab.read(pull.ref.number)
    assert again.base_sha == fork_point
    assert (again.title, again.body, again.author, again.base_ref) == (
        "Zoë's <b>change</b> 😀",
        "Why & how",
        "ada",
        "main",
    )
    assert again.head_sha == gitlab.state(pull).head_sha
    assert (again.is_open, again.is_draft, again.author_is_bot) == (True, False, False)
    assert again.url.endswith("/git/acme/web/shop/-/merge_requests/1")
    assert again.changes_url == f"{again.url}/diffs"


def test_d2_reads_drafts_of_any_version_closed_ones_bots_and_forks(gitlab):
    gitlab.sandbox.add_user("project_3_bot_0a1b", permission="write")
    gitlab.sandbox.commit(gitlab.project, "feature", {"a.py": "1\n"})
    draft = gitlab.sandbox.open_pull_request(
        gitlab.project, "feature", author="project_3_bot_0a1b", draft=True
    )
    forks = gitlab.sandbox.open_pull_request(
        gitlab.project, "feature", author="mallory", fork_owner="mallory"
    )
    gitlab.sandbox.close(gitlab.project, forks)
    bots = gitlab.read(draft)
    assert (bots.author_is_bot, bots.is_draft, bots.is_open) == (True, True, True)
    assert (gitlab.read(forks).author, gitlab.read(forks).is_open) == ("mallory", False)
    shown = gitlab.forge._client.read_object(merge_request_of(gitlab.ref(draft))).data
    body = shown | {"draft": None, "work_in_progress": True}
    gitlab.sandbox.fail("GET", f"/merge_requests/{draft}$", status=200, body=body)
    assert gitlab.read(draft).is_draft


def test_i4_a_fork_is_commented_in_the_project_that_it_goes_to(gitlab):
    gitlab.sandbox.commit(gitlab.project, "feature", {"a.py": "1\n"})
    number = gitlab.sandbox.open_pull_request(
        gitlab.project, "feature", author="mallory", fork_owner="mallory"
    )
    pull = gitlab.read(number)
    place = Place(old_path="a.py", new_path="a.py", side=Side.NEW, old_line=None, new_line=1)
    comment = InlineComment(place=place, body="x\n\n<!-- redline:finding=1 run=1 -->")
    posted = gitlab.forge.post_review(pull.ref, head_sha=pull.head_sha, body="", comments=[comment])
    assert posted.refused == ()
    assert [one.line for one in gitlab.state(pull).comments] == [1]
    # Its commits are on no branch of this project, so GitLab has no place for a status.
    with pytest.raises(ForgeMissing, match="References for commit"):
        gitlab.forge.set_status(pull.ref, pull.head_sha, status(StatusState.PENDING), "", reference="1")


@pytest.mark.parametrize(
    ("project", "number"), [("acme/web/shop", 99), ("acme/nothing", 1), ("acme/web/x", 1)]
)
def test_what_is_not_there_is_missing(gitlab, project, number):
    gitlab.project = project
    with pytest.raises(ForgeMissing, match="role Reporter"):
        gitlab.read(number)


def test_reads_files_of_any_content(gitlab):
    files = {
        "sub dir/Ünï #1?%2F.py": "text ✓\n",
        "bin": b"\0\xff\r\n",
        "empty": b"",
        ".redline.toml": "max = 1\n",
    }
    pull = gitlab.open(files, {"a.py": "2\n", ".redline.toml": "max = 99\n"})
    for path in ("sub dir/Ünï #1?%2F.py", "bin", "empty"):
        content = files[path]
        expected = content.encode() if isinstance(content, str) else content
        assert gitlab.forge.get_file(pull.ref, path, pull.head_sha) == expected
    assert gitlab.forge.get_file(pull.ref, ".redline.toml", pull.base_sha) == b"max = 1\n"
    assert gitlab.forge.get_file(pull.ref, ".redline.toml", pull.head_sha) == b"max = 99\n"


def test_what_is_no_file_is_none(gitlab):
    link = SpecialFile(mode="120000", content="README.md")
    pull = gitlab.open({"sub/x.py": "1\n", "link": link}, {"a.py": "2\n"})
    for path in ("nope", "sub", "../x", "sub/../a.py", "/a.py", ""):
        assert gitlab.forge.get_file(pull.ref, path, pull.head_sha) is None
    assert gitlab.forge.get_file(pull.ref, "link", pull.head_sha) == b"README.md"


def test_no_more_of_a_file_is_read_than_is_wanted(gitlab):
    pull = gitlab.open({"big.txt": "x" * 300_000}, {"a.py": "2\n"})
    with pytest.raises(FileTooLarge):
        fetch_file(gitlab.forge._client, gitlab.project, "big.txt", pull.head_sha, max_bytes=100_000)


@pytest.mark.parametrize(
    ("permission", "may"), [("none", False), ("read", False), ("write", True), ("maintain", True)]
)
def test_who_may_ask_is_decided_by_the_access_level_of_the_notes_author(gitlab, permission, may):
    """Case M3: inherited membership counts, and what the payload calls the author does not."""
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    gitlab.sandbox.add_user("kim", permission="write")
    note = gitlab.sandbox.comment(gitlab.project, pull.ref.number, "/review", "kim")
    gitlab.sandbox.add_user("kim", permission=permission)
    assert gitlab.forge.may_ask(pull.ref, on(note), "ada") is may


def test_nobody_asks_by_a_note_that_is_gone_or_our_own(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    note = gitlab.sandbox.comment(gitlab.project, pull.ref.number, "/review", "ada")
    gitlab.sandbox.delete_comment(gitlab.project, pull.ref.number, note)
    assert gitlab.forge.may_ask(pull.ref, on(note), "ada") is False
    assert gitlab.forge.may_ask(pull.ref, on(gitlab.forge.post_comment(pull.ref, "/review")), "ada") is False


def test_that_nobody_could_be_asked_is_no_refusal(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    note = gitlab.sandbox.comment(gitlab.project, pull.ref.number, "/review", "ada")
    for path in (f"/notes/{note}$", "/members/all/"):
        gitlab.sandbox.fail("GET", path, status=403)
        with pytest.raises(ForgeDenied):
            gitlab.forge.may_ask(pull.ref, on(note), "ada")


def test_the_own_account_is_asked_for_once(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    for _ in range(3):
        gitlab.forge.list_own_comments(pull.ref)
    assert len(gitlab.sent("GET", "/user")) == 1


def test_reactions_stand_under_the_note_and_twice_is_harmless(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    note = gitlab.sandbox.comment(gitlab.project, pull.ref.number, "/review", "ada")
    line = gitlab.sandbox.comment_on_line(gitlab.project, pull.ref.number, "a.py", 1, "/review", author="ada")
    for _ in range(2):
        gitlab.forge.acknowledge(pull.ref, on(note))
        gitlab.forge.decline(pull.ref, on(line, CommentKind.INLINE))
    assert gitlab.state(pull).reactions == {note: [("redline", "eyes")], line: [("redline", "confused")]}
    with pytest.raises(ForgeMissing):
        gitlab.forge.acknowledge(pull.ref, on(999_999))
    with pytest.raises(ForgeRejected):
        gitlab.forge.acknowledge(pull.ref, on("../../x"))


def test_own_comments_are_told_apart_from_those_of_others(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    place = Place(old_path="a.py", new_path="a.py", side=Side.NEW, old_line=None, new_line=1)
    comment = InlineComment(place=place, body="inline\n\n<!-- redline:finding=1 run=1 -->")
    gitlab.forge.post_review(pull.ref, head_sha=pull.head_sha, body="", comments=[comment])
    ours = gitlab.forge.post_comment(pull.ref, "summary\n\n<!-- redline:summary=1 -->")
    gitlab.sandbox.comment(gitlab.project, pull.ref.number, "mine\n\n<!-- redline:summary=1 -->", "mallory")
    gitlab.sandbox.label(gitlab.project, pull.ref.number, "bug")  # leaves a note of the system
    own = gitlab.forge.list_own_comments(pull.ref)
    assert [one.body for one in own.inline] == [comment.body]
    assert [(one.id, one.body.partition("\n")[0]) for one in own.conversation] == [(ours, "summary")]
    assert own.reviews == ()


def test_own_comments_are_listed_oldest_first_over_all_pages(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    for number in range(120):
        gitlab.sandbox.comment(gitlab.project, pull.ref.number, f"{number}", "redline")
    own = gitlab.forge.list_own_comments(pull.ref).conversation
    assert [one.body for one in own] == [str(number) for number in range(120)]


def test_a_note_is_posted_edited_and_missed_when_it_is_gone(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    note = gitlab.forge.post_comment(pull.ref, "first 😀")
    gitlab.forge.edit_comment(pull.ref, note, "second")
    assert [one.body for one in gitlab.state(pull).conversation] == ["second"]
    gitlab.sandbox.delete_comment(gitlab.project, pull.ref.number, int(note))
    with pytest.raises(ForgeMissing):
        gitlab.forge.edit_comment(pull.ref, note, "third")


def test_j4_a_note_as_long_as_we_write_them_is_taken(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    gitlab.forge.post_comment(pull.ref, "x" * 65_536)
    with pytest.raises(ForgeRejected, match="too long"):
        gitlab.forge.post_comment(pull.ref, "x" * 1_000_001)


@pytest.mark.parametrize("fault", [{"status": 502}, {"status": 500}, {"drop_connection": True}])
def test_a_note_whose_answer_was_lost_is_not_posted_again(gitlab, fault):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    gitlab.sandbox.fail("POST", "/notes$", after_storing=True, **fault)
    with pytest.raises(AnswerUnclear):
        gitlab.forge.post_comment(pull.ref, "once")
    assert len(gitlab.state(pull).conversation) == 1


def test_a_note_that_gitlab_took_for_commands_is_an_error_not_a_note_without_id(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    body = {"commands_changes": {}, "summary": ["Merged."]}
    gitlab.sandbox.fail("POST", "/notes$", status=202, body=body)
    with pytest.raises(ForgeRejected, match="quick actions"):
        gitlab.forge.post_comment(pull.ref, "x")


def test_a_status_goes_from_waiting_over_running_to_its_end(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    status_id = ""
    for state in (StatusState.PENDING, StatusState.PENDING, StatusState.PENDING, StatusState.NEUTRAL):
        status_id = gitlab.forge.set_status(
            pull.ref, pull.head_sha, status(state, f"{state}"), status_id, reference="1"
        )
    assert [(name, state) for _, name, state, _ in gitlab.state(pull).statuses] == [
        ("redline", "pending"),
        ("redline", "running"),  # the third would not change the state, which GitLab refuses
        ("redline", "success"),
    ]


@pytest.mark.parametrize(
    ("state", "expected"),
    [(StatusState.SUCCESS, "success"), (StatusState.NEUTRAL, "success"), (StatusState.FAILURE, "failed")],
)
def test_a_second_review_of_a_commit_begins_a_status_of_its_own(gitlab, state, expected):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    ids = []
    for _ in range(2):
        first = gitlab.forge.set_status(
            pull.ref, pull.head_sha, status(StatusState.PENDING), "", reference="1"
        )
        ids.append(gitlab.forge.set_status(pull.ref, pull.head_sha, status(state), first, reference="1"))
    assert [one[2] for one in gitlab.state(pull).statuses] == ["pending", expected] * 2
    assert ids[0] != ids[1]


def test_a_lost_id_finds_the_unfinished_status_again(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    for state in (StatusState.PENDING, StatusState.PENDING, StatusState.SUCCESS):
        gitlab.forge.set_status(pull.ref, pull.head_sha, status(state), "", reference="1")
    assert [one[2] for one in gitlab.state(pull).statuses] == ["pending", "success"]


def test_an_update_that_another_one_holds_up_is_repeated_a_few_times(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    gitlab.sandbox.hold_statuses(2)
    assert gitlab.forge.set_status(pull.ref, pull.head_sha, status(StatusState.SUCCESS), "", reference="1")
    gitlab.sandbox.hold_statuses(9)
    with pytest.raises(ForgeUnavailable, match="busy"):
        gitlab.forge.set_status(pull.ref, pull.head_sha, status(StatusState.SUCCESS), "", reference="1")


def test_a_description_is_cut_to_what_gitlab_takes(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    gitlab.forge.set_status(
        pull.ref, pull.head_sha, status(StatusState.SUCCESS, "ü" * 900), "", reference="1"
    )
    assert len(gitlab.state(pull).statuses[0][3]) == 255


def test_i1_a_token_that_is_not_known_any_more_is_told_which_scope_it_needs(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    gitlab.sandbox.revoke("glpat-redline")
    with pytest.raises(ForgeDenied, match=r"REDLINE_GITLAB_TOKEN.*scope api"):
        gitlab.read(pull.ref.number)


def test_i2_a_job_token_is_refused_with_its_name(gitlab):
    gitlab.sandbox.add_job_token("64_job")
    transport = GitLabTransport(gitlab.sandbox.url, "64_job", backoff_s=0.01)
    with pytest.raises(ForgeDenied, match="CI_JOB_TOKEN"):
        GitLabForge(transport).get_pull_request(gitlab.ref(1))
    transport.close()


def test_an_account_without_the_role_is_told_which_one(gitlab):
    pull = gitlab.open({"a.py": "1\n"}, {"a.py": "2\n"})
    gitlab.sandbox.add_user("redline", permission="read")
    with pytest.raises(ForgeDenied, match="at least the role Developer in acme/web/shop"):
        gitlab.forge.set_status(pull.ref, pull.head_sha, status(StatusState.SUCCESS), "", reference="1")


def test_i3_what_answers_say_of_addresses_is_not_used(gitlab, elsewhere):
    """Behind a wrong external_url, links, pages and web_url name another server."""
    gitlab.sandbox.advertise(elsewhere.url)
    before = {f"{number:03}.py": "1\n" for number in range(130)}
    pull = gitlab.open(before, dict.fromkeys(before, "2\n"))
    assert pull.url.startswith(elsewhere.url), "for people to click on"
    assert gitlab.forge.get_diff(pull).data.count(b"diff --git") == 130
    gitlab.forge.list_own_comments(pull.ref)
