"""`python -m deploy.sandbox` runs by itself, with something to look at."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from deploy.sandbox.__main__ import main
from tests.unit.sandbox.conftest import HTTP

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("forge", ["github", "gitlab"])
def test_runs_until_it_is_stopped(tmp_path: Path, forge: str) -> None:
    command = [sys.executable, "-m", "deploy.sandbox", "--forge", forge, "--port", "0", "--token", "t"]
    command += ["--root", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            first = process.stdout.readline()
            found = re.search(r"http://\S+", first)
            assert found, first
            page = HTTP.get(found[0])
            assert "Add discounts and a search for orders" in page.text
            assert (tmp_path / "acme/shop.git").is_dir()
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0


def test_says_what_to_do_about_a_folder_in_use(tmp_path: Path) -> None:
    (tmp_path / "acme/shop.git").mkdir(parents=True)
    result = CliRunner().invoke(main, ["--port", "0", "--root", str(tmp_path)])
    assert result.exit_code == 1
    assert "give --root an empty folder" in result.output


def test_help_shows_how_to_comment() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert '-d \'{"body": "/review"}\'' in result.output
    assert "-d body=/review" in result.output
