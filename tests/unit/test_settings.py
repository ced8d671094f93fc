"""A setting that cannot work stops the start with one clear sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REDLINE = str(Path(sys.executable).with_name("redline"))


def run(*arguments: str, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REDLINE_")}
    return subprocess.run(
        [REDLINE, *arguments],
        env={**environment, "REDLINE_DATA_DIR": str(folder), **settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"REDLINE_LLM_DEADLINE_S": "soon"}, ["REDLINE_LLM_DEADLINE_S", "'soon'", "number"]),
        ({"REDLINE_LLM_DEADLINE_S": "-1"}, ["REDLINE_LLM_DEADLINE_S", "greater than 0"]),
        ({"REDLINE_WEB_PORT": "99999"}, ["REDLINE_WEB_PORT", "65535"]),
        ({"REDLINE_GITHUB_API_URL": "api.github.com"}, ["REDLINE_GITHUB_API_URL", "https://"]),
        ({"REDLINE_GITHUB_APP_ID": "7"}, ["REDLINE_GITHUB_PRIVATE_KEY_FILE"]),
        ({"REDLINE_GITHUB_APP_ID": "7", "REDLINE_GITHUB_PRIVATE_KEY_FILE": "/nowhere.pem"}, ["no such file"]),
        ({"REDLINE_DATABASE_URL": "mysql://u:hunter2@h/d"}, ["mysql", "postgresql"]),
    ],
)
def test_a_setting_that_cannot_work_is_named(
    tmp_path: Path, settings: dict[str, str], words: list[str]
) -> None:
    done = run("migrate", folder=tmp_path, **settings)
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in done.stderr, done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize("command", [["up"], ["web"], ["worker", "--queue", "high"]])
def test_webhooks_without_credentials_to_review_with_stop_the_start(
    tmp_path: Path, command: list[str]
) -> None:
    done = run(*command, folder=tmp_path, REDLINE_GITHUB_WEBHOOK_SECRET="s")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for word in ("REDLINE_GITHUB_WEBHOOK_SECRET", "REDLINE_GITHUB_TOKEN", "REDLINE_GITHUB_APP_ID"):
        assert word in done.stderr


def test_a_key_file_that_holds_no_key_stops_the_start(tmp_path: Path) -> None:
    key_file = tmp_path / "app.pem"
    key_file.write_text("")
    done = run(
        "web", folder=tmp_path, REDLINE_GITHUB_APP_ID="7", REDLINE_GITHUB_PRIVATE_KEY_FILE=str(key_file)
    )
    assert done.returncode == 2
    assert f"({key_file}) is empty" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_processes_refuse_a_database_without_its_schema(tmp_path: Path) -> None:
    done = run("web", folder=tmp_path)
    assert done.returncode == 2
    assert "redline migrate" in done.stderr


def test_migrate_makes_the_database_and_repeats_harmlessly(tmp_path: Path) -> None:
    for _ in range(2):
        assert run("migrate", folder=tmp_path).returncode == 0
    assert (tmp_path / "redline.db").exists()
