"""Run a sandbox forge by itself: `python -m deploy.sandbox --help`."""

import signal
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import click

from deploy.sandbox.forge import ForgeSandbox
from deploy.sandbox.github import GitHubSandbox
from deploy.sandbox.gitlab import GitLabSandbox
from deploy.sandbox.seed import REPOSITORY, seed

_BOT = "redline-bot"


@click.command(context_settings={"show_default": True, "max_content_width": 100})
@click.option("--forge", type=click.Choice(["github", "gitlab"]), default="github", help="Which forge to be.")
@click.option("--port", default=8471, help="Port to listen on, on 127.0.0.1; 0 takes a free one.")
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the git repositories, without any yet. By default one that is deleted at the end.",
)
@click.option(
    "--webhook-url",
    default="",
    show_default=False,
    help="Where to send webhooks; nothing is sent without it.",
)
@click.option(
    "--webhook-secret",
    default="",
    show_default=False,
    help="Secret that signs the webhooks, or on GitLab the token that they carry.",
)
@click.option("--token", default="sandbox-token", help=f"Access token of the account {_BOT} (write).")
def main(forge: str, port: int, root: Path | None, webhook_url: str, webhook_secret: str, token: str) -> None:
    """Run a GitHub or GitLab of your own, with a repository and an open pull request to review.

    It serves the REST API below /api/v3 or /api/v4, sends webhooks, and shows pull requests on web pages.
    State other than the git repositories is in memory and gone when it stops.

    \b
    Write a comment as a person would:
      curl -H "Authorization: Bearer ada-token" -d '{"body": "/review"}' \\
        http://127.0.0.1:8471/api/v3/repos/acme/shop/issues/1/comments
      curl -H "PRIVATE-TOKEN: ada-token" -d body=/review \\
        http://127.0.0.1:8471/api/v4/projects/acme%2Fshop/merge_requests/1/notes
    """
    make: Callable[..., ForgeSandbox] = {"github": GitHubSandbox, "gitlab": GitLabSandbox}[forge]
    with tempfile.TemporaryDirectory(prefix="redline-sandbox-") as temporary:
        sandbox = make(root or Path(temporary), webhook_url=webhook_url, webhook_secret=webhook_secret)
        sandbox.add_user(_BOT, "write", token=token)
        sandbox.add_user("ada", "write", token="ada-token")  # noqa: S106 - a made-up account on loopback
        try:
            sandbox.start(port)
        except OSError as error:
            raise click.ClickException(
                f"cannot listen on port {port}: {error.strerror}. Try --port 0."
            ) from error
        try:
            number = seed(sandbox)
            click.echo(f"Pull request  {sandbox.pull_url(REPOSITORY, number)}")
            click.echo(f"API           {sandbox.api_url}   (token {token})")
            click.echo(f"Webhooks      {webhook_url or 'not sent: give --webhook-url to send them'}")
            click.echo("Stop with Ctrl-C.")
            _wait_for_signal()
        except FileExistsError as error:
            raise click.ClickException(
                f"{error.filename} is there already: give --root an empty folder."
            ) from error
        finally:
            sandbox.stop()


def _wait_for_signal() -> None:
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    stopped.wait()


if __name__ == "__main__":
    main(prog_name="python -m deploy.sandbox")
