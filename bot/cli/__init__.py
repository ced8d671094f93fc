"""The `redline` command: one module per group of commands, loaded only when its command runs."""

import importlib
import sys

import click

# Name, module, and what `redline --help` says of it without loading it.
_COMMANDS = {
    "up": ("bot.cli.serve", "Run everything on this machine."),
    "web": ("bot.cli.serve", "Run the web process: webhooks and admin pages."),
    "worker": ("bot.cli.serve", "Run a worker process for a queue."),
    "sweep": ("bot.cli.serve", "Run the sweeper: it makes up for lost messages and dead workers."),
    "migrate": ("bot.cli.serve", "Bring the database to the schema of this version."),
    "review": ("bot.cli.review", "Review one pull request or diff and print the findings."),
    "latency": ("bot.cli.latency", "Show percentiles of how long reviews took, step by step."),
}


class _LazyGroup(click.Group):
    """Load a command's module when it is asked for: the engine's client alone takes a second to import."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(_COMMANDS[cmd_name][0]), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(
    cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="redline-review")
def cli(debug: bool) -> None:
    """Review pull requests with a model that you host yourself.

    \b
    Examples:
      redline up                                 run everything on this machine
      git diff main | redline review --diff -    review a diff right now
      redline latency --since 24h                see where the time went

    Settings are environment variables, REDLINE_*; with none set, everything embedded runs.
    """


def main() -> None:
    """Run the command; exit codes: 0 done, 1 failed, 2 wrong usage."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except Exception as error:
        exit_code = _expected_exit_code(error)
        if exit_code is None or "--debug" in sys.argv:
            raise
        click.echo(f"redline: {error}", err=True)
        sys.exit(exit_code)


def _expected_exit_code(error: Exception) -> int | None:
    """Give the exit code of an error whose text is meant for people, None for a bug."""
    from bot.db.engine import DatabaseError
    from bot.embedded import EmbeddedBrokerError
    from bot.settings import SettingsError

    if isinstance(error, SettingsError):
        return 2
    return 1 if isinstance(error, DatabaseError | EmbeddedBrokerError) else None
