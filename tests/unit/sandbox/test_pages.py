"""The pages show what was said where, and nothing that a comment smuggles in."""

import pytest

from deploy.sandbox.github import GitHubSandbox
from deploy.sandbox.page.markdown import render_markdown
from tests.unit.sandbox.conftest import HTTP, REPO, Client


def the_page(sandbox: GitHubSandbox) -> str:
    answer = HTTP.get(f"{sandbox.url}/{REPO}/pull/1")
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    return answer.text


def test_a_comment_stands_below_its_line(sandbox: GitHubSandbox, api: Client) -> None:
    comment = {"path": "a.py", "line": 2, "side": "RIGHT", "body": "Two, not 2.\n```suggestion\ntwo!\n```"}
    api("POST", f"/repos/{REPO}/pulls/1/reviews", {"event": "COMMENT", "body": "One.", "comments": [comment]})
    page = the_page(sandbox)
    before, after = page.index('<td class="text">2</td>'), page.index('<td class="text">three</td>')
    assert before < page.index("Two, not 2.") < page.index("Suggested change") < after
    assert '<tr class="del"><td class="sign">-</td><td class="text">2</td>' in page
    assert '<tr class="add"><td class="sign">+</td><td class="text">two!</td>' in page
    assert ">R2</span>" in page


def test_a_pending_review_is_not_shown(sandbox: GitHubSandbox, api: Client) -> None:
    comment = {"path": "a.py", "line": 2, "side": "RIGHT", "body": "Not yet public."}
    api("POST", f"/repos/{REPO}/pulls/1/reviews", {"comments": [comment]})
    assert "Not yet public." not in the_page(sandbox)


def test_statuses_are_marked_in_word_and_shape(sandbox: GitHubSandbox, api: Client) -> None:
    head = sandbox.pull(REPO, 1).head_sha
    for state in ("pending", "success"):
        wanted = {"state": state, "context": "redline", "description": f"is {state}"}
        api("POST", f"/repos/{REPO}/statuses/{head}", wanted)
    page = the_page(sandbox)
    assert "✓ success" in page
    assert "is pending" not in page


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a <!-- hidden --> b", "<p>a  b</p>\n"),
        ("<!-- hidden -->\n\ntext", "<p>text</p>\n"),
        (
            "<details><summary>More</summary>\n\n**x**\n\n</details>",
            "<details><summary>More</summary>\n<p><strong>x</strong></p>\n</details>",
        ),
        ("<sub>small</sub>", "<p><sub>small</sub></p>\n"),
        ("<sub onclick=alert(1) style='x'>y</sub>", "<p><sub>y</sub></p>\n"),
        ("<script>alert(1)</script>", "alert(1)"),
        ("a <img src=http://x/y> b", "<p>a  b</p>\n"),
        ("![alt](http://x/y.png)", '<p><a href="http://x/y.png">alt</a></p>\n'),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>\n"),
        ("</details></table></body>x", "x"),
        ("<details>\n\nunclosed", "<details>\n<p>unclosed</p>\n</details>"),
    ],
)
def test_markdown_is_shown_and_harmless(source: str, expected: str) -> None:
    assert render_markdown(source).strip() == expected.strip()


def test_code_is_escaped(sandbox: GitHubSandbox) -> None:
    sandbox.commit(REPO, "feature", {"<b>.py": "<script>alert(1)</script>\n"})
    page = the_page(sandbox)
    assert "<script" not in page
    assert "&lt;b&gt;.py" in page


def test_the_first_page_lists_pull_requests_and_unknown_pages_say_so(sandbox: GitHubSandbox) -> None:
    assert f'href="/{REPO}/pull/1">Change a</a>' in HTTP.get(sandbox.url).text
    assert HTTP.get(f"{sandbox.url}/{REPO}/pull/99").status_code == 404
    assert HTTP.get(f"{sandbox.url}/healthz").json() == {"status": "ok"}
