"""Commands that run Redline: everything at once, or one process each."""

import os
import signal
import sys
from pathlib import Path

import click

from bot.admin_token import load_admin_token, token_file
from bot.db.engine import open_database
from bot.db.migrate import migrate as migrate_database
from bot.db.migrate import schema_revision_is_current
from bot.embedded import embedded_broker, resolve_broker_url
from bot.settings import Settings, SettingsError, load_settings


@click.command()
def up() -> None:
    """Run everything on this machine: database, broker, web, two workers, sweeper.

    \b
    Example:
      REDLINE_GITHUB_TOKEN=... REDLINE_GITHUB_WEBHOOK_SECRET=... redline up

    What is not configured is embedded and kept in REDLINE_DATA_DIR. Ctrl-C stops all of it; reviews that were
    running start over at the next start.
    """
    from honcho.environ import parse_procfile
    from honcho.manager import Manager

    settings = load_settings()
    _check_access(settings)
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    # As Ctrl-C does: the others are stopped in good order, and leaving the block says why.
    with embedded_broker(settings, on_death=lambda: os.kill(os.getpid(), signal.SIGTERM)):
        migrate_database(settings.effective_database_url)
        load_admin_token(settings)
        _greet(settings)
        manager = Manager()
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
            "PYTHONUNBUFFERED": "1",
        }
        for name, command in parse_procfile(_procfile().read_text()).processes.items():
            manager.add_process(name, f"exec {command}", env=environment)
        manager.loop()
    sys.exit(0 if manager.returncode in (130, 143) else manager.returncode)


@click.command()
def web() -> None:
    """Run the web process: it receives webhooks and serves the admin pages."""
    settings = load_settings()
    _check_access(settings)
    _check_schema(settings)
    _become("gunicorn", "-c", "python:bot.web.gunicorn_config", "bot.web.wsgi:app")


@click.command()
@click.option(
    "--queue",
    type=click.Choice(["high", "low"]),
    required=True,
    help="high: only short reviews. low: long ones first, and short ones when idle.",
)
def worker(queue: str) -> None:
    """Run a worker process for a queue.

    At least one for each queue should run: the one for `high` is what keeps a small pull request quick while a
    huge one is being read.
    """
    settings = load_settings()
    _check_access(settings)
    _check_schema(settings)
    queues = "high" if queue == "high" else "low,high"
    _become(
        *("celery", "-A", "workers.app", "worker", "--pool", "threads", "--loglevel", "WARNING"),
        *("--concurrency", str(settings.worker_threads), "-Q", queues, "-n", f"{queue}@%h"),
        *("--without-gossip", "--without-mingle"),
    )


@click.command()
def sweep() -> None:
    """Run the sweeper: it makes up for lost messages and dead workers. One is enough, several are harmless."""
    _check_schema(load_settings())
    _become("workers.sweep")


@click.command()
def migrate() -> None:
    """Bring the database to the schema of this version; harmless to repeat."""
    settings = load_settings()
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    migrate_database(settings.effective_database_url)
    click.echo("The database is up to date.")


def _check_access(settings: Settings) -> None:
    from bot.forges.registry import check_access  # its libraries are slow to load, and few commands need them

    check_access(settings)


def _check_schema(settings: Settings) -> None:
    database = open_database(settings.effective_database_url)
    try:
        if not schema_revision_is_current(database):
            raise SettingsError(
                "the database has another schema than this version: run `redline migrate` first"
            )
    finally:
        database.close()


def _become(module: str, *arguments: str) -> None:
    """Replace this process, so that signals reach the server itself."""
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])


def _procfile() -> Path:
    package = Path(__file__).resolve().parents[1]
    bundled = package / "Procfile"
    return bundled if bundled.exists() else package.parent / "Procfile"


def _greet(settings: Settings) -> None:
    address = settings.public_url or f"http://{settings.web_host}:{settings.web_port}"
    click.echo(f"latency   {address}/admin/latency", err=True)
    if not settings.admin_token.get_secret_value():
        click.echo(f"token     {token_file(settings.data_dir)}", err=True)
    configured = {
        "github": settings.github_webhook_secrets,
        "gitlab": settings.gitlab_webhook_secrets,
    }
    forges = [name for name, secrets in configured.items() if secrets]
    for name in forges:
        click.echo(f"webhooks  {address}/webhooks/{name}", err=True)
    click.echo(f"broker    {resolve_broker_url(settings)}", err=True)
    click.echo(f"engine    {settings.llm_base_url}", err=True)
    if not forges:
        click.echo(
            "No forge is configured yet: set REDLINE_GITHUB_WEBHOOK_SECRET and REDLINE_GITHUB_TOKEN, or "
            "REDLINE_GITLAB_WEBHOOK_SECRET and REDLINE_GITLAB_TOKEN.",
            err=True,
        )
