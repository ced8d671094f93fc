"""Arrange a pull request for its page: conversation, files, and threads below their lines."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from markupsafe import Markup

from deploy.sandbox.diffs import FileDiff, Hunk
from deploy.sandbox.github.changes import pull_diff
from deploy.sandbox.github.outdated import Standing, find_standing
from deploy.sandbox.github.page.markdown import render_markdown
from deploy.sandbox.github.reviewing import is_visible
from deploy.sandbox.github.state import Pull, Reaction, Repository, ReviewComment, User

ROWS_SHOWN = 400  # a longer file starts folded, unless somebody commented it
_EMOJI = {
    "+1": "👍", "-1": "👎", "laugh": "😄", "hooray": "🎉", "confused": "😕", "heart": "❤️",
    "rocket": "🚀", "eyes": "👀",
}  # fmt: skip
_MARKS = {
    "success": ("ok", "✓"), "failure": ("bad", "✕"), "error": ("bad", "✕"), "pending": ("wait", "●"),
    "neutral": ("none", "■"), "skipped": ("none", "■"), "queued": ("wait", "●"), "in_progress": ("wait", "●"),
}  # fmt: skip
_REVIEW_VERBS = {
    "APPROVED": "approved these changes", "CHANGES_REQUESTED": "requested changes", "COMMENTED": "reviewed",
    "DISMISSED": "reviewed (dismissed)",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One comment or review with its text; `place` is the line's name on comments that have one."""

    anchor: str
    user: User
    verb: str
    at: datetime
    body: Markup
    reactions: list[tuple[str, int]] = field(default_factory=list)
    place: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a diff and the threads below it; `in_range` marks lines that a comment spans."""

    kind: str
    sign: str
    old: int | None
    new: int | None
    text: str
    in_range: bool
    threads: list[list[Said]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView:
    """One changed file; `rows` of kind "hunk" are the headers between hunks."""

    file: FileDiff
    note: str
    rows: list[Row]
    threads: list[list[Said]]
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A commit status or check run; `kind` picks the colour, `shape` and `word` say the same without it."""

    name: str
    kind: str
    shape: str
    word: str
    text: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullView:
    """All that the page shows."""

    state: str
    marks: list[Mark]
    conversation: list[Said]
    outdated: list[list[Said]]
    files: list[FileView]
    additions: int
    deletions: int


def pull_state(pull: Pull) -> str:
    """Name a pull request's state in a word."""
    if pull.merged_at:
        return "merged"
    return "draft" if pull.draft and pull.state == "open" else pull.state


def view_pull(repository: Repository, pull: Pull) -> PullView:
    """Arrange a pull request."""
    diff = pull_diff(repository, pull)
    comments = [comment for comment in pull.review_comments if is_visible(pull, comment, None)]
    standings = {comment.id: find_standing(repository, pull, comment) for comment in comments}
    threads = [
        (top, standings[top.id], [top, *(one for one in comments if one.in_reply_to_id == top.id)])
        for top in comments
        if top.in_reply_to_id is None
    ]
    return PullView(
        state=pull_state(pull),
        marks=latest_marks(repository, pull.head_sha),
        conversation=_conversation(pull),
        outdated=[_thread(said) for _, standing, said in threads if standing.is_outdated],
        files=[
            _file(
                file,
                [thread for thread in threads if thread[0].path == file.path and not thread[1].is_outdated],
            )
            for file in diff.files
        ],
        additions=sum(file.additions for file in diff.files),
        deletions=sum(file.deletions for file in diff.files),
    )


def latest_marks(repository: Repository, sha: str) -> list[Mark]:
    """Collect the newest status of each context and the newest run of each check."""
    statuses = {status.context: status for status in repository.statuses if status.sha == sha}
    runs = {run.name: run for run in repository.check_runs.values() if run.head_sha == sha}
    found = [
        (one.context, one.state, one.description or "", one.target_url or "") for one in statuses.values()
    ]
    found += [
        (run.name, run.conclusion or run.status, run.title or "", run.details_url) for run in runs.values()
    ]
    marks = []
    for name, word, text, url in found:
        kind, shape = _MARKS.get(word, ("none", "■"))
        safe_url = url if url.startswith(("http://", "https://")) else ""
        marks.append(
            Mark(name=name, kind=kind, shape=shape, word=word.replace("_", " "), text=text, url=safe_url)
        )
    return marks


def _conversation(pull: Pull) -> list[Said]:
    said = [
        Said(
            anchor=f"issuecomment-{one.id}",
            user=one.user,
            verb="commented",
            at=one.created_at,
            body=render_markdown(one.body),
            reactions=_count(one.reactions),
        )
        for one in pull.comments
    ]
    counts = Counter(one.review_id for one in pull.review_comments if one.in_reply_to_id is None)
    for review in pull.reviews:
        if review.submitted_at is None or not (review.body or counts[review.id]):
            continue
        number = counts[review.id]
        about = f" with {number} comment{'s' if number > 1 else ''}" if number else ""
        said.append(
            Said(
                anchor=f"pullrequestreview-{review.id}",
                user=review.user,
                at=review.submitted_at,
                verb=_REVIEW_VERBS[review.state] + about,
                body=render_markdown(review.body),
            )
        )
    return sorted(said, key=lambda one: (one.at, int(one.anchor.rpartition("-")[2])))


_Thread = tuple[ReviewComment, Standing, list[ReviewComment]]


def _file(file: FileDiff, threads: list[_Thread]) -> FileView:
    note = ""
    if file.is_binary:
        note = "Binary file: no lines to show."
    elif not file.patch:
        note = "No line was changed."
    spans = [_span(file, top, standing) for top, standing, _ in threads]
    commented = {position for span in spans for position in span}
    below: dict[int, list[list[Said]]] = {}  # by the position of the row that a thread stands under
    for span, (_, _, said) in zip(spans, threads, strict=True):
        if span:
            below.setdefault(max(span), []).append(_thread(said, _texts(file, span)))
    rows = [row for hunk in file.hunks for row in _rows(hunk, commented, below)]
    return FileView(
        file=file,
        note=note,
        rows=rows,
        threads=[_thread(said) for span, (_, _, said) in zip(spans, threads, strict=True) if not span],
        is_open=len(rows) <= ROWS_SHOWN or bool(threads),
    )


def _rows(hunk: Hunk, commented: set[int], threads: dict[int, list[list[Said]]]) -> list[Row]:
    header = Row(
        kind="hunk",
        sign="",
        old=None,
        new=None,
        text=hunk.header.decode(errors="replace"),
        in_range=False,
        threads=[],
    )
    kinds = {"+": "add", "-": "del", " ": "context", "\\": "note"}
    return [
        header,
        *(
            Row(
                kind=kinds[line.sign],
                sign="" if line.sign == "\\" else line.sign,
                old=line.old,
                new=line.new,
                text=line.text.decode(errors="replace"),
                in_range=line.position in commented,
                threads=threads.get(line.position, []),
            )
            for line in hunk.lines
        ),
    ]


def _span(file: FileDiff, top: ReviewComment, standing: Standing) -> set[int]:
    """Return the positions of the rows that a comment spans; none for a comment on the whole file."""
    if standing.line is None or standing.position is None:
        return set()
    for hunk in file.hunks:
        last = hunk.line(standing.line, top.side)
        if last is None:
            continue
        first = hunk.line(standing.start_line, top.start_side or top.side) if standing.start_line else last
        start = first.position if first else last.position
        return {line.position for line in hunk.lines if start <= line.position <= last.position}
    return set()


def _texts(file: FileDiff, span: set[int]) -> list[str]:
    """Return the new side's text of a span: what a suggestion replaces."""
    lines = [line for hunk in file.hunks for line in hunk.lines if line.position in span]
    return [line.text.decode(errors="replace").rstrip("\r") for line in lines if line.new is not None]


def _thread(comments: list[ReviewComment], replaced: list[str] | None = None) -> list[Said]:
    return [
        Said(
            anchor=f"discussion_r{one.id}",
            user=one.user,
            verb="commented" if one is comments[0] else "replied",
            at=one.created_at,
            body=render_markdown(one.body, replaced or ()),
            reactions=_count(one.reactions),
            place=_place(one) if one is comments[0] else "",
            path=one.path,
        )
        for one in comments
    ]


def _place(comment: ReviewComment) -> str:
    if comment.line is None:
        return "whole file"
    letters = {"LEFT": "L", "RIGHT": "R"}
    last = f"{letters[comment.side]}{comment.line}"
    if comment.start_line is None:
        return last
    return f"{letters[comment.start_side or comment.side]}{comment.start_line}\u2013{last}"


def _count(reactions: list[Reaction]) -> list[tuple[str, int]]:
    return [
        (_EMOJI[content], number) for content, number in Counter(one.content for one in reactions).items()
    ]
