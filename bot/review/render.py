"""All the prose that people see on a forge: comments, the summary, status lines."""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import quote

from bot.findings import Finding, Severity
from bot.forges.base import PullRequest, Status, StatusState
from bot.review.markdown import defuse, defuse_line, fence, has_quick_action, inline_code
from bot.review.marker import mark_finding, mark_review, mark_summary
from bot.review.repository_file import FILE_NAME
from bot.review.result import FileState, ReviewResult
from bot.timespan import format_duration

# GitHub refuses bodies over 65,536 characters; the margin holds the marker and the sentence about the cut.
# https://docs.github.com/rest/issues/comments
BODY_LIMIT = 60_000
COMMENT_LIMIT = 8_000
CLAIM_LIMIT = 80
_DESCRIPTION_LIMIT = 140


def inline_comment(finding: Finding, *, suggestion_info: str | None, reference: str) -> str:
    """Write the comment under a line: the claim, the reason, a suggestion if it is sure, then the labels.

    `suggestion_info` is how the forge calls a block that can be committed in place of these lines, None if it
    has none for them. `reference` names the run that posts it.
    """
    claim, reason = split_claim(finding.message)
    parts = [f"**{defuse_line(claim)}**"]
    if reason:
        parts.append(defuse(reason))
    if suggestion_info and finding.replacement is not None and not has_quick_action(finding.replacement):
        parts.append(fence(finding.replacement, suggestion_info))
    labels = f"<sub>{finding.severity} · {finding.category}</sub>"
    body = "\n\n".join(parts)
    if len(body) > COMMENT_LIMIT:  # without the suggestion, since half a suggestion is a wrong one
        body = shorten("\n\n".join(parts[:2]), COMMENT_LIMIT)
    return mark_finding(f"{body}\n\n{labels}", finding.fingerprint, reference)


def review_body(result: ReviewResult, posting: int, reference: str) -> str:
    """Write the body of the review that carries the inline comments."""
    return mark_review(f"{_count(posting, 'comment')} on {result.head_sha[:7]}.", reference)


def summary(
    pull_request: PullRequest,
    result: ReviewResult,
    *,
    queue: str,
    total_ms: float,
    repeated: int = 0,
    standing: int = 0,
) -> str:
    """Write the summary comment: what was found, what has no line, what was not read, what it took.

    `repeated` counts the findings that already stand on the pull request from an earlier run, `standing` the
    comments there that are about others.
    """
    parts = [f"**{headline(result, earlier=standing + len(result.earlier))}**"]
    if repeated:
        stand = "stands" if repeated == 1 else "stand"
        parts.append(f"{repeated} of them already {stand} on this pull request from an earlier review.")
    if result.below_minimum:
        parts.append(
            f"{_count(result.below_minimum, 'finding')} less severe than `{result.minimum_severity}` left out, "
            f"as `{FILE_NAME}` asks."
        )
    if result.unplaced:
        parts.append(_unplaced(pull_request, "Without a line:", result.unplaced))
    if result.earlier:
        parts.append(_unplaced(pull_request, "Without a line, from earlier reviews:", result.earlier))
    if result.notes:
        notes = "\n".join(f"- {defuse_line(note)}" for note in result.notes)
        parts.append(f"`{FILE_NAME}` on {inline_code(result.base_ref)}:\n\n{notes}")
    parts.append(_coverage(result))
    parts.append(f"<sub>{_facts(result, queue, total_ms)}</sub>")
    return mark_summary(shorten("\n\n".join(part for part in parts if part), BODY_LIMIT))


def failure_summary(reason: str, reference: str, retry_at: datetime | None) -> str:
    """Write the summary of a review that failed: what failed, what happens next, where an admin can look."""
    then = (
        f"The next try is at {retry_at:%H:%M} UTC."
        if retry_at
        else "Write `/review` in a comment to try again."
    )
    return mark_summary(
        f"**The review could not be finished.**\n\n{defuse(reason)}\n\n{then}\n\n<sub>reference {reference}</sub>"
    )


def headline(result: ReviewResult, earlier: int = 0) -> str:
    """Say in one line what was found and how much was read; it never claims more than that.

    `earlier` counts the findings of earlier reviews that still stand, where this one has read only what is new.
    """
    files = len(result.coverage)
    reviewed = result.count(FileState.REVIEWED)
    skipped = result.count(FileState.SKIPPED)
    if not files:
        return "Nothing to review: the pull request changes no files"
    if result.since_sha:
        return _headline_since(result, earlier)
    if result.findings or not result.is_complete:
        return _found(result, f"in {reviewed} of {_count(files, 'file')}")
    if not reviewed:
        return f"Nothing to review: {'the only file is' if files == 1 else f'all {files} files are'} skipped by rule"
    by_rule = f" ({skipped} skipped by rule)" if skipped else ""
    return f"No {_issues(result)} found in {reviewed} of {_count(files, 'file')}{by_rule}"


def _headline_since(result: ReviewResult, earlier: int) -> str:
    since = result.since_sha[:7]
    if result.findings or not result.is_complete:
        news = _found(result, f"in what changed since {since}")
    elif result.count(FileState.REVIEWED):
        news = f"No new {_issues(result)} in what changed since {since}"
    else:
        news = f"Nothing new to review since {since}"
    stand = "stands" if earlier == 1 else "stand"
    return f"{news}; {_count(earlier, 'earlier finding')} {stand}" if earlier else news


def _found(result: ReviewResult, where: str) -> str:
    unread = sum(1 for file in result.coverage if not file.is_complete)
    rest = f"{_count(unread, 'file')} could not be read to the end" if unread else ""
    if not result.findings:
        return f"Partly reviewed: {rest}"
    high = sum(1 for finding in result.findings if finding.severity is Severity.HIGH)
    found = _count(len(result.findings), "finding") + (f" ({high} high)" if high else "")
    return f"{found} {where}" + (f"; {rest}" if rest else "")


def _issues(result: ReviewResult) -> str:
    """Call what was not found by its name: what is less severe than the repository wants was left out."""
    return f"issues of {result.minimum_severity} severity or more" if result.below_minimum else "issues"


def split_claim(message: str) -> tuple[str, str]:
    """Split a message into the claim (its first sentence, at most 80 characters) and the rest."""
    message = message.strip()
    for position, character in enumerate(message):
        at_end = position + 1 == len(message) or message[position + 1].isspace()
        if character == "\n" or (character in ".!?" and at_end):
            claim, rest = message[: position + 1].strip(), message[position + 1 :].strip()
            break
    else:
        claim, rest = message, ""
    if len(claim) <= CLAIM_LIMIT:
        return claim, rest
    cut = claim.rfind(" ", 0, CLAIM_LIMIT)
    cut = cut if cut > 0 else CLAIM_LIMIT
    return claim[:cut].rstrip(",;:") + " …", f"… {claim[cut:].strip()} {rest}".strip()


def shorten(text: str, limit: int) -> str:
    """Cut text to a number of characters at a line's end, say so, and close what the cut left open."""
    if len(text) <= limit:
        return text
    cut = text.rfind("\n", 0, limit)
    kept = text[: cut if cut > 0 else limit].rstrip()
    if kept.count("<details>") > kept.count("</details>"):
        kept += "\n\n</details>"
    return f"{kept}\n\n(The rest did not fit into one comment.)"


def status_queued(queue: str, estimated_tokens: int) -> Status:
    """Say that the review waits."""
    return _pending(f"queued ({queue}, {estimated_tokens:,} tokens)")


def status_reading(done: int, chunks: int) -> Status:
    """Say how far the reading is."""
    if chunks <= 1:
        return _pending("reading")
    return _pending(f"reading {done} of {chunks} chunks")


def status_retrying(reason: str, retry_at: datetime) -> Status:
    """Say what went wrong and when the next try is."""
    return _pending(f"{reason} Next try at {retry_at:%H:%M} UTC.")


def status_done(result: ReviewResult) -> Status:
    """Say what was found; findings never make a commit red."""
    state = StatusState.SUCCESS if result.is_complete else StatusState.NEUTRAL
    return Status(state=state, description=headline(result))


def status_failed(reason: str) -> Status:
    """Say what failed."""
    return Status(state=StatusState.FAILURE, description=_line(reason))


def status_ended(reason: str) -> Status:
    """Say why the review ended without a result."""
    return Status(state=StatusState.NEUTRAL, description=_line(reason))


def _pending(text: str) -> Status:
    return Status(state=StatusState.PENDING, description=_line(text))


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _DESCRIPTION_LIMIT else line[: _DESCRIPTION_LIMIT - 1] + "…"


def _unplaced(pull_request: PullRequest, heading: str, findings: Sequence[Finding]) -> str:
    lines = [heading, ""]
    for finding in findings:
        claim, reason = split_claim(finding.message)
        link = pull_request.changes_url
        place = inline_code(finding.path) or "the change"
        place = f"[{place}]({quote(link, safe=':/')})" if link else place
        lines.append(
            f"- {place}: **{defuse_line(claim)}** {defuse_line(reason)} "
            f"<sub>{finding.severity} · {finding.category} · {defuse_line(finding.unplaced)}</sub>".replace(
                "  ", " "
            )
        )
    return "\n".join(lines)


def _coverage(result: ReviewResult) -> str:
    rows = [file for file in result.coverage if file.reason]
    whole = len(result.coverage) - len(rows)
    if not rows:
        return ""
    table = [
        "<details><summary>Coverage</summary>",
        "",
        "| File | State | Reason |",
        "|---|---|---|",
        *(
            f"| {inline_code(file.path).replace('|', chr(92) + '|')} | {file.state} | {defuse_line(file.reason)} |"
            for file in rows
        ),
        "",
        *([f"{_count(whole, 'other file')} read to the end.", ""] if whole else []),
        "</details>",
    ]
    return "\n".join(table)


def _facts(result: ReviewResult, queue: str, total_ms: float) -> str:
    facts = [f"head {result.head_sha[:7]}", f"queue {queue}"]
    if result.since_sha:
        facts.insert(1, f"since {result.since_sha[:7]}")
    if result.ttft_ms is not None:
        facts.append(f"first token {format_duration(result.ttft_ms)}")
    facts.append(f"total {format_duration(total_ms)}")
    if result.llm_calls:
        facts.append(f"{result.prompt_tokens + result.completion_tokens:,} tokens")
    if result.model:
        facts.append(f"model {inline_code(result.model)}")
    return " · ".join(facts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
