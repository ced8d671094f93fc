"""The README says what the code does."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli import cli
from bot.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_documented_with_its_default(name: str) -> None:
    (row,) = re.findall(rf"^\| `REDLINE_{name.upper()}` \|.*$", README, re.MULTILINE)
    field = Settings.model_fields[name]
    assert field.description
    assert field.description in row
    if isinstance(field.default, int | float | str) and field.default != "":
        assert f"`{field.default}`" in row


def test_no_setting_is_documented_that_does_not_exist() -> None:
    named = set(re.findall(r"REDLINE_([A-Z_]+[A-Z])", README))
    assert named <= {name.upper() for name in Settings.model_fields}


def test_every_path_in_the_tables_exists() -> None:
    table = README.split("## Where do I ...?")[1].split("## ")[0]
    paths = re.findall(r"`([a-z_]+(?:/[a-z_.]*)+)`", table)
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_picture_exists() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert pictures
    assert [path for path in pictures if not (ROOT / path).exists()] == []


def test_every_command_in_it_exists() -> None:
    commands = set(re.findall(r"`?redline (up|web|worker|sweep|migrate|review|latency|[a-z]+)\b", README))
    listed = CliRunner().invoke(cli, ["--help"]).output
    for command in commands - {"review"}:
        assert re.search(rf"^  {command}\b", listed, re.MULTILINE), command
