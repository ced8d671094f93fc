"""The judges of the exactness run must see what is wrong, or their zeros say nothing."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from bot.diff import Diff, parse_diff
from bot.findings import Side
from bot.llm.base import Message, Question
from deploy.exactness.history import PLAIN, Entry, create_repository, run_git, store_branches
from deploy.exactness.judge import Judge
from deploy.exactness.prompt import read_rows
from deploy.exactness.remarks import Remark
from deploy.exactness.reviewer import RandomReviewer
from deploy.exactness.truth import find_differences, list_changes

OLD = b"one\ntwo\nthree\nfour\n"
NEW = b"zero\none\n2\nthree\nfour\n"
ROW = read_rows("Diff, as data:\nFile 1: a.py (modified)\n@@\n1R3 +2\n1L2 -two\n1R4  three\n")
REMARK = Remark(number=1, kind="quote", code=("three",), side=Side.NEW, row=ROW[2], must_decline=False)


@dataclass(frozen=True, kw_only=True)
class Comment:
    """What a sandbox tells of a comment."""

    id: int
    user: str
    path: str
    subject_type: str
    line: int | None
    side: str
    start_line: int | None
    start_side: str | None
    body: str
    diff_hunk: str
    commit_id: str
    in_reply_to_id: int | None
    is_outdated: bool


COMMENT = Comment(
    id=1,
    path="a.py",
    subject_type="line",
    line=4,
    side="RIGHT",
    start_line=None,
    start_side=None,
    body="Remark 1: it is wrong.",
    commit_id="1" * 40,
    user="redline-bot",
    diff_hunk="@@ -1,4 +1,5 @@\n+zero\n one\n-two\n+2\n three",
    in_reply_to_id=None,
    is_outdated=False,
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    path = tmp_path_factory.mktemp("judge")
    create_repository(path)
    old, new = (
        {"a.py": Entry(mode=PLAIN, content=content), "same.py": Entry(mode=PLAIN, content=b"1\n")}
        for content in (OLD, NEW)
    )
    store_branches(path, old, new, name="x", is_merged=True)
    return path


@pytest.fixture
def judge(repository):
    return Judge(repository=repository, changes=list_changes(repository, "x-base...x-head"))


def test_a_comment_where_it_belongs_is_right(judge):
    assert list(judge.problems(COMMENT, REMARK)) == []
    ranged = replace(COMMENT, start_line=3, start_side="RIGHT")
    remark = replace(REMARK, code=("2", " three"), row=ROW[0])
    assert list(judge.problems(ranged, remark)) == []
    removed = replace(COMMENT, line=2, side="LEFT", diff_hunk="@@ -1,4 +1,5 @@\n+zero\n one\n-two")
    assert list(judge.problems(removed, replace(REMARK, code=("two",), side=Side.OLD, row=ROW[1]))) == []


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        (replace(COMMENT, line=5), "it quotes ['three'], and ['four'] stands there"),
        (replace(COMMENT, side="LEFT"), "it quotes ['three'], and ['four'] stands there"),
        (
            replace(COMMENT, start_line=3, start_side="RIGHT"),
            "it quotes ['three'], and ['2', 'three'] stands there",
        ),
        (replace(COMMENT, line=99), "it stands on no line of the file"),
        (replace(COMMENT, line=None), "it stands on no line of the file"),
        (replace(COMMENT, line=3, side="LEFT"), "its finding names line 4 of the new 'a.py'"),
        (replace(COMMENT, diff_hunk="@@ -1,4 +1,5 @@\n+zero\n one"), "the forge shows it under ' one'"),
        (replace(COMMENT, is_outdated=True), "it is outdated, or on no line"),
        (
            replace(COMMENT, body="Remark 1:\n```suggestion:-1+0\nthree\n```"),
            "its suggestion replaces 1 lines above it and 0 below, not 0 and 0",
        ),
        (
            replace(COMMENT, line=3, side="LEFT", body="Remark 1:\n```suggestion\nthree\n```"),
            "it suggests a change of the old version",
        ),
    ],
)
def test_a_comment_elsewhere_is_wrong(judge, comment, problem):
    assert problem in list(judge.problems(comment, REMARK))


def test_a_remark_that_has_no_place_is_wrong_wherever_it_stands(judge):
    remark = replace(REMARK, must_decline=True)
    assert list(judge.problems(COMMENT, remark)) == ["there is no place for it, or two that are as good"]


def test_a_remark_under_the_right_text_in_another_place_is_wrong(judge):
    remark = replace(REMARK, row=replace(ROW[2], path="b.py"))
    assert list(judge.problems(COMMENT, remark)) == ["its finding names line 4 of the new 'b.py'"]


def diff_of(repository: Path) -> Diff:
    return parse_diff(run_git(repository, "diff", "x-base...x-head"))


def with_hunk(diff: Diff, **changes: object) -> Diff:
    (file,) = diff.files
    return replace(diff, files=(replace(file, hunks=(file.hunks[0]._replace(**changes),)),))


@pytest.mark.parametrize(
    ("spoil", "difference"),
    [
        (
            lambda diff: with_hunk(diff, new_start=2),
            "line 2 of the new version is b'one', the diff has 'zero'",
        ),
        (lambda diff: with_hunk(diff, old_start=0), "line 0 of the old version is None, the diff has 'one'"),
        (lambda diff: replace(diff, files=()), "git has 1 files, the diff has 0"),
        (
            lambda diff: replace(diff, files=(replace(diff.files[0], old_path="b.py"),)),
            "git names it 'a.py' and 'a.py'",
        ),
        (
            lambda diff: replace(diff, files=(replace(diff.files[0], new_mode="100755"),)),
            "git says new mode 100644",
        ),
        (lambda diff: replace(diff, files=(replace(diff.files[0], hunks=()),)), "git counts (2, 1) lines"),
        (lambda diff: replace(diff, files=(replace(diff.files[0], is_binary=True),)), "whether it is binary"),
        (lambda diff: with_hunk(diff, unchanged_count=2), "counts its lines wrongly"),
    ],
)
def test_a_model_that_says_otherwise_than_git_is_found_out(repository, spoil, difference):
    changes = list_changes(repository, "x-base...x-head")
    diff = diff_of(repository)
    assert find_differences(diff, repository, changes) == []
    assert any(difference in found for found in find_differences(spoil(diff), repository, changes))


def test_the_same_seed_makes_the_same_remarks():
    prompt = "Diff, as data:\nFile 1: a.py (modified)\n@@\n" + "".join(
        f"1R{n} +value = {n}\n" for n in range(1, 40)
    )
    question = Question(
        messages=(Message(role="system", content=""), Message(role="user", content=prompt)),
        schema_name="review",
        schema={},
        max_output_tokens=100,
        priority=0,
        deadline=time.monotonic() + 1,
        request_id="1",
    )
    first, again, other = (RandomReviewer(Random(seed)).ask(question).text for seed in (1, 1, 2))
    assert first == again != other
