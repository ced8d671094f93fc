"""Publishing: from stored findings to comments on the forge, never twice, whatever got lost on the way."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from bot.findings import Finding
from bot.forges.base import (
    AnswerUnclear,
    Forge,
    ForgeMissing,
    InlineComment,
    OwnComments,
    PlaceRejected,
    PostedComment,
)
from bot.review import render
from bot.review.choose import new_findings
from bot.review.marker import FINDING, REVIEW, SUMMARY, Marker, read_marker
from bot.review.result import Published, ReviewRequest, ReviewResult, ReviewSkipped, ReviewSuperseded


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """What stands on the pull request already, by our own markers; `runs` tells who posted each finding."""

    findings: dict[str, str] = field(default_factory=dict)
    runs: dict[str, str] = field(default_factory=dict)
    reviews: dict[str, str] = field(default_factory=dict)
    summary_id: str = ""

    def is_of(self, reference: str, finding: Finding) -> bool:
        """Tell whether this very run has posted a finding, in an attempt that got no further."""
        return self.runs.get(finding.fingerprint) == reference


def publish_review(
    request: ReviewRequest,
    result: ReviewResult,
    *,
    forge: Forge,
    queue: str,
    elapsed_ms: Callable[[], float],
    known: Collection[str] = (),
    before_write: Callable[[], None] = lambda: None,
) -> Published:
    """Post what is not there yet: one review with the new inline comments, then the summary.

    `known` are fingerprints that were posted before: they are not posted again even if somebody has deleted
    the comment since. `elapsed_ms` tells the time since the review was received. `before_write` may raise to
    stop: it is called before each write. Safe to repeat after a crash or an unclear answer, since the forge is
    read before anything is sent. Raises ReviewSuperseded if the head
    has moved, ReviewSkipped if the pull request is closed, and ForgeError.
    """
    started_ms = elapsed_ms()
    pull_request = forge.get_pull_request(request.ref)
    if not pull_request.is_open:
        raise ReviewSkipped("the pull request was closed while it was being reviewed")
    if pull_request.head_sha != result.head_sha:
        raise ReviewSuperseded(
            f"the head moved to {pull_request.head_sha[:7]}", head_sha=pull_request.head_sha
        )

    standing = _read_standing(forge.list_own_comments(request.ref))
    review_id = standing.reviews.get(request.reference, "")
    if review_id:
        # An earlier attempt of this very run got as far as here: its comments stand, only the rest is missing.
        posted, repeated = len(result.placed), 0
    else:
        fresh = new_findings(result.findings, {*standing.findings, *known})
        posted = len(fresh) + sum(standing.is_of(request.reference, each) for each in result.placed)
        repeated = len(result.placed) - posted
        if fresh:
            before_write()
            review_id, refused = _post_review(request, result, fresh, forge)
            if refused:
                posted, result = posted - len(refused), _demote(forge, request, result, refused)

    before_write()
    placed = {finding.fingerprint for finding in result.placed}
    text = render.summary(
        pull_request,
        result,
        queue=queue,
        total_ms=elapsed_ms(),
        repeated=repeated,
        standing=len(standing.findings.keys() - placed),
    )
    summary_id = put_summary(request, text, forge=forge, standing_id=standing.summary_id)
    ids = _read_standing(forge.list_own_comments(request.ref)).findings if posted else {}
    return Published(
        review_id=review_id,
        summary_id=summary_id,
        comment_ids={
            each.fingerprint: ids[each.fingerprint] for each in result.placed if each.fingerprint in ids
        },
        posted=posted,
        publish_ms=elapsed_ms() - started_ms,
    )


def publish_failure(request: ReviewRequest, text: str, *, forge: Forge) -> str:
    """Put the text of a failed run into the summary comment and return the comment's id."""
    standing = _read_standing(forge.list_own_comments(request.ref))
    return put_summary(request, text, forge=forge, standing_id=standing.summary_id)


def put_summary(request: ReviewRequest, text: str, *, forge: Forge, standing_id: str) -> str:
    """Edit the summary comment, or post it if there is none; return its id."""
    if standing_id:
        try:
            forge.edit_comment(request.ref, standing_id, text)
        except ForgeMissing:  # somebody deleted it since we looked
            pass
        else:
            return standing_id
    try:
        return forge.post_comment(request.ref, text)
    except AnswerUnclear:
        stored = _read_standing(forge.list_own_comments(request.ref)).summary_id
        if not stored:
            raise
        return stored


def _post_review(
    request: ReviewRequest, result: ReviewResult, fresh: Sequence[Finding], forge: Forge
) -> tuple[str, tuple[Finding, ...]]:
    """Post the findings; give the review's id and the findings whose places the forge refused."""
    comments = {
        finding.fingerprint: InlineComment(
            place=finding.place,
            body=render.inline_comment(
                finding,
                suggestion_info=forge.suggestion_info(finding.place),
                reference=request.reference,
            ),
        )
        for finding in fresh
        if finding.place
    }
    body = render.review_body(result, len(comments), request.reference)
    try:
        posted = forge.post_review(
            request.ref, head_sha=result.head_sha, body=body, comments=tuple(comments.values())
        )
    except PlaceRejected:
        return "", tuple(fresh)
    except AnswerUnclear:
        stored = _read_standing(forge.list_own_comments(request.ref)).reviews.get(request.reference, "")
        if not stored:
            raise
        return stored, ()
    return posted.id, tuple(each for each in fresh if comments[each.fingerprint] in posted.refused)


def _demote(
    forge: Forge, request: ReviewRequest, result: ReviewResult, refused: Sequence[Finding]
) -> ReviewResult:
    """Move findings whose places the forge refused into the summary, unless the head moved under them."""
    now = forge.get_pull_request(request.ref)
    if now.head_sha != result.head_sha:
        raise ReviewSuperseded(f"the head moved to {now.head_sha[:7]}", head_sha=now.head_sha)
    fingerprints = {finding.fingerprint for finding in refused}
    return replace(
        result,
        findings=tuple(
            replace(finding, place=None, unplaced="the forge refused a comment on this line")
            if finding.fingerprint in fingerprints
            else finding
            for finding in result.findings
        ),
    )


def _read_standing(own: OwnComments) -> _Standing:
    findings: dict[str, str] = {}
    runs: dict[str, str] = {}
    reviews: dict[str, str] = {}
    summary_id = ""
    for comment, marker in _marked(own.inline, FINDING):
        findings.setdefault(marker.value, comment.id)
        runs.setdefault(marker.value, marker.run)
    for comment, marker in _marked(own.reviews, REVIEW):
        reviews.setdefault(marker.value, comment.id)
    for comment, _marker in _marked(own.conversation, SUMMARY):
        summary_id = summary_id or comment.id
    return _Standing(findings=findings, runs=runs, reviews=reviews, summary_id=summary_id)


def _marked(comments: Sequence[PostedComment], kind: str) -> Iterator[tuple[PostedComment, Marker]]:
    for comment in comments:
        marker = read_marker(comment.body)
        if marker and marker.kind == kind:
            yield comment, marker
