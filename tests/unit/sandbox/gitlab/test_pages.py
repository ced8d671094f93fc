"""The pages show what was said where."""

import pytest

from deploy.sandbox.gitlab import GitLabSandbox
from tests.unit.sandbox.conftest import HTTP, OLD
from tests.unit.sandbox.gitlab.conftest import ONE, PROJECT, REPO, Client


def the_page(sandbox: GitLabSandbox, number: int = 1) -> str:
    answer = HTTP.get(sandbox.pull_url(REPO, number))
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    return answer.text


def test_a_comment_stands_below_its_line(sandbox: GitLabSandbox, api: Client) -> None:
    api.discuss("Two, not 2.\n```suggestion:-1+0\nuno\ntwo!\n```")
    page = the_page(sandbox)
    before, after = page.index('<td class="text">2</td>'), page.index('<td class="text">three</td>')
    assert before < page.index("Two, not 2.") < page.index("Suggested change") < after
    assert '<tr class="del"><td class="sign">-</td><td class="text">one</td>' in page
    assert '<tr class="add"><td class="sign">+</td><td class="text">two!</td>' in page
    assert ">R2</span>" in page


def test_a_range_is_marked(sandbox: GitLabSandbox, api: Client) -> None:
    first, last = _code(api, old_line=1, new_line=1), _code(api)
    line_range = {
        "start": {"line_code": first, "type": None, "old_line": 1, "new_line": 1},
        "end": {"line_code": last, "type": "new", "new_line": 2},
    }
    assert api.discuss("Both.", line_range=line_range).status_code == 201
    page = the_page(sandbox)
    assert page.count("in-range") == 3 + page.count(".in-range")  # one, two and 2
    assert ">R1\u2013R2</span>" in page


def _code(api: Client, **lines: object) -> str:
    draft = api("POST", f"{ONE}/draft_notes", {"note": "x", "position": api.position(**lines)}).json()
    api("DELETE", f"{ONE}/draft_notes/{draft['id']}")
    return str(draft["line_code"])


def test_what_left_the_diff_is_outdated(sandbox: GitLabSandbox, api: Client) -> None:
    api.discuss("Not long.")
    sandbox.commit(REPO, "feature", {"a.py": OLD})
    assert "1 outdated thread<" in the_page(sandbox)


def test_notes_off_the_hunks_and_on_files_stand_above_them(sandbox: GitLabSandbox, api: Client) -> None:
    api.discuss("Seven.", old_line=7, new_line=7)
    api.discuss("A file.", position_type="file", new_line=...)
    page = the_page(sandbox)
    assert page.index("Seven.") < page.index('<td class="text">one</td>')
    assert ">R7</span>" in page
    assert ">whole file</span>" in page


def test_drafts_are_not_shown_and_system_notes_in_a_line(sandbox: GitLabSandbox, api: Client) -> None:
    api("POST", f"{ONE}/draft_notes", {"note": "Not yet public."})
    sandbox.commit(REPO, "feature", {"c.py": "c\n"})
    page = the_page(sandbox)
    assert "Not yet public." not in page
    assert "<b>ada</b> added 1 commit" in page


def test_statuses_and_emoji_are_shown(sandbox: GitLabSandbox, api: Client) -> None:
    note = sandbox.comment(REPO, 1, "/review")
    api("POST", f"{ONE}/notes/{note}/award_emoji", {"name": "eyes"})
    head = sandbox.pull(REPO, 1).head_sha
    api("POST", f"{PROJECT}/statuses/{head}", {"state": "failed", "name": "redline", "description": "broke"})
    page = the_page(sandbox)
    assert "✕ failed" in page
    assert "👀 1" in page


def test_a_merge_request_that_is_not_ready_has_a_page(sandbox: GitLabSandbox) -> None:
    sandbox.options.prepare_s = 30
    sandbox.commit(REPO, "other", {"c.py": "c\n"})
    number = sandbox.open_pull_request(REPO, "other", title="Other", draft=True)
    assert "Nothing differs" in the_page(sandbox, number)
    assert "◌ Draft" in HTTP.get(sandbox.url).text


@pytest.mark.parametrize("options", [{"relative_url_root": "/gitlab"}])
def test_links_lead_below_the_relative_root(sandbox: GitLabSandbox) -> None:
    assert f'href="/gitlab/{REPO}/-/merge_requests/1">Change a</a>' in HTTP.get(f"{sandbox.url}/").text
    assert HTTP.get(sandbox.pull_url(REPO, 99)).status_code == 404
    assert HTTP.get(f"{sandbox.pull_url(REPO, 1)}.diff").text.startswith("diff --git a/a.py b/a.py\n")
    assert HTTP.get(f"{sandbox.url}/healthz").json() == {"status": "ok"}
