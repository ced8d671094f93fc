"""`redline review`: the whole pipeline for one diff or pull request, in the foreground."""

import json
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from bot.diff.parse import DiffSyntaxError
from bot.events import PullRequestRef
from bot.findings import Finding
from bot.forges.base import FetchedDiff, ForgeError
from bot.forges.registry import open_forges
from bot.llm.base import LlmError
from bot.llm.configured import open_llm
from bot.review.ask import Subject
from bot.review.observer import Observer
from bot.review.pipeline import review_diff, run_review
from bot.review.publish import publish_review
from bot.review.render import headline, split_claim
from bot.review.repository_file import FILE_NAME
from bot.review.result import FileState, ReviewRequest, ReviewResult, ReviewStopped, options_from
from bot.settings import Settings, load_settings
from bot.timespan import format_duration

_PULL_REQUEST_PATH = re.compile(r"/(?P<repository>[^/]+/[^/]+)/pull/(?P<number>\d+)(?:/.*)?")
_MERGE_REQUEST_PATH = re.compile(r"/(?P<repository>.+?)/-/merge_requests/(?P<number>\d+)(?:/.*)?")


@click.command()
@click.argument("url", required=False)
@click.option("--diff", metavar="FILE", help="Review a diff from a file, or from standard input with `-`.")
@click.option("--post", is_flag=True, help="Post the findings on the pull request, as the bot would.")
@click.option("--json", "as_json", is_flag=True, help="For programs: the findings and what they cost.")
def review(url: str | None, diff: str | None, post: bool, as_json: bool) -> None:
    """Review one pull request or diff and print the findings.

    \b
    Examples:
      git diff main | redline review --diff -
      redline review https://github.com/acme/shop/pull/7
      redline review https://github.com/acme/shop/pull/7 --post
      redline review https://gitlab.com/acme/web/shop/-/merge_requests/7

    The quickest way to try an engine: REDLINE_LLM_BASE_URL says where it is.
    """
    if (url is None) == (diff is None):
        raise click.UsageError("name a pull request's URL, or a diff with --diff FILE (or `-`)")
    if diff and post:
        raise click.UsageError("--post needs a pull request: a diff has no place to post to")
    settings = load_settings()
    started = time.monotonic()
    try:
        result = _review_diff(settings, _read(diff)) if diff else _review_url(settings, str(url), post=post)
    except (ForgeError, LlmError, ReviewStopped, DiffSyntaxError) as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        click.echo(json.dumps(_as_json(result), indent=2))
    else:
        _print(result, (time.monotonic() - started) * 1000)
    if any(file.state is FileState.FAILED for file in result.coverage):
        sys.exit(1)


def _review_diff(settings: Settings, data: bytes) -> ReviewResult:
    with _progress() as observer:
        return review_diff(
            FetchedDiff(data=data),
            Subject(),
            llm=open_llm(settings),
            options=options_from(settings),
            observer=observer,
        )


def _review_url(settings: Settings, url: str, *, post: bool) -> ReviewResult:
    request = ReviewRequest(ref=_pull_request(url, settings), reference=f"cli-{int(time.time())}")
    forge = open_forges(settings)(request.ref.forge)
    started = time.monotonic()
    with _progress() as observer:
        result = run_review(
            request, forge=forge, llm=open_llm(settings), options=options_from(settings), observer=observer
        )
    if post:
        queue = "low" if result.estimated_tokens > settings.low_queue_tokens else "high"
        published = publish_review(
            request,
            result,
            forge=forge,
            queue=queue,
            elapsed_ms=lambda: (time.monotonic() - started) * 1000,
        )
        click.echo(f"{published.posted} comments posted.", err=True)
    return result


def _pull_request(url: str, settings: Settings) -> PullRequestRef:
    # Only the path counts: which server is asked is a setting, never something that was typed or sent.
    path = urlsplit(url).path
    found, forge = _PULL_REQUEST_PATH.fullmatch(path), "github"
    if not found:
        found, forge = _MERGE_REQUEST_PATH.fullmatch(path), "gitlab"
    if not found:
        raise click.UsageError(
            f"{url!r} is not a pull request: write https://HOST/OWNER/REPOSITORY/pull/NUMBER or "
            "https://HOST/GROUP/PROJECT/-/merge_requests/NUMBER"
        )
    repository = found["repository"]
    if forge == "gitlab":
        # A GitLab that runs below a path has it before the groups.
        repository = f"/{repository}".removeprefix(urlsplit(settings.gitlab_url).path.rstrip("/")).strip("/")
    return PullRequestRef(forge=forge, repository=repository, number=int(found["number"]))


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise click.UsageError(f"--diff: {name}: {error.strerror}") from None


@contextmanager
def _progress() -> Iterator[Observer]:
    """Show on a terminal's stderr how far the reading is."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Observer()
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("reading the diff")
        yield Observer(
            on_size=lambda tokens: progress.update(task, description=f"asking about {tokens:,} tokens"),
            on_progress=lambda done, chunks: progress.update(
                task, description=f"{done} of {chunks} chunks read"
            ),
        )


def _print(result: ReviewResult, total_ms: float) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for finding in result.findings:
        claim, reason = split_claim(finding.message)
        console.print(f"[bold]{escape(_where(finding))}[/bold]  {finding.severity} · {finding.category}")
        if finding.code:
            console.print(f"    {escape(finding.code.strip())}", style="dim")
        console.print(f"  {escape(claim)} {escape(reason)}".rstrip())
        if finding.replacement is not None:
            console.print(f"  suggestion:\n{escape(_indent(finding.replacement))}")
        if finding.unplaced:
            console.print(f"  (not on a line: {escape(finding.unplaced)})", style="dim")
        console.print()
    console.print(f"[bold]{escape(headline(result))}[/bold]")
    for note in result.notes:
        console.print(f"  {FILE_NAME}: {escape(note)}", style="dim")
    for file in result.coverage:
        if file.reason:
            console.print(f"  {escape(file.path)}: {file.state}, {escape(file.reason)}", style="dim")
    facts = [f"total {format_duration(total_ms)}"]
    if result.ttft_ms is not None:
        facts.append(f"first token {format_duration(result.ttft_ms)}")
    if result.tokens_per_s:
        facts.append(f"{result.tokens_per_s:.1f} tokens/s")
    if result.llm_calls:
        facts.append(f"{result.prompt_tokens:,} tokens read ({result.cached_tokens:,} cached)")
        facts.append(f"{result.completion_tokens:,} written")
    if result.model:
        facts.append(result.model)
    console.print(escape(" · ".join(facts)), style="dim")


def _where(finding: Finding) -> str:
    if not finding.place:
        return finding.path or "the change"
    lines = (
        f"{finding.place.start_line}-{finding.place.line}"
        if finding.place.start_line
        else f"{finding.place.line}"
    )
    return f"{finding.path}:{lines}" + (" (removed)" if finding.place.new_line is None else "")


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


def _as_json(result: ReviewResult) -> dict[str, object]:
    values = asdict(result)
    return {"headline": headline(result), **values}
