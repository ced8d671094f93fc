"""Arrange a merge request of GitLab for its page."""

from collections import Counter
from collections.abc import Sequence

from deploy.sandbox.diffs import parse_hunks
from deploy.sandbox.gitlab import notes
from deploy.sandbox.gitlab.changes import Change, version_changes
from deploy.sandbox.gitlab.lines import Line, parse_lines
from deploy.sandbox.gitlab.standing import find_standing
from deploy.sandbox.gitlab.state import Award, MergeRequest, Note, Position
from deploy.sandbox.gitlab.suggestions import span_of
from deploy.sandbox.page.markdown import Replaced, render_markdown
from deploy.sandbox.page.view import Mark, PullSummary, PullView, Said, Thread, view_file, view_mark

_EMOJI = {"thumbsup": "👍", "thumbsdown": "👎", "eyes": "👀", "tada": "🎉", "rocket": "🚀", "heart": "❤️"}


def summarize_merge_request(merge_request: MergeRequest) -> PullSummary:
    """Arrange a merge request for a list."""
    state = "open" if merge_request.state == "opened" else merge_request.state
    return PullSummary(
        number=f"!{merge_request.iid}",
        url=f"/{merge_request.project.path_with_namespace}/-/merge_requests/{merge_request.iid}",
        title=merge_request.title,
        author=merge_request.user,
        opened_at=merge_request.created_at,
        state="draft" if merge_request.draft and state == "open" else state,
        marks=latest_marks(merge_request),
    )


def view_merge_request(merge_request: MergeRequest) -> PullView:
    """Arrange a merge request."""
    threads = [thread for thread in notes.threads(merge_request) if thread[0].position]
    placed: dict[tuple[str, str], list[Thread]] = {}
    outdated = []
    for thread in threads:
        standing = find_standing(merge_request, thread[0].position) if thread[0].position else None
        if standing is None:
            outdated.append(_say(thread))
            continue
        change, line = standing
        placed.setdefault((change.old_path, change.new_path), []).append(
            Thread(said=_say(thread), positions=_span(change, line, thread[0].position))
        )
    version, source = merge_request.version, merge_request.source
    fork = f"{source.path_with_namespace}:" if source and source is not merge_request.project else ""
    return PullView(
        summary=summarize_merge_request(merge_request),
        repository=merge_request.project.path_with_namespace,
        source=f"{fork}{merge_request.source_branch}",
        target=merge_request.target_branch,
        head_sha=merge_request.head_sha,
        description=merge_request.description,
        conversation=[
            said for thread in notes.threads(merge_request) if not thread[0].position for said in _say(thread)
        ],
        outdated=outdated,
        files=[
            view_file(
                path=change.new_path,
                old_path=change.old_path,
                status=change.status,
                hunks=parse_hunks(change.patch),
                is_binary=change.is_binary,
                threads=placed.get((change.old_path, change.new_path), []),
            )
            for change in (version_changes(merge_request.project, version) if version else ())
        ],
    )


def latest_marks(merge_request: MergeRequest) -> list[Mark]:
    """Collect the newest status of each name on the head."""
    projects = {merge_request.project.id: merge_request.project}
    if merge_request.source:
        projects[merge_request.source.id] = merge_request.source
    statuses = [status for project in projects.values() for status in project.statuses]
    newest = {status.name: status for status in statuses if status.sha == merge_request.head_sha}
    return [
        view_mark(name=one.name, word=one.status, text=one.description or "", url=one.target_url or "")
        for one in newest.values()
    ]


def _span(change: Change, line: Line | None, position: Position | None) -> frozenset[int]:
    """Return the rows that a note spans; none if it stands on no row."""
    if line is None or line.row is None or position is None:
        return frozenset()
    start = ((position.data.get("line_range") or {}).get("start")) or {}
    # A range keeps its length when its end has moved.
    codes = [str(code).rsplit("_", 2)[1:] for code in (start.get("line_code"), _end_code(position)) if code]
    rows = {(str(one.old_pos), str(one.new_pos)): one.row for one in parse_lines(change.patch)}
    ends = [rows.get((code[0], code[1])) for code in codes]
    if len(ends) < 2 or ends[0] is None or ends[1] is None:
        return frozenset((line.row,))
    return frozenset(range(line.row - (ends[1] - ends[0]), line.row + 1))


def _end_code(position: Position) -> object:
    return ((position.data.get("line_range") or {}).get("end") or {}).get("line_code")


def _say(thread: Sequence[Note]) -> list[Said]:
    return [
        Said(
            anchor=f"note_{note.id}",
            user=note.user,
            verb=_verb(note, first=note is thread[0]),
            at=note.created_at,
            body=render_markdown("" if note.system else note.body, _replaced(note)),
            reactions=_count(note.awards),
            place=_place(note.position) if note.position and note is thread[0] else "",
            path=note.position.path if note.position else "",
        )
        for note in thread
    ]


def _verb(note: Note, *, first: bool) -> str:
    if note.system:
        return note.body
    return "commented" if first else "replied"


def _replaced(note: Note) -> Replaced:
    waiting = list(note.suggestions)

    def replaced(info: str) -> Sequence[str] | None:
        if span_of(info, 1) is None:
            return None
        lines = waiting.pop(0).from_content.removesuffix("\n").split("\n") if waiting else ()
        return [line.rstrip("\r") for line in lines]

    return replaced


def _place(position: Position) -> str:
    if position.kind != "text":
        return "whole file"
    start = ((position.data.get("line_range") or {}).get("start")) or {}
    first = _number(start.get("old_line"), start.get("new_line"))
    last = _number(position.old_line, position.new_line)
    return last if first in ("", last) else f"{first}\u2013{last}"


def _number(old_line: int | None, new_line: int | None) -> str:
    if new_line is not None:
        return f"R{new_line}"
    return f"L{old_line}" if old_line is not None else ""


def _count(awards: list[Award]) -> list[tuple[str, int]]:
    counted = Counter(award.name for award in awards)
    return [(_EMOJI.get(name, f":{name}:"), number) for name, number in counted.items()]
