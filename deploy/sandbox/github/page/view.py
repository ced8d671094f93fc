"""Arrange a pull request of GitHub for its page."""

from collections import Counter
from collections.abc import Sequence

from deploy.sandbox.diffs import FileDiff
from deploy.sandbox.github.changes import pull_diff
from deploy.sandbox.github.outdated import Standing, find_standing
from deploy.sandbox.github.reviewing import is_visible
from deploy.sandbox.github.state import Pull, Reaction, Repository, ReviewComment
from deploy.sandbox.page.markdown import Replaced, render_markdown
from deploy.sandbox.page.view import Mark, PullSummary, PullView, Said, Thread, view_file, view_mark

_EMOJI = {
    "+1": "👍", "-1": "👎", "laugh": "😄", "hooray": "🎉", "confused": "😕", "heart": "❤️",
    "rocket": "🚀", "eyes": "👀",
}  # fmt: skip
_REVIEW_VERBS = {
    "APPROVED": "approved these changes", "CHANGES_REQUESTED": "requested changes", "COMMENTED": "reviewed",
    "DISMISSED": "reviewed (dismissed)",
}  # fmt: skip
_Thread = tuple[ReviewComment, Standing, list[ReviewComment]]


def summarize_pull(repository: Repository, pull: Pull) -> PullSummary:
    """Arrange a pull request for a list."""
    state = "draft" if pull.draft and pull.state == "open" else pull.state
    return PullSummary(
        number=f"#{pull.number}",
        url=f"/{repository.full_name}/pull/{pull.number}",
        title=pull.title,
        author=pull.user,
        opened_at=pull.created_at,
        state="merged" if pull.merged_at else state,
        marks=latest_marks(repository, pull.head_sha),
    )


def view_pull(repository: Repository, pull: Pull) -> PullView:
    """Arrange a pull request."""
    comments = [comment for comment in pull.review_comments if is_visible(pull, comment, None)]
    standings = {comment.id: find_standing(repository, pull, comment) for comment in comments}
    threads = [
        (top, standings[top.id], [top, *(one for one in comments if one.in_reply_to_id == top.id)])
        for top in comments
        if top.in_reply_to_id is None
    ]
    fork = f"{pull.fork_owner.login}:" if pull.fork_owner else ""
    return PullView(
        summary=summarize_pull(repository, pull),
        repository=repository.full_name,
        source=f"{fork}{pull.head_ref}",
        target=pull.base_ref,
        head_sha=pull.head_sha,
        description=pull.body,
        conversation=_conversation(pull),
        outdated=[_say(said) for _, standing, said in threads if standing.is_outdated],
        files=[
            view_file(
                path=file.path,
                old_path=file.old_path,
                status=file.status,
                hunks=file.hunks,
                is_binary=file.is_binary,
                threads=[
                    _thread(file, thread)
                    for thread in threads
                    if thread[0].path == file.path and not thread[1].is_outdated
                ],
            )
            for file in pull_diff(repository, pull).files
        ],
    )


def latest_marks(repository: Repository, sha: str) -> list[Mark]:
    """Collect the newest status of each context and the newest run of each check."""
    statuses = {status.context: status for status in repository.statuses if status.sha == sha}
    runs = {run.name: run for run in repository.check_runs.values() if run.head_sha == sha}
    marks = [
        view_mark(name=one.context, word=one.state, text=one.description or "", url=one.target_url or "")
        for one in statuses.values()
    ]
    return marks + [
        view_mark(name=run.name, word=run.conclusion or run.status, text=run.title or "", url=run.details_url)
        for run in runs.values()
    ]


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


def _thread(file: FileDiff, thread: _Thread) -> Thread:
    top, standing, comments = thread
    span = _span(file, top, standing)
    replaced = [
        line.text.decode(errors="replace").rstrip("\r")
        for hunk in file.hunks
        for line in hunk.lines
        if line.position in span and line.new is not None
    ]
    return Thread(said=_say(comments, replaced), positions=frozenset(span))


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


def _say(comments: Sequence[ReviewComment], replaced: Sequence[str] = ()) -> list[Said]:
    suggestion: Replaced = lambda info: replaced if info == "suggestion" else None  # noqa: E731
    return [
        Said(
            anchor=f"discussion_r{one.id}",
            user=one.user,
            verb="commented" if one is comments[0] else "replied",
            at=one.created_at,
            body=render_markdown(one.body, suggestion),
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
