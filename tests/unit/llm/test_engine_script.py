"""deploy/vllm: what can be checked of the engine's set-up without installing gigabytes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
PROFILES = sorted((ROOT / "deploy/vllm/profiles").glob("*.yaml"))


def run(tmp_path: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    # Isolated: before the engine's own environment exists there is only the system's Python.
    command = [sys.executable, "-I", str(ROOT / "deploy/vllm/engine.py"), *arguments]
    environment = {**os.environ, "ENGINE_DIR": str(tmp_path)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=30)


def test_status_says_what_is_missing_and_how_to_get_it(tmp_path):
    result = run(tmp_path, "status", "--port", "1")
    assert result.returncode == 1
    assert "make engine-install" in result.stdout
    assert "nothing on port 1" in result.stdout


def test_a_step_that_cannot_work_says_what_to_do_and_shows_no_traceback(tmp_path):
    result = run(tmp_path, "convert")
    assert result.returncode == 1
    assert "engine.py install" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_pinned_list_is_hashed_and_brings_no_torch():
    text = (ROOT / "requirements/engine.txt").read_text()
    pins = re.findall(r"^([A-Za-z0-9._-]+)==\S+.*\\\n\s+--hash=sha256:", text, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[A-Za-z0-9._-]+\s*[=<>@]", text, re.MULTILINE)) > 100
    unwanted = re.compile(r"^(torch|triton|nvidia-|cuda-)")
    assert [name for name in pins if unwanted.match(name)] == []


@pytest.mark.parametrize("profile", PROFILES, ids=lambda path: path.stem)
def test_a_profile_has_what_the_client_relies_on(profile):
    options = yaml.safe_load(profile.read_text())
    assert options["scheduling-policy"] == "priority"
    assert options["enable-prompt-tokens-details"] is True
    assert options["generation-config"] == "vllm"
    assert options["structured-outputs-config"] == {"backend": "xgrammar", "disable_any_whitespace": True}
    assert options["max-num-queued-reqs"] > options["max-num-seqs"]


@pytest.mark.parametrize("profile", PROFILES, ids=lambda path: path.stem)
def test_every_line_of_a_profile_has_its_reason(profile):
    bare = [
        line
        for line in profile.read_text().splitlines()
        if line and not line.startswith("#") and "#" not in line
    ]
    assert bare == [line for line in bare if line.endswith(":")]
