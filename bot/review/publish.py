"""Publishing: from stored findings to comments on the forge, never twice, whatever got lost on the way."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from bot.findings import Finding
from bot.forges.base import (
    AnswerUnclear,
    Forge,
    ForgeMissing,
    InlineComment,
    OwnComments,
    PlaceRejected,
)
from bot.review import render
from bot.review.choose import new_findings
from bot.review.marker import SUMMARY, read_marker
from bot.review.result import Published, ReviewRequest, ReviewResult, ReviewSkipped, ReviewSuperseded


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """What stands on the pull request already, by our own markers."""

    findings: dict[str, str] = field(default_factory=dict)
    reviews: dict[str, str] = field(default_factory=dict)
    summary_id: str = ""


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
        posted, repeated = len(fresh), len(result.placed) - len(fresh)
        try:
            before_write()
            review_id = _post_review(request, result, fresh, forge) if fresh else ""
        except PlaceRejected:
            posted, result = 0, _demote(forge, request, result, fresh)

    before_write()
    text = render.summary(pull_request, result, queue=queue, total_ms=elapsed_ms(), repeated=repeated)
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


def _post_review(request: ReviewRequest, result: ReviewResult, fresh: Sequence[Finding], forge: Forge) -> str:
    comments = [
        InlineComment(place=finding.place, body=render.inline_comment(finding))
        for finding in fresh
        if finding.place
    ]
    body = render.review_body(result, len(comments), request.reference)
    try:
        return forge.post_review(request.ref, head_sha=result.head_sha, body=body, comments=comments)
    except AnswerUnclear:
        stored = _read_standing(forge.list_own_comments(request.ref)).reviews.get(request.reference, "")
        if not stored:
            raise
        return stored


def _demote(
    forge: Forge, request: ReviewRequest, result: ReviewResult, fresh: Sequence[Finding]
) -> ReviewResult:
    """Move findings whose places the forge refused into the summary, unless the head moved under them."""
    now = forge.get_pull_request(request.ref)
    if now.head_sha != result.head_sha:
        raise ReviewSuperseded(f"the head moved to {now.head_sha[:7]}", head_sha=now.head_sha)
    refused = {finding.fingerprint for finding in fresh}
    return replace(
        result,
        findings=tuple(
            replace(finding, place=None, unplaced="the forge refused a comment on this line")
            if finding.fingerprint in refused
            else finding
            for finding in result.findings
        ),
    )


def _read_standing(own: OwnComments) -> _Standing:
    findings: dict[str, str] = {}
    reviews: dict[str, str] = {}
    summary_id = ""
    for comment in own.inline:
        if (marker := read_marker(comment.body)) and marker[0] == "finding":
            findings.setdefault(marker[1], comment.id)
    for comment in own.reviews:
        if (marker := read_marker(comment.body)) and marker[0] == "review":
            reviews.setdefault(marker[1], comment.id)
    for comment in own.conversation:
        if not summary_id and (marker := read_marker(comment.body)) and marker[0] == SUMMARY:
            summary_id = comment.id
    return _Standing(findings=findings, reviews=reviews, summary_id=summary_id)
