"""Reading from GitHub and marking what we do, over HTTP against the sandbox."""

import pytest

from bot.events import CommentKind, CommentRef, PullRequestRef
from bot.findings import Place, Side
from bot.forges.base import (
    AnswerUnclear,
    ForgeDenied,
    ForgeMissing,
    ForgeUnavailable,
    InlineComment,
    Status,
    StatusState,
)
from bot.forges.github import GitHubForge
from bot.forges.github_auth import AppCredentials
from bot.forges.github_transport import GitHubTransport
from deploy.sandbox.git import SpecialFile


def place(path="a.py", line=1, **kw):
    fields = {"old_path": path, "new_path": path, "side": Side.NEW, "old_line": None, "new_line": line}
    return Place(**fields | kw)


def test_reads_a_pull_request_from_its_merge_base(either):
    pull = either.open({"a.py": "1\n"}, {"a.py": "2\n"}, title="Zoë's <b>change</b> 😀", body="Why & how")
    fork_point = pull.base_sha
    either.sandbox.commit("acme/shop", "main", {"other.py": "x\n"})
    again = either.forge.get_pull_request(pull.ref)
    assert again.base_sha == fork_point
    assert (again.title, again.body, again.author, again.base_ref) == (
        "Zoë's <b>change</b> 😀",
        "Why & how",
        "ada",
        "main",
    )
    assert again.head_sha == either.state(pull).head_sha
    assert (again.additions, again.deletions, again.is_open, again.is_draft) == (1, 1, True, False)
    assert not again.author_is_bot
    assert again.url.endswith(f"/acme/shop/pull/{pull.ref.number}")


def test_the_merge_base_is_asked_once_per_pair_of_commits(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    github.forge.get_pull_request(pull.ref)
    assert len([one for one in github.sandbox.requests if "/compare/" in one.path]) == 1


def test_without_a_merge_base_the_tip_of_the_target_branch_serves(github):
    github.sandbox.fail("GET", "/compare/", status=404, times=9)
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    github.sandbox.commit("acme/shop", "main", {"other.py": "x\n"})
    assert github.forge.get_pull_request(pull.ref).base_sha == github.state(pull).base_sha


def test_reads_drafts_closed_ones_bots_and_forks_that_are_gone(github):
    github.sandbox.add_user("dependabot[bot]", permission="none", kind="Bot")
    github.sandbox.add_user("zed", permission="none")
    github.sandbox.commit("acme/shop", "feature", {"a.py": "1\n"})
    numbers = [
        github.sandbox.open_pull_request("acme/shop", "feature", author="dependabot[bot]", draft=True),
        github.sandbox.open_pull_request("acme/shop", "feature", author="zed", fork_owner="zed"),
    ]
    github.sandbox.delete_fork("acme/shop", numbers[1])
    github.sandbox.close("acme/shop", numbers[1])
    bots, forks = (github.forge.get_pull_request(github.ref(number)) for number in numbers)
    assert (bots.author_is_bot, bots.is_draft, bots.is_open) == (True, True, True)
    assert (forks.author, forks.is_open) == ("zed", False)
    assert github.forge.get_diff(forks).data.startswith(b"diff --git a/a.py b/a.py\n")
    github.forge.post_review(forks.ref, head_sha=forks.head_sha, body="On a fork.", comments=[])


def test_what_is_not_there_is_missing(either):
    for repository, number in (("acme/shop", 99), ("acme/nothing", 1)):
        either.repository = repository
        with pytest.raises(ForgeMissing):
            either.forge.get_pull_request(either.ref(number))


def test_a_name_that_leads_elsewhere_is_never_sent(github):
    for name in ("acme", "acme/shop/x", "../shop", "acme/..", "acme/shop?x=", ""):
        github.repository = name
        with pytest.raises(ForgeMissing):
            github.forge.get_pull_request(github.ref(1))
    assert github.sandbox.requests == []


def test_reads_files_of_any_content_and_size(either):
    big = b"x" * 1_200_000 + b"\xff\n"
    files = {
        "sub dir/Ünï #1?.py": "text ✓\n",
        "bin": b"\0\xff",
        "empty": b"",
        "big.txt": big,
        ".redline.toml": "max = 1\n",
    }
    pull = either.open(files, {"a.py": "2\n", ".redline.toml": "max = 99\n"})
    for path in ("sub dir/Ünï #1?.py", "bin", "empty", "big.txt"):
        content = files[path]
        expected = content.encode() if isinstance(content, str) else content
        assert either.forge.get_file(pull.ref, path, pull.head_sha) == expected
    assert either.forge.get_file(pull.ref, ".redline.toml", pull.base_sha) == b"max = 1\n"
    assert either.forge.get_file(pull.ref, ".redline.toml", pull.head_sha) == b"max = 99\n"


def test_what_is_no_plain_file_is_none(github):
    link = SpecialFile(mode="120000", content="README.md")
    pull = github.open({"sub/x.py": "1\n", "link": link}, {"a.py": "2\n"})
    for path in ("nope.py", "sub", "link", "../../../../user", "a//b", ""):
        assert github.forge.get_file(pull.ref, path, pull.head_sha) is None


def test_only_people_with_write_access_may_ask(either):
    for permission, may in (("admin", True), ("write", True), ("read", False), ("none", False)):
        either.sandbox.add_user("kim", permission=permission)
        assert either.forge.may_write("acme/shop", "kim") is may
    for login in ("nobody-of-that-name", "x[bot]", "../../user", "a/b?c"):
        assert either.forge.may_write("acme/shop", login) is False


def test_a_permission_check_that_fails_is_no_permission(github):
    github.sandbox.fail("GET", "/permission", status=500, times=9)
    with pytest.raises(ForgeUnavailable):
        github.forge.may_write("acme/shop", "ada")


def test_eyes_on_a_comment_once_however_often(either):
    pull = either.open({"a.py": "1\n"}, {"a.py": "2\n"})
    number = pull.ref.number
    first = either.sandbox.comment("acme/shop", number, "/review")
    line = {"path": "a.py", "line": 1, "side": "RIGHT", "body": "/review"}
    either.sandbox.review("acme/shop", number, author="ada", event="COMMENT", body="b", comments=[line])
    second = either.state(pull).comments[0].id
    for _ in range(2):
        either.forge.acknowledge(pull.ref, CommentRef(kind=CommentKind.CONVERSATION, id=str(first)))
        either.forge.acknowledge(pull.ref, CommentRef(kind=CommentKind.INLINE, id=str(second)))
    assert either.state(pull).reactions == {first: [(either.login, "eyes")], second: [(either.login, "eyes")]}


def test_a_request_that_is_not_granted_gets_another_reaction(either):
    pull = either.open({"a.py": "1\n"}, {"a.py": "2\n"})
    comment = either.sandbox.comment("acme/shop", pull.ref.number, "/review", "ada")
    for _ in range(2):
        either.forge.decline(pull.ref, CommentRef(kind=CommentKind.CONVERSATION, id=str(comment)))
    assert either.state(pull).reactions == {comment: [(either.login, "confused")]}


def test_a_comment_in_the_conversation_can_be_edited_until_somebody_deletes_it(either):
    pull = either.open({"a.py": "1\n"}, {"a.py": "2\n"})
    comment_id = either.forge.post_comment(pull.ref, "first <!-- redline:x --> 😀")
    either.forge.edit_comment(pull.ref, comment_id, "second ✓")
    assert [(one.user, one.body) for one in either.state(pull).conversation] == [(either.login, "second ✓")]
    with pytest.raises(ForgeMissing):
        either.forge.edit_comment(pull.ref, "999999999", "third")


def test_a_comment_that_may_be_stored_is_not_sent_again(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    github.sandbox.fail("POST", "/comments$", status=502, after_storing=True, times=9)
    with pytest.raises(AnswerUnclear):
        github.forge.post_comment(pull.ref, "once")
    assert [one.body for one in github.state(pull).conversation] == ["once"]


def test_lists_our_own_comments_of_all_kinds_over_all_pages(either):
    pull = either.open({"a.py": "1\n"}, {"a.py": "2\n"})
    comment = InlineComment(place=place(), body="inline 😀 <!-- redline:f=1 -->")
    for number in range(3):
        either.forge.post_review(
            pull.ref, head_sha=pull.head_sha, body=f"review {number}", comments=[comment] * 35
        )
    for number in range(130):
        either.sandbox.comment("acme/shop", pull.ref.number, f"by ada {number}")
    either.forge.post_comment(pull.ref, "by us, on the second page")
    either.sandbox.review(
        "acme/shop", pull.ref.number, author="ada", event="COMMENT", body="by ada",
        comments=[{"path": "a.py", "line": 1, "side": "RIGHT", "body": "by ada"}],
    )  # fmt: skip
    own = either.forge.list_own_comments(pull.ref)
    assert len(own.inline) == 105
    assert {one.body for one in own.inline} == {comment.body}
    assert len({one.id for one in own.inline}) == 105
    assert [one.body for one in own.reviews] == ["review 0", "review 1", "review 2"]
    assert [one.body for one in own.conversation] == ["by us, on the second page"]
    assert all(("per_page", "100") in one.query for one in either.sent("GET", "/comments"))


def test_a_pending_review_of_our_account_is_not_posted(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    github.sandbox.review(
        "acme/shop", pull.ref.number, author="redline", body="draft",
        comments=[{"path": "a.py", "line": 1, "side": "RIGHT", "body": "draft"}],
    )  # fmt: skip
    own = github.forge.list_own_comments(pull.ref)
    assert (own.inline, own.reviews, own.conversation) == ((), (), ())


def test_our_login_is_asked_once(either):
    pull = either.open({"a.py": "1\n"}, {"a.py": "2\n"})
    for _ in range(2):
        either.forge.list_own_comments(pull.ref)
    assert either.forge.own_login() == either.login
    assert len([one for one in either.sandbox.requests if one.path in {"/user", "/app"}]) == 1


def status(state, description="3 findings"):
    return Status(state=state, description=description)


def test_an_account_sets_commit_statuses(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    status_id = ""
    for state in StatusState:
        status_id = github.forge.set_status(
            pull.ref, pull.head_sha, status(state, "ä" * 300), status_id, reference="7"
        )
    posted = github.state(pull).statuses
    assert [(one[1], one[2]) for one in posted] == [
        ("redline", "pending"),
        ("redline", "success"),
        ("redline", "success"),
        ("redline", "failure"),
    ]
    assert all(sha == pull.head_sha and text == "ä" * 139 + "…" for sha, _, _, text in posted)


def test_an_app_sets_one_check_run_and_updates_it(app_github):
    pull = app_github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    run_id = ""
    expected = {
        StatusState.PENDING: ("in_progress", None),
        StatusState.SUCCESS: ("completed", "success"),
        StatusState.NEUTRAL: ("completed", "neutral"),
        StatusState.FAILURE: ("completed", "failure"),
    }
    for state, stands in expected.items():
        shown = status(state, "x" * 70_000)
        run_id = app_github.forge.set_status(pull.ref, pull.head_sha, shown, run_id, reference="7")
        (run,) = app_github.state(pull).check_runs
        assert (run.status, run.conclusion) == stands
        assert (str(run.id), run.name, run.head_sha) == (run_id, "redline", pull.head_sha)
        assert len(run.title or "") == 255
        assert len(run.summary or "") == 65_535
    assert len(app_github.sent("POST", "/check-runs")) == 1


def test_a_check_run_that_is_not_ours_is_replaced_by_one_that_is(app_github):
    pull = app_github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    done = status(StatusState.SUCCESS)
    run_id = app_github.forge.set_status(pull.ref, pull.head_sha, done, "12345678", reference="7")
    assert [str(run.id) for run in app_github.state(pull).check_runs] == [run_id]


def test_a_check_run_whose_id_was_lost_is_found_again(app_github):
    pull = app_github.open({"a.py": "1\n"}, {"a.py": "2\n"})

    def begin(reference):
        return app_github.forge.set_status(
            pull.ref, pull.head_sha, status(StatusState.PENDING), "", reference=reference
        )

    first, second = begin("7"), begin("8")
    assert first != second, "two reviews of one head have a run each"
    assert begin("7") == first
    assert [run.external_id for run in app_github.state(pull).check_runs] == ["7", "8"]


def test_a_check_run_of_another_app_is_left_alone(app_github, app_keys):
    app_github.sandbox.add_app(4713, "stranger", app_keys[1], {"checks": "write", "pull_requests": "read"})
    transport = GitHubTransport(app_github.sandbox.api_url, backoff_s=0.01)
    stranger = GitHubForge(transport, AppCredentials(transport, "4713", app_keys[0]))
    pull = app_github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    ids = [
        forge.set_status(pull.ref, pull.head_sha, status(StatusState.SUCCESS), "", reference="7")
        for forge in (stranger, app_github.forge)
    ]
    assert [str(run.id) for run in app_github.state(pull).check_runs] == ids
    stranger.close()


def test_an_app_without_the_permission_is_told_which(sandbox, app_keys):
    sandbox.add_app(4712, "poor", app_keys[1], {"pull_requests": "read", "contents": "read"})
    transport = GitHubTransport(sandbox.api_url, backoff_s=0.01)
    forge = GitHubForge(transport, AppCredentials(transport, "4712", app_keys[0]))
    sandbox.commit("acme/shop", "feature", {"a.py": "2\n"})
    number = sandbox.open_pull_request("acme/shop", "feature")
    pull = forge.get_pull_request(PullRequestRef(forge="github", repository="acme/shop", number=number))
    with pytest.raises(ForgeDenied, match="checks: write"):
        forge.set_status(pull.ref, pull.head_sha, status(StatusState.SUCCESS), "", reference="7")
    with pytest.raises(ForgeDenied, match="pull requests: write"):
        forge.post_review(pull.ref, head_sha=pull.head_sha, body="b", comments=[])
    with pytest.raises(ForgeDenied, match="issues: write"):
        forge.post_comment(pull.ref, "b")
    assert len([one for one in sandbox.requests if one.status == 403]) == 3  # J1: no retry storm
    forge.close()


def test_an_account_that_may_only_read_is_told_what_it_lacks(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    github.sandbox.add_user("redline", permission="read")
    with pytest.raises((ForgeDenied, ForgeMissing), match="commit statuses: write"):
        github.forge.set_status(pull.ref, pull.head_sha, status(StatusState.SUCCESS), "", reference="7")
    with pytest.raises(ForgeDenied, match="push access"):
        github.forge.may_write("acme/shop", "ada")


def test_the_permission_that_github_names_itself_is_the_one_that_is_shown(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    github.sandbox.fail(
        "POST", "/comments", status=403, body={"message": "Resource not accessible by personal access token"},
        headers={"X-Accepted-GitHub-Permissions": "issues=write; pull_requests=write"},
    )  # fmt: skip
    with pytest.raises(ForgeDenied, match="issues: write; pull_requests: write"):
        github.forge.post_comment(pull.ref, "b")


@pytest.mark.parametrize("code", [301, 307])
def test_a_repository_that_moved_is_missing_and_nothing_seems_posted(github, code):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    location = {"Location": f"{github.sandbox.api_url}/repositories/1/x"}
    github.sandbox.fail("POST", "", status=code, body={"message": "Moved"}, headers=location, times=9)
    for write in (
        lambda: github.forge.post_comment(pull.ref, "b"),
        lambda: github.forge.post_review(pull.ref, head_sha=pull.head_sha, body="b", comments=[]),
        lambda: github.forge.set_status(
            pull.ref, pull.head_sha, status(StatusState.SUCCESS), "", reference="7"
        ),
    ):
        with pytest.raises(ForgeMissing, match="renamed or transferred"):
            write()
    assert github.state(pull).conversation == ()


def test_a_strange_answer_is_a_forge_error_and_unclear_after_a_write(github):
    pull = github.open({"a.py": "1\n"}, {"a.py": "2\n"})
    for body in ("<html>login</html>", "{", "[1]", '"x"', "{}", '{"id": "x"}', "null", "", "[" * 99_999):
        github.sandbox.fail("GET", "/pulls/[0-9]+$", status=200, body=body)
        github.sandbox.fail("POST", "", status=201, body=body, times=2)
        with pytest.raises(ForgeUnavailable):
            github.forge.get_pull_request(pull.ref)
        with pytest.raises(AnswerUnclear):
            github.forge.post_comment(pull.ref, "b")
        with pytest.raises(AnswerUnclear):
            github.forge.post_review(pull.ref, head_sha=pull.head_sha, body="b", comments=[])
