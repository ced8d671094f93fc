"""The command line, as people and programs use it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.sandbox.gitlab import GitLabSandbox
from tests.llm_server import LlmServer
from tests.unit.test_settings import run

DIFF = """\
diff --git a/app.py b/app.py
--- a/app.py
+++ b/app.py
@@ -1,2 +1,3 @@
 import os
-x = 1
+x = eval(input())
+y = 2
"""
FINDING = {
    "line": "1R2",
    "quote": "x = eval(input())",
    "message": "Input is run as code. Anyone can run code here.",
}


@pytest.fixture
def llm() -> Iterator[LlmServer]:
    with LlmServer() as server:
        yield server


@pytest.fixture
def diff_file(tmp_path: Path) -> Path:
    path = tmp_path / "change.diff"
    path.write_text(DIFF)
    return path


def test_review_prints_findings_of_a_diff(llm: LlmServer, diff_file: Path, tmp_path: Path) -> None:
    llm.will_say([{**FINDING, "severity": "high", "category": "security"}])
    done = run("review", "--diff", str(diff_file), folder=tmp_path, REDLINE_LLM_BASE_URL=llm.base_url)
    assert done.returncode == 0, done.stderr
    assert "app.py:2" in done.stdout
    assert "Input is run as code." in done.stdout
    assert "1 finding (1 high) in 1 of 1 file" in done.stdout
    assert "first token" in done.stdout


def test_review_prints_json_for_programs(llm: LlmServer, diff_file: Path, tmp_path: Path) -> None:
    llm.will_say([{**FINDING, "severity": "low", "category": "bug"}])
    done = run(
        "review", "--diff", str(diff_file), "--json", folder=tmp_path, REDLINE_LLM_BASE_URL=llm.base_url
    )
    document = json.loads(done.stdout)
    assert document["findings"][0]["place"]["new_line"] == 2
    assert document["prompt_tokens"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["review"], ["URL", "--diff"]),
        (["review", "--diff", "/nowhere.diff"], ["/nowhere.diff", "No such file"]),
        (["review", "--diff", "x", "--post"], ["--post"]),
        (["review", "https://github.com/acme"], ["pull request"]),
        (["latency", "--since", "yesterday"], ["--since", "24h"]),
        (["latency", "--json", "--csv"], ["not both"]),
        (["worker"], ["--queue"]),
        (["nonsense"], ["nonsense"]),
    ],
)
def test_wrong_usage_is_explained(tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    done = run(*arguments, folder=tmp_path)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_a_malformed_diff_names_its_line(tmp_path: Path, llm: LlmServer) -> None:
    broken = tmp_path / "broken.diff"
    broken.write_text(DIFF.replace("+y = 2\n", ""))
    done = run("review", "--diff", str(broken), folder=tmp_path, REDLINE_LLM_BASE_URL=llm.base_url)
    assert done.returncode == 1
    assert "line " in done.stderr
    assert "Traceback" not in done.stderr
    assert llm.requests == []


def test_an_engine_that_is_not_there_is_named(tmp_path: Path, diff_file: Path) -> None:
    done = run(
        *("review", "--diff", str(diff_file)),
        folder=tmp_path,
        REDLINE_LLM_BASE_URL="http://127.0.0.1:9/v1",
        REDLINE_LLM_DEADLINE_S="1",
    )
    assert done.returncode == 1
    assert "127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr


def test_latency_of_an_empty_table_says_so(tmp_path: Path) -> None:
    run("migrate", folder=tmp_path)
    assert "No review has finished" in run("latency", folder=tmp_path).stdout
    assert run("latency", "--json", folder=tmp_path).stdout.strip() == "[]"


def test_help_shows_an_example_first(tmp_path: Path) -> None:
    for command in ("up", "review", "latency"):
        assert "Example" in run(command, "--help", folder=tmp_path).stdout, command


def test_review_reads_a_merge_request_of_a_gitlab_below_a_path_and_posts(
    llm: LlmServer, tmp_path: Path
) -> None:
    sandbox = GitLabSandbox(root=tmp_path / "git", relative_url_root="/git")
    sandbox.start()
    try:
        sandbox.add_user("redline", token="glpat-x")
        sandbox.create_repository("acme/web/shop", {"app.py": "import os\nx = 1\n"})
        sandbox.commit("acme/web/shop", "feature", {"app.py": "import os\nx = eval(input())\n"})
        number = sandbox.open_pull_request("acme/web/shop", "feature")
        llm.will_say([{**FINDING, "severity": "high", "category": "security"}])
        done = run(
            "review",
            f"https://elsewhere.example/git/acme/web/shop/-/merge_requests/{number}/diffs",
            "--post",
            folder=tmp_path,
            REDLINE_LLM_BASE_URL=llm.base_url,
            REDLINE_GITLAB_URL=sandbox.url,
            REDLINE_GITLAB_TOKEN="glpat-x",
        )
        assert done.returncode == 0, done.stderr
        assert "1 comments posted." in done.stderr
        assert [(one.path, one.line) for one in sandbox.pull("acme/web/shop", number).comments] == [
            ("app.py", 2)
        ]
    finally:
        sandbox.stop()
