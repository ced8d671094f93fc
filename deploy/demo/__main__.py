"""`make demo`: a pull request is opened on a sandbox forge and reviewed by the real engine before your eyes."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from deploy.demo.forge import FORGES, DemoForge, start_forge
from deploy.demo.processes import (
    ROOT,
    Engine,
    ProcessError,
    check_alive,
    engine,
    free_port,
    redline,
    the_only_demo,
)
from deploy.demo.show import show_comments, show_latency, show_summary
from deploy.demo.stage import Branches, StageError, stage_range, stage_shop

FOLDER = ROOT / ".redline" / "demo"
_REVIEW_LIMIT_S = 1800.0


@click.command()
@click.option(
    "--repo", type=click.Path(exists=True, file_okay=False, path_type=Path), help="A local git repository."
)
@click.option("--base", default="main", show_default=True, help="Where the change starts, with --repo.")
@click.option("--head", default="HEAD", show_default=True, help="Where the change ends, with --repo.")
@click.option(
    "--forge", type=click.Choice(FORGES), default="github", show_default=True, help="Which sandbox."
)
def main(repo: Path | None, base: str, head: str, forge: str) -> None:
    """Review a pull request on a sandbox forge with everything embedded.

    \b
    Examples:
      make demo
      make demo FORGE=gitlab
      make demo REPO=../my-project BASE=v1.2 HEAD=main
      make demo REDLINE_LLM_BASE_URL=http://gpu-host:8000/v1

    On a terminal it stays up until Ctrl-C; otherwise it ends when the review is shown.
    """
    # However it is ended, what it started is ended with it.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    console = Console(width=None if sys.stdout.isatty() else 110)
    try:
        with the_only_demo(FOLDER.with_name("demo.lock")):
            shutil.rmtree(FOLDER, ignore_errors=True)
            FOLDER.mkdir(parents=True)
            run(console, forge, repo, base, head)
    except (ProcessError, StageError) as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        console.print("\nStopped.")


def run(console: Console, forge_name: str, repo: Path | None, base: str, head: str) -> None:
    """Set everything up, open the pull request, show the review; raises ProcessError and StageError."""
    port = free_port(8470)
    forge = start_forge(forge_name, FOLDER / "git", f"http://127.0.0.1:{port}", free_port(8471))
    try:
        branches = stage_range(forge.sandbox, repo, base, head) if repo else stage_shop(forge.sandbox)
        with engine(FOLDER) as served:
            settings = {
                "REDLINE_DATA_DIR": str(FOLDER / "data"),
                "REDLINE_WEB_PORT": str(port),
                **forge.settings,
                "REDLINE_LLM_BASE_URL": served.base_url,
                "REDLINE_LLM_DEADLINE_S": "900",
            }
            if served.is_small:  # which judges best what it can take in at one look
                settings |= {"REDLINE_LLM_CHUNK_TOKENS": "300", "REDLINE_LLM_ANSWER_TOKENS": "200"}
            with redline(FOLDER, settings) as process:
                _review(console, forge, branches, served, process, port)
    finally:
        forge.sandbox.stop()


def _review(
    console: Console,
    forge: DemoForge,
    branches: Branches,
    served: Engine,
    process: "subprocess.Popen[bytes]",
    port: int,
) -> None:
    number = forge.sandbox.open_pull_request(
        branches.repository,
        head=branches.head,
        base=branches.base,
        title=branches.title,
        body=branches.description,
    )
    page = forge.sandbox.pull_url(branches.repository, number)
    console.print(f"Opened {forge.pull_request} {forge.sign}{number}, [bold]{branches.title}[/bold]: {page}")
    check = partial(check_alive, served, process, FOLDER)
    pull = watch(console, forge, branches.repository, number, check)
    show_comments(console, pull)
    show_summary(console, pull)
    show_latency(console, FOLDER / "data" / "redline.db")
    console.rule()
    if served.is_small:
        console.print(
            "This was a model of 135 million parameters, so that it runs anywhere: it judges poorly, and every step "
            "around it is real.\nFor reviews worth reading, point Redline at a larger one: "
            "make demo REDLINE_LLM_BASE_URL=http://HOST:8000/v1"
        )
    console.print(f"{forge.pull_request:<15}{page}")
    console.print(f"latency page   http://127.0.0.1:{port}/admin/latency")
    console.print(f"its token      {(FOLDER / 'data' / 'admin-token').read_text().strip()}")
    console.print(f"log            {(FOLDER / 'redline.log').relative_to(ROOT)}")
    if not pull.conversation or forge.status(pull.statuses[-1][2]) != "success":
        raise ProcessError(
            f"The review did not end well: {pull.statuses[-1][3] if pull.statuses else 'no status'}"
        )
    if sys.stdout.isatty():
        console.print("\nAll of it stays up until Ctrl-C: write a comment with /review, push, look around.")
        while True:
            check()
            time.sleep(0.5)


def watch(console: Console, forge: DemoForge, repository: str, number: int, check: Callable[[], None]) -> Any:
    """Show the marks that Redline sets on the commit until the last one; give the pull request as it is then.

    Raises ProcessError if it takes too long, and what `check` raises meanwhile.
    """
    started = time.monotonic()
    said = ""
    with console.status("waiting for the webhook") as status:
        while time.monotonic() - started < _REVIEW_LIMIT_S:
            pull = forge.sandbox.pull(repository, number)
            state, text = ("pending", "queued")
            if pull.statuses:
                _sha, _name, state, text = pull.statuses[-1]
                state = forge.status(state)
            status.update(f"{text} ... {time.monotonic() - started:.0f} s")
            if text != said and not console.is_terminal:
                console.print(f"  {time.monotonic() - started:6.1f} s  {state}: {text}", highlight=False)
                said = text
            if state != "pending":
                return pull
            check()
            time.sleep(0.1)
    raise ProcessError(
        f"The review did not end within {_REVIEW_LIMIT_S:.0f} s; the log is {FOLDER / 'redline.log'}"
    )


if __name__ == "__main__":
    main()
