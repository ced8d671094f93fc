"""Random pull requests through the whole review, from the diff to the posted comments, and what came of each remark."""

import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

from bot.diff import parse_diff
from bot.events import PullRequestRef
from bot.findings import Side
from bot.review.marker import read_marker
from bot.review.pipeline import run_review
from bot.review.publish import publish_review
from bot.review.result import ReviewOptions, ReviewRequest
from deploy.exactness.forges import REPOSITORY, Stage, open_stage
from deploy.exactness.history import PLAIN, Entry, create_repository, store_branches
from deploy.exactness.judge import Judge
from deploy.exactness.reviewer import RandomReviewer, number_of
from deploy.exactness.tally import Tally
from deploy.exactness.trees import edit_tree, make_code, make_tree
from deploy.exactness.truth import find_differences, list_changes
from deploy.sandbox.forge import InlineComment
from deploy.sandbox.recording import RecordedRequest

_REVIEWS_OF_ONE = 6
_LARGE_EVERY = 20
_NAMED = re.compile(r"'.*'|\b[0-9]+(?:[LR][0-9]+)?")
_REPLACED = "\N{REPLACEMENT CHARACTER}"
_MANY_FILES = 380
_LONG_FILE = 5_500


def measure(forge: str, anchors: int, seed: int, on_progress: Callable[[Tally], None]) -> Tally:
    """Review random pull requests on a forge until so many anchors are posted; the seed decides all of them."""
    tally = Tally(forge=forge)
    with (
        tempfile.TemporaryDirectory(prefix="redline-exactness-") as folder,
        open_stage(forge, Path(folder) / "forge") as stage,
    ):
        source = Path(folder) / "source.git"
        create_repository(source)
        stage.sandbox.observers.append(lambda request: _watch(tally, request))
        while tally.posted < anchors:
            tally.pull_requests += 1
            _Trial(stage, source, tally, Random(f"{seed} {forge} {tally.pull_requests}")).run(
                anchors, on_progress
            )
            stage.sandbox.requests.clear()  # or all that was ever said would be kept
    return tally


def _watch(tally: Tally, request: RecordedRequest) -> None:
    if request.method in ("POST", "PUT") and request.status >= 400:
        tally.refused += 1
        tally.note(
            "refused", f"{request.method} {request.path}: {request.status} {request.response_body[:200]!r}"
        )


class _Trial:
    """One pull request, reviewed several times."""

    def __init__(self, stage: Stage, repository: Path, tally: Tally, source: Random) -> None:
        self._stage, self._repository, self._tally, self._source = stage, repository, tally, source
        self._number = tally.pull_requests
        old, new, most_remarks = _make_versions(source, self._number)
        base, head = store_branches(
            repository, old, new, name=f"p{self._number}", is_merged=source.random() < 0.3
        )
        self._changes = list_changes(repository, f"{base}...{head}", *stage.diff_options)
        stage.sandbox.import_branch(REPOSITORY, repository, base, head, base=base, head=head)
        number = stage.sandbox.open_pull_request(REPOSITORY, head, base, title="Random")
        self._ref = PullRequestRef(forge=stage.name, repository=REPOSITORY, number=number)
        self._reviewer = RandomReviewer(source, most_remarks=most_remarks)
        self._judge = Judge(repository=repository, changes=self._changes)
        self._judged: set[int] = set()

    def run(self, anchors: int, on_progress: Callable[[Tally], None]) -> None:
        self._compare_diff()
        for run in range(_REVIEWS_OF_ONE):
            self._review(run)
            on_progress(self._tally)
            if self._tally.posted >= anchors:
                break
        self._tally.remarks += len(self._reviewer.remarks)

    def _compare_diff(self) -> None:
        """Compare what the client gave with git's own numbers and texts."""
        fetched = self._stage.forge.get_diff(self._stage.forge.get_pull_request(self._ref))
        diff = parse_diff(fetched.data)
        # A name that JSON cannot carry is told as another one.
        told = replace(diff, files=tuple(file for file in diff.files if _REPLACED not in file.new_path))
        known = {file.new_path for file in told.files}
        unknown = {file.path for file in fetched.missing} | {
            path for change in self._changes if not _is_text(path := change.new_path) and path not in known
        }
        differences = find_differences(told, self._repository, self._changes, unknown=unknown)
        self._tally.lines += sum(hunk.line_count for file in diff.files for hunk in file.hunks)
        self._tally.different += len(differences)
        for difference in differences:
            self._note("different", difference)

    def _review(self, run: int) -> None:
        request = ReviewRequest(ref=self._ref, reference=f"exact-{self._number}-{run}")
        options = ReviewOptions(
            max_comments=self._source.randint(20, 80),
            concurrency=1,
            chunk_tokens=self._source.randint(400, 4000),
        )
        result = run_review(request, forge=self._stage.forge, llm=self._reviewer, options=options)
        publish_review(request, result, forge=self._stage.forge, queue="high", elapsed_ms=lambda: 0.0)
        self._tally.dropped += result.dropped
        comments = self._stage.sandbox.pull(REPOSITORY, self._ref.number).comments
        for comment in comments:
            self._judge_comment(comment)
        standing = {number_of(comment.body) for comment in comments}
        for finding in result.unplaced:
            self._tally.declined[_NAMED.sub("…", finding.unplaced)] += 1
            if number_of(finding.message) in standing:
                self._tally.wrongly_posted += 1
                self._note("wrongly posted", finding.unplaced)
        fingerprints = {marker.value for each in comments if (marker := read_marker(each.body))}
        for finding in result.placed:
            if finding.fingerprint not in fingerprints:
                self._tally.lost += 1
                self._note("lost", f"placed at {finding.place}, and not posted")

    def _judge_comment(self, comment: InlineComment) -> None:
        number = number_of(comment.body)
        if number is None or number in self._judged:
            return
        self._judged.add(number)
        remark, tally = self._reviewer.remarks[number], self._tally
        problems = list(self._judge.problems(comment, remark))
        tally.posted += 1
        tally.by_kind[remark.kind] += 1
        tally.ranges += comment.start_line is not None
        tally.old_side += remark.side is Side.OLD
        tally.suggestions += "suggestion" in comment.body
        tally.mismatched += bool(problems)
        for problem in problems:
            self._note(
                "mismatched",
                f"{comment.path!r}, line {comment.line} {comment.side}, {remark.kind}: {problem}",
            )

    def _note(self, what: str, problem: str) -> None:
        self._tally.note(what, f"pull request {self._number}: {problem}")


def _is_text(path: str) -> bool:
    return path.encode("utf-8", "replace") == path.encode("utf-8", "surrogateescape")


def _make_versions(source: Random, number: int) -> tuple[dict[str, Entry], dict[str, Entry], int]:
    """Make both versions of a pull request, and how many remarks a chunk of it gets at most.

    Now and then one has more files, or a longer one, than forges show as they show others.
    """
    match number % _LARGE_EVERY:
        case 5:
            old = make_tree(source, _MANY_FILES, longest=8)
            return old, edit_tree(source, old), 2
        case 9:
            old = make_tree(source, 6)
            added = Entry(mode=PLAIN, content=make_code(source, _LONG_FILE, hard=0.05))
            return old, {**edit_tree(source, old), "src/long.py": added}, 2
    old = make_tree(source, source.randint(3, 24))
    return old, edit_tree(source, old), 8
